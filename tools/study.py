"""Writes the numbers and the figure of `docs/study.md` from the folder of its sweep.

    python tools/study.py play FOLDER     plays the page's sweep, or what is missing of it
    python tools/study.py write FOLDER    runs the page's script on it; writes its table and figure

In the folder of the sweep, `commit.txt` names the last commit that had changed the code by then.
"""

import argparse
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs/study.md"
FIGURE = ROOT / "docs/study.svg"
BEGIN, END = "<!-- written by tools/study.py from here -->\n", "<!-- to here -->\n"
COMMIT = "commit.txt"


def blocks(text: str, language: str) -> list[str]:
    """The page's code blocks of one language."""
    return re.findall(rf"^```{language}\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)


def sweep_command(text: str) -> list[str]:
    """The arguments of the page's whole sweep, without its folder."""
    lines = [line for block in blocks(text, "console") for line in block.splitlines()]
    sweeps = [shlex.split(line)[2:] for line in lines if line.startswith("$ netsim sweep ")]
    whole = sweeps[-1]
    return whole[: whole.index("--out")]


def play(folder: Path) -> None:
    """Play what is missing of the sweep."""
    last = ["git", "-C", str(ROOT), "log", "-1", "--format=%h", "--", "netsim", "algorithms"]
    commit = subprocess.run(last, check=True, capture_output=True, text=True).stdout.strip()
    arguments = sweep_command(PAGE.read_text(encoding="utf-8"))
    command = [sys.executable, "-m", "netsim", *arguments, "--out", str(folder)]
    subprocess.run(command, check=True)
    (folder / COMMIT).write_text(f"{commit}\n", encoding="utf-8")


def write(folder: Path) -> None:
    """Put what the page's script prints into the page, and its figure beside it."""
    text = PAGE.read_text(encoding="utf-8")
    [script] = blocks(text, "python")
    with tempfile.TemporaryDirectory() as made:
        (Path(made) / "study.py").write_text(script, encoding="utf-8")
        command = [sys.executable, "study.py", str(folder.absolute())]
        ran = subprocess.run(command, cwd=made, check=True, capture_output=True, text=True)
        drawn = (Path(made) / "study.svg").read_text(encoding="utf-8")
    FIGURE.write_text(re.sub(r"[ \t]+$", "", drawn, flags=re.MULTILINE), encoding="utf-8")
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    printed = f"```text\n{ran.stdout}```\n\n{_played(folder)}\n"
    PAGE.write_text(before + BEGIN + printed + END + after, encoding="utf-8")


def _played(folder: Path) -> str:
    """How many runs they were, and what code played them."""
    runs = len(list(folder.glob("*/seed-*/*/summary.json")))
    commit = (folder / COMMIT).read_text(encoding="utf-8").strip()
    return f"{runs} runs, played with the code of commit `{commit}`."


def main() -> None:
    """Do what the command line says."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("what", choices=["play", "write"])
    parser.add_argument("folder", type=Path)
    given = parser.parse_args()
    (play if given.what == "play" else write)(given.folder)


if __name__ == "__main__":
    main()
