"""Draw the figure of docs/algorithm.md by its own blocks: `python tools/tutorial_figure.py`.

Two minutes of one core, in a folder that is thrown away.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FILES = re.compile(r'^```\w+ title="([^"]+)"\n(.*?)^```$', flags=re.MULTILINE | re.DOTALL)
SWEEP = re.compile(r"^netsim (sweep .*)$", flags=re.MULTILINE)
HASHED = "import matplotlib; matplotlib.rcParams['svg.hashsalt'] = 'trusting'\n"
"""With it, and without its date, a figure of the same numbers is the same file."""


def main() -> None:
    """Play, draw, and put the figure in its place."""
    argparse.ArgumentParser(description=main.__doc__).parse_args()
    page = (ROOT / "docs/algorithm.md").read_text(encoding="utf-8")
    there = {**os.environ, "PYTHONPATH": str(ROOT)}
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        for name, text in FILES.findall(page):
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_text(text, encoding="utf-8")
        (sweep,) = SWEEP.findall(page)
        script = HASHED + (folder / "figure.py").read_text(encoding="utf-8")
        for words in (["-m", "netsim", *sweep.split()], ["-c", script]):
            subprocess.run([sys.executable, *words], cwd=folder, env=there, check=True)
        drawn = (folder / "trusting.svg").read_text(encoding="utf-8")
    drawn = re.sub(r"\n\s*<dc:date>.*?</dc:date>", "", drawn)
    (ROOT / "docs/images/trusting.svg").write_text(drawn, encoding="utf-8")


if __name__ == "__main__":
    main()
