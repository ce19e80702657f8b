"""Play the examples of `docs/quickstart.md` and `docs/study.md`, and write their numbers there.

    python tools/worked_pages.py play quickstart|study FOLDER    plays what is missing
    python tools/worked_pages.py write quickstart|study FOLDER   tables and figure from the folder

`commit.txt` in the folder names the last commit that had changed the code when it was played.
"""

import argparse
import io
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
BEGIN, END = "<!-- written by tools/worked_pages.py from here -->\n", "<!-- to here -->\n"
COMMIT = "commit.txt"


def blocks(text: str, language: str) -> list[str]:
    """The code blocks of one language in a page."""
    return re.findall(rf"^```{language}\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)


def commands(page: str) -> list[list[str]]:
    """The arguments of the page's `netsim` commands."""
    text = (DOCS / f"{page}.md").read_text(encoding="utf-8")
    lines = [line for block in blocks(text, "console") for line in block.splitlines()]
    return [shlex.split(line)[2:] for line in lines if line.startswith("$ netsim ")]


def play(page: str, folder: Path) -> None:
    """Play the page's runs below a folder, where they are not there yet, as `runs/...`.

    Parameters
    ----------
    page : str
    folder : Path
    """
    folder.mkdir(parents=True, exist_ok=True)
    last = ["git", "-C", str(ROOT), "log", "-1", "--format=%h", "--", "netsim", "algorithms"]
    commit = subprocess.run(last, check=True, capture_output=True, text=True).stdout
    (folder / COMMIT).write_text(commit, encoding="utf-8")
    for arguments in commands(page):
        has_run = arguments[0] == "run" and (folder / "runs" / arguments[1]).is_dir()
        if not has_run:
            netsim = [sys.executable, "-P", "-m", "netsim", *arguments, "-q"]
            subprocess.run(netsim, cwd=folder, check=True)


def script_of(page: str, folder: Path, figure: str | None) -> str:
    """Run the page's script in a folder; what it prints.

    Parameters
    ----------
    page : str
    folder : Path
        Where the page's runs are.
    figure : str or None
        A picture that the script makes, for the documentation.
    """
    [script] = blocks((DOCS / f"{page}.md").read_text(encoding="utf-8"), "python")
    [line] = re.findall(r"^\$ python (\S+\.py.*)$", (DOCS / f"{page}.md").read_text(), re.M)
    with tempfile.TemporaryDirectory() as made:
        (Path(made) / shlex.split(line)[0]).write_text(script, encoding="utf-8")
        (Path(made) / "runs").symlink_to((folder / "runs").absolute())
        command = [sys.executable, *shlex.split(line)]
        ran = subprocess.run(command, cwd=made, check=True, capture_output=True, text=True)
        if figure is not None:
            _keep_figure(figure, (Path(made) / figure).read_text(encoding="utf-8"))
    return ran.stdout


def quickstart_told(folder: Path) -> str:
    """Return the output of `netsim run quickstart`; draw its figure for the documentation."""
    from rich.console import Console

    from netsim.scenario import load
    from netsim.views import network_cost
    from netsim.views.gathering.runs import title_of
    from netsim.views.render.figure import panels
    from netsim.views.render.figure import style as plot_style
    from netsim.views.render.terminal import WrappedTable

    top = folder / "runs/quickstart"
    scenario = load(str(top / "scenario.toml"))
    entries = [entry.model_dump(mode="json") for entry in scenario.algorithm]
    cost = network_cost.worlds_of([top / entry.name for entry in scenario.algorithm], entries)
    assert cost is not None
    with plot_style.style():
        drawn = io.StringIO()
        heading = title_of(cost.runs[0].run.summary, algorithm=False)
        panels.draw(network_cost.view(cost), heading).figure.savefig(drawn, format="svg")
    _keep_figure("quickstart.svg", drawn.getvalue())
    told = Console(width=110, file=io.StringIO(), color_system=None)
    told.print(WrappedTable(network_cost.printed(cost)))
    for sentence in network_cost.sentences(cost):
        told.print(sentence, highlight=False, markup=False)
    assert isinstance(told.file, io.StringIO)
    lines = [line.rstrip() for line in told.file.getvalue().splitlines()]
    return "\n".join(lines).strip("\n") + "\n"


def _keep_figure(name: str, drawn: str) -> None:
    (DOCS / name).write_text(re.sub(r"[ \t]+$", "", drawn, flags=re.MULTILINE), encoding="utf-8")


def write(page: str, folder: Path) -> None:
    """Put what was found into the page, section by section, and the commit that played it.

    Parameters
    ----------
    page : str
    folder : Path
    """
    if page == "study":
        printed = [script_of(page, folder, "study.svg")]
    else:
        printed = [quickstart_told(folder), script_of(page, folder, None)]
    runs = len(list((folder / "runs").rglob("summary.json")))
    commit = (folder / COMMIT).read_text(encoding="utf-8").strip()
    sections = [f"```text\n{text}```\n" for text in printed]
    sections[-1] += f"\n{runs} runs, played with the code of commit `{commit}`.\n"
    path = DOCS / f"{page}.md"
    first, *rest = path.read_text(encoding="utf-8").split(BEGIN)
    pairs = zip(sections, rest, strict=True)
    made = [BEGIN + section + END + after.split(END, 1)[1] for section, after in pairs]
    path.write_text(first + "".join(made), encoding="utf-8")


def main() -> None:
    """Do what the command line says."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("what", choices=["play", "write"])
    parser.add_argument("page", choices=["quickstart", "study"])
    parser.add_argument("folder", type=Path)
    given = parser.parse_args()
    (play if given.what == "play" else write)(given.page, given.folder)


if __name__ == "__main__":
    main()
