"""Commands of docs/live.md are accepted, and its numbers are the code's."""

import re
import shlex
from pathlib import Path

import pytest
import typer

from netsim.campaign import live, live_worker
from netsim.console.app import app
from netsim.export.trackers import scalars, tracker

PAGE = (Path(__file__).resolve().parents[1] / "docs" / "live.md").read_text(encoding="utf-8")
COMMANDS = [
    line.split("#")[0].strip()
    for line in re.findall(r"^ {4}(netsim .*)$", PAGE, flags=re.MULTILINE)
]


@pytest.mark.parametrize("command", COMMANDS)
def test_the_command_line_takes_what_the_page_shows(command):
    _, name, *arguments = shlex.split(command)
    chosen = typer.main.get_command(app).commands[name]
    context = chosen.make_context(name, arguments)
    assert context.command is chosen
    for program in context.params.get("log") or ():
        assert program in tracker.PROGRAMS


def test_the_numbers_of_the_page_are_those_of_the_code():
    told = " ".join(PAGE.split())
    assert f"every {live_worker.EVERY_S:g} s, less often" in told
    assert f"every {live.WRITE_EVERY_S:g} s instead of" in told
    assert "a fifth of a core" in told
    assert live_worker.SHARE == 0.2
    assert scalars.MEGABYTES in told
