"""Pages with an example: their commands work, their numbers come from them."""

import re
import runpy
import shlex
import sys
import tomllib
from pathlib import Path

import pytest
from typer.testing import CliRunner

import netsim
from netsim.console.app import app

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
SMALL = {
    "study": "--set horizon_s=40 --set metrics.every_s=20 --set nodes.count=6 --seeds 0:2 -q",
    "quickstart": "--set horizon_s=50 --set metrics.every_s=25 --seeds 0:2",
}


def blocks(page: str, language: str) -> list[str]:
    text = (DOCS / f"{page}.md").read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)


def do(page: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Execute every command of a page, at a small size; what its `netsim` commands print."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "120")
    [script] = blocks(page, "python")
    (folder / script.split(":")[0].removeprefix("# ")).write_text(script, encoding="utf-8")
    commands = [line[2:] for block in blocks(page, "console") for line in block.splitlines()]
    printed = []
    for command in commands:
        program, *arguments = shlex.split(command)
        if program == "netsim":
            more = [] if arguments[:2] == ["run", "quickstart"] else shlex.split(SMALL[page])
            more += ["--jobs", "1"] if arguments[0] == "sweep" else []
            result = CliRunner().invoke(app, [*arguments, *more])
            assert result.exit_code == 0, result.output
            printed.append(result.stdout)
        else:
            assert program == "python"
            monkeypatch.setattr(sys, "argv", arguments)
            runpy.run_path(arguments[0], run_name="__main__")
    return printed


def points(printed: str) -> list[str]:
    """The lines of the study's table, one a T_ex and loss."""
    return [line for line in printed.splitlines() if re.match(r" *\d+ +\d+ %", line)]


@pytest.mark.slow
def test_every_command_of_the_study_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    do("study", tmp_path, monkeypatch)
    printed = capsys.readouterr().out
    assert (tmp_path / "study.svg").is_file()
    assert len(points(printed)) == 18
    assert printed.splitlines()[0].endswith("2 seeds")


@pytest.mark.slow
def test_every_command_of_the_quickstart_works_and_its_messages_are_those_of_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    """Accuracies are left out: their last digit is the processor's."""
    ran, *_ = do("quickstart", tmp_path, monkeypatch)
    assert len(capsys.readouterr().out.splitlines()) == 5
    assert (tmp_path / "runs/quickstart/figures/network_cost.png").is_file()
    shown, _ = blocks("quickstart", "text")

    def fates(text: str) -> dict[str, list[str]]:
        rows = [line.split() for line in text.splitlines() if re.match(r" \w+  +\d", line)]
        return {cells[0]: cells[-7:] for cells in rows}

    assert fates(ran) == fates(shown)
    assert len(fates(ran)) == 6
    for name in ("kd_pdfl", "fedavg"):
        said = rf"Of {name}'s [\d,]+ messages [\d.]+ % arrived, after [\d.]+ s"
        [told, page] = (re.findall(said, " ".join(text.split())) for text in (ran, shown))
        assert told == page != []


def test_the_quickstarts_worlds_can_be_added_to_it():
    [text] = blocks("quickstart", "toml")
    entries = tomllib.loads(text)["algorithm"]
    changed = netsim.load("quickstart", algorithm=entries).tables
    _, ideal, narrow = map(changed.of, changed.algorithm)
    assert ideal.radio is None
    assert narrow.radio.bandwidth_hz == 1e6


@pytest.mark.parametrize(("page", "runs"), [("study", 210), ("quickstart", 36)])
def test_the_pages_have_numbers_a_figure_and_the_commit_that_played_them(page: str, runs: int):
    text = (DOCS / f"{page}.md").read_text(encoding="utf-8")
    said = rf"^{runs} runs, played with the code of commit `[0-9a-f]{{7,}}`\.$"
    assert re.search(said, text, re.MULTILINE)
    assert (DOCS / f"{page}.svg").stat().st_size < 100_000
    if page == "study":
        assert len(points(blocks(page, "text")[0])) == 18


@pytest.mark.slow
def test_the_example_of_forks_is_what_its_commands_print(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Measures of learning are left out: their last digit is the processor's."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    text = (DOCS / "fork.md").read_text(encoding="utf-8")
    example = text[text.index("## An example") :]
    commands = re.findall(r"^    netsim (.*)$", example, flags=re.MULTILINE)
    assert [command.split()[0] for command in commands] == ["run", "fork"]
    for command in commands:
        result = CliRunner().invoke(app, shlex.split(command))
        assert result.exit_code == 0, result.output
    [shown] = re.findall(r"^```text\n(.*?)^```", example, flags=re.MULTILINE | re.DOTALL)

    def told(printed: str) -> tuple[list[str], list[str]]:
        rows = r"^ (?:messages sent|arrived|lost|message delay|transmitted).*$"
        counts = printed[printed.index("Before 50 s") :].partition("graph.")[0]
        return [" ".join(r.split()) for r in re.findall(rows, printed, re.M)], counts.split()

    assert told(shown) == told(result.stdout)
    assert len(told(shown)[0]) == 5
