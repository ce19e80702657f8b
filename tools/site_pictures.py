"""Draws the pictures of README and the documentation from runs: `python tools/site_pictures.py`.

Plays the quickstart and the tutorial of docs/algorithm.md, two minutes in all, in folders that are
thrown away. `--only quickstart.png` draws one.
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
from PIL import Image

ROOT = Path(__file__).resolve().parents[1]
IMAGES = ROOT / "docs" / "images"
TITLED = re.compile(r'^```\w+ title="([^"]+)"\n(.*?)^```$', flags=re.MULTILINE | re.DOTALL)
COMMANDS = re.compile(r"^```bash\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)


def quickstart(folder: Path) -> None:
    """What a network costs, as `netsim run quickstart` draws it."""
    call("netsim run quickstart --out run --no-report -q", folder)
    with Image.open(folder / "run/figures/network_cost.png") as drawn:
        drawn.convert("RGB").quantize(128).save(folder / "quickstart.png", optimize=True)


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


PICTURES: dict[str, Callable[[Path], None]] = {
    "quickstart.png": quickstart,
    "trusting.svg": trusting,
}


def call(line: str, folder: Path) -> None:
    """A command of netsim, in a folder."""
    words = line.strip().removeprefix("netsim ")
    there = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = f"{sys.executable} -m netsim {words}"
    subprocess.run(command, shell=True, cwd=folder, env=there, check=True)


def main() -> None:
    """Draw them."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", choices=PICTURES, nargs="+", default=list(PICTURES))
    for name in parser.parse_args().only:
        with tempfile.TemporaryDirectory() as scratch, mpl.rc_context({"svg.hashsalt": name}):
            PICTURES[name](Path(scratch))
            drawn = (Path(scratch) / name).read_bytes()
            # Without its date a picture of the same numbers is the same file.
            (IMAGES / name).write_bytes(re.sub(rb"\n\s*<dc:date>.*?</dc:date>", b"", drawn))
            print(IMAGES / name)


if __name__ == "__main__":
    main()
