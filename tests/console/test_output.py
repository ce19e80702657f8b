"""Printing decides no exit code: streams that are full, closed, unread, or know only ASCII."""

import json
import os
import subprocess
import sys

import pytest

from netsim.console.app import app

PLAYED = """
import contextlib, gc, io, json, os, sys
sys.path.insert(0, ROOT)
from netsim.console import app
FILES = {"unread": "/dev/null"}
warm, cases = json.loads(sys.stdin.read())
with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
    for arguments in warm:
        app.app(arguments, standalone_mode=False)
gc.freeze()
for arguments, out, errors, encoding in cases:
    child = os.fork()
    if not child:
        sys.argv = ["netsim", *arguments]
        for number, where in ((1, out), (2, errors)):
            if where == "closed":
                os.close(number)
                continue
            opened = os.open(FILES.get(where, where), os.O_WRONLY | os.O_CREAT)
            if where == "unread":
                os.close(opened)
                reading, opened = os.pipe()
                os.close(reading)
            os.dup2(opened, number)
        sys.stdout, sys.stderr = (
            None if where == "closed" else open(n, "w", encoding=encoding, closefd=False)
            for n, where in ((1, out), (2, errors))
        )
        app.main()
        os._exit(99)
    _, status = os.waitpid(child, 0)
    print(os.waitstatus_to_exitcode(status), flush=True)
"""
"""Plays command lines, each in a process of its own; what the first ones imported is there."""

FULL = "/dev/full"
STREAMS = ["closed", FULL, "unread", os.devnull]
COMMANDS = sorted(str(c.name or c.callback.__name__) for c in app.registered_commands)

pytestmark = pytest.mark.skipif(not os.path.exists(FULL), reason="there is no /dev/full")


def codes(warm, cases, folder=None):
    """Exit codes of (arguments, standard output, standard error, encoding), after `warm` ones."""
    root = json.dumps(os.getcwd() if folder is None else str(folder))
    done = subprocess.run(
        [sys.executable, "-c", f"ROOT = {root}\n{PLAYED}"],
        input=json.dumps([warm, cases]),
        capture_output=True,
        text=True,
        check=True,
        cwd=folder,
        env={**os.environ, "NETSIM_WITHOUT_STAND_INS": "1"},
    )
    return [int(line) for line in done.stdout.split()]


@pytest.mark.slow
def test_the_help_of_every_command_ends_well_over_every_stream():
    """Each command over each stream; either of them in both encodings."""
    cases = [
        ([command, "--help"], out, os.devnull, ("ascii", "utf-8")[(i + j) % 2])
        for i, command in enumerate(COMMANDS)
        for j, out in enumerate(STREAMS)
    ]
    assert codes([["--help"]], cases) == [0] * len(cases)


@pytest.mark.slow
def test_what_is_wrong_with_a_command_line_ends_it_with_2_over_every_stream():
    """Every two streams, and each line with every stream of either sort."""
    lines = (["nosuch"], ["run"], ["run", "--sets=\udcff"])
    cases = [
        (lines[(i + j) % len(lines)], out, errors, "ascii")
        for i, out in enumerate(STREAMS)
        for j, errors in enumerate(STREAMS)
    ]
    assert codes([["--help"]], cases) == [2] * len(cases)


@pytest.mark.slow
def test_what_every_command_does_is_done_over_every_stream(here):
    """Compare outputs and exit codes with those over streams that take everything."""
    (here / "s.toml").write_text((here / "s.toml").read_text().replace("alone", "local"))
    each = {
        "run": ["s.toml", "--out", "RUN$"],
        "sweep": ["s.toml", "--seeds", "0:2", "--out", "SWEEP$", "--jobs"],
        "resume": ["RUN$"],
        "validate": ["s.toml"],
        "list": ["all", "--keys"],
        "schema": [],
        "compare": ["RUN$"],
        "explain": ["RUN$"],
        "verify": ["RUN$", "--no-rerun"],
        "report": ["RUN$"],
        "export": ["RUN$", "--as", "timeline"],
        "fork": ["RUN$", "--at", "2", "--set", "training.learning_rate=0.1", "--out", "FORK$"],
        "plot": ["RUN$", "--out", "PLOT$.pdf"],
        "new": ["topology", "mine$"],
        "tune": ["s.toml", "--out", "TUNED$.toml"],
        "estimate": ["s.toml", "--seconds", "1"],
    }
    assert sorted(each) == COMMANDS
    pairs = [(os.devnull, os.devnull), *((stream, stream) for stream in STREAMS[:-1])]
    cases = []
    for place, (out, errors) in enumerate(pairs):
        named = [
            [command, *(word.replace("$", str(place)) for word in words)]
            for command, words in each.items()
        ]
        named[list(each).index("sweep")] += ["2" if out == "closed" else "1"]  # processes
        cases += [(line, out, errors, "ascii") for line in named]
    found = codes([["run", "s.toml", "--out", "WARM"]], cases, here)
    expected = found[: len(each)]
    for place, pair in enumerate(pairs):
        assert found[place * len(each) :][: len(each)] == expected, pair
        assert (here / f"RUN{place}" / "summary.json").is_file()
        assert (here / f"RUN{place}" / "report.html").is_file()
    runs = [json.loads((here / f"RUN{k}" / "summary.json").read_text()) for k in range(4)]
    assert len({run["parameters_sha256"] for run in runs}) == 1


@pytest.mark.slow
def test_signs_that_an_encoding_lacks_are_replaced(here):
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    (here / "bl\u00e4nk \u00fc.toml").write_text(
        (here / "s.toml").read_text().replace("alone", "local")
    )
    done = subprocess.run(
        [sys.executable, "-m", "netsim", "validate", "--no-world", "bl\u00e4nk \u00fc.toml"],
        capture_output=True,
        env=environment,
        check=True,
    )
    assert done.stdout.decode("ascii").startswith("ok blank u.toml: 4 nodes - complete - ")
