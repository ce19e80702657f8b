"""Draws the pictures of README and the documentation from runs: `python tools/site_pictures.py`.

Plays the quickstart and the tutorial of docs/algorithm.md, two minutes in all, in folders that are
thrown away. `--only quickstart` or `--only trusting` draws one.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import matplotlib as mpl

import netsim

ROOT = Path(__file__).resolve().parents[1]
IMAGES = ROOT / "docs" / "images"
TITLED = re.compile(r'^```\w+ title="([^"]+)"\n(.*?)^```$', flags=re.MULTILINE | re.DOTALL)
COMMANDS = re.compile(r"^```bash\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)


def quickstart(folder: Path) -> None:
    """Accuracy of the quickstart's methods against virtual time."""
    call("netsim run quickstart --out run --no-figures --no-report -q", folder)
    figure = netsim.open(folder / "run").plot.accuracy()
    figure.savefig(folder / "quickstart.svg", bbox_inches="tight")


def trusting(folder: Path) -> None:
    """The figure at the end of docs/algorithm.md, by the commands that stand there."""
    page = (ROOT / "docs/algorithm.md").read_text(encoding="utf-8")
    for name, text in TITLED.findall(page):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    for block in COMMANDS.findall(page):
        if block.startswith("netsim sweep"):
            call(block, folder)
    here = os.getcwd()
    os.chdir(folder)
    try:
        exec(compile((folder / "figure.py").read_text(encoding="utf-8"), "figure.py", "exec"), {})
    finally:
        os.chdir(here)


PICTURES: dict[str, Callable[[Path], None]] = {"quickstart": quickstart, "trusting": trusting}


def call(line: str, folder: Path) -> None:
    """A command of netsim, in a folder."""
    words = line.strip().removeprefix("netsim ")
    there = {**os.environ, "PYTHONPATH": str(ROOT)}
    subprocess.run(
        f"{sys.executable} -m netsim {words}", shell=True, cwd=folder, env=there, check=True
    )


def main() -> None:
    """Draw them."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", choices=PICTURES, nargs="+", default=list(PICTURES))
    for name in parser.parse_args().only:
        with tempfile.TemporaryDirectory() as scratch, mpl.rc_context({"svg.hashsalt": name}):
            PICTURES[name](Path(scratch))
            # Without its date a picture of the same numbers is the same file.
            drawn = re.sub(
                r"\n\s*<dc:date>.*?</dc:date>", "", (Path(scratch) / f"{name}.svg").read_text()
            )
            (IMAGES / f"{name}.svg").write_text(drawn, encoding="utf-8")
            print(f"{IMAGES / name}.svg")


if __name__ == "__main__":
    main()
