"""docs/study.md: its commands work as shown, its numbers are what its script prints."""

import re
import runpy
import shlex
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from netsim.console.app import app

ROOT = Path(__file__).resolve().parents[1]
TEXT = (ROOT / "docs/study.md").read_text(encoding="utf-8")
SMALL = "--set horizon_s=40 --set metrics.every_s=20 --set nodes.count=6 --seeds 0:2 --jobs 2 -q"


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", TEXT, flags=re.MULTILINE | re.DOTALL)


@pytest.mark.slow
def test_every_command_of_the_page_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.chdir(tmp_path)
    [script] = blocks("python")
    (tmp_path / "study.py").write_text(script, encoding="utf-8")
    commands = [line[2:] for block in blocks("console") for line in block.splitlines()]
    assert [shlex.split(c)[0] for c in commands] == ["netsim", "netsim", "python"]
    for command in commands:
        program, *arguments = shlex.split(command)
        if program == "netsim":
            result = CliRunner().invoke(app, [*arguments, *shlex.split(SMALL)])
            assert result.exit_code == 0, result.output
        else:
            monkeypatch.setattr(sys, "argv", arguments)
            runpy.run_path(arguments[0], run_name="__main__")
    printed = capsys.readouterr().out.splitlines()
    assert (tmp_path / "study.svg").is_file()
    assert len([line for line in printed if re.match(r" *\d+ +\d+ %", line)]) == 18
    assert printed[0].endswith("2 seeds")


def test_the_page_has_numbers_a_figure_and_the_commit_that_played_them():
    [printed] = blocks("text")
    rows = [line for line in printed.splitlines() if re.match(r" *\d+ +\d+ %", line)]
    assert len(rows) == 18
    assert re.search(r"^210 runs, played with the code of commit `[0-9a-f]{7,}`\.$", TEXT, re.M)
    assert (ROOT / "docs/study.svg").stat().st_size < 100_000
