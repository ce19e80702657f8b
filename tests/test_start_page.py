"""docs/start.md, its commands played in their order on a shortened quickstart."""

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from netsim.console.app import app

PAGE = (Path(__file__).resolve().parents[1] / "docs/start.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)
SHORT = ("--set", "horizon_s=40", "--set", "metrics.every_s=20")


def printed(line: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the output of a command; runs are short, and their figures are left out."""
    program, *words = shlex.split(line)
    assert program == "netsim"
    if words[0] in ("run", "sweep"):
        words += SHORT
    if words[0] == "sweep":
        words += ["--jobs", "1", "--seeds", "0:2"]
    monkeypatch.setenv("COLUMNS", "200")
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, result.output
    return result.output


@pytest.mark.slow
def test_every_block_is_played(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    install, *blocks = [(word, text) for word, text in BLOCK.findall(PAGE) if word != "text"]
    assert "pip install .\n" in install[1]
    told = ""
    for word, text in blocks:
        if word == "python":
            names: dict = {}
            exec(compile(text, "start.md", "exec"), names)
            assert {"kd_pdfl", "fedavg"} <= set(names["accuracy"]["algorithm"])
        else:
            assert word == "bash"
            told += "".join(printed(line, monkeypatch) for line in text.splitlines())
    rows = re.findall(r"^\| (`.*?) \|", PAGE, flags=re.MULTILINE)
    columns = [column for row in rows for column in re.findall(r"`(\S+)`", row)]
    assert len(columns) > 5
    assert [column for column in columns if column not in told] == []
    assert (tmp_path / "runs/quickstart/report.html").is_file()
    assert (tmp_path / "runs/reach/report.html").is_file()


def test_a_key_that_does_not_exist_is_told_with_the_one_that_was_meant():
    result = CliRunner().invoke(app, ["run", "quickstart", "--set", "radio.reachabel=2"])
    assert result.exit_code == 2
    assert 'did you mean "reachable"' in re.sub(r"\s+", " ", result.output)


def test_the_folder_that_the_page_shows_is_what_a_run_writes():
    folders = re.findall(r"^  (\w+)/ ", PAGE, flags=re.MULTILINE)
    described = (Path(__file__).resolve().parents[1] / "docs/run_folder.md").read_text()
    assert folders
    assert all(f"`{folder}/`" in described for folder in folders)


def test_the_columns_that_the_page_explains_are_those_of_the_table():
    """The table that the quickstart ends with stands on its own page, as it was printed."""
    explained = PAGE.partition("| column | meaning |")[2].partition("\n\n")[0]
    names = re.findall(r"`([^`]+)`", "\n".join(r.split("|")[1] for r in explained.split("\n")[2:]))
    other = Path(__file__).resolve().parents[1] / "docs/quickstart.md"
    table = other.read_text(encoding="utf-8").partition("```text\n")[2]
    heading = table.partition("\n")[0].split()
    assert names == heading
