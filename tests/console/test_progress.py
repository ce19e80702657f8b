"""Progress of a run on the terminal."""

import io
import os
import pty
import re
import select
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from rich.console import Console

from netsim.console import terminal
from netsim.engine.progress import Progress
from netsim.scenario import from_dict
from netsim.terminal import consoles
from netsim.terminal.progress import duration, headline, short, watched

ROOT = str(Path(__file__).parents[2])
CONTROLS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def step_at(virtual_s: float, **more: object) -> Progress:
    return replace(Progress(virtual_s, 100.0, 12_345, 2_000_000, 0.5, 2.0), **more)


@dataclass
class Entry:
    name: str


@pytest.fixture(params=[False, True], ids=["file", "terminal"])
def console(request):
    """Of a log file or a terminal; what it shows is in its `file`."""
    text = io.StringIO()
    return Console(file=text, force_terminal=request.param, width=120, highlight=False)


@pytest.fixture
def scenario():
    metrics = SimpleNamespace(common_test_samples=500)
    return SimpleNamespace(evaluate_every_s=10.0, horizon_s=1000.0, metrics=metrics)


def test_progress_tells_speed_accuracy_and_the_end_of_each_algorithm(console):
    with watched(console) as watch:
        for name in ("a", "b"):
            watch(Entry(name), step_at(25.0))
            watch(Entry(name), step_at(99.0))
    shown = console.file.getvalue()
    for part in ("a", "b", "100 of 100 s", "6.17k events/s", "1M steps/s", "accuracy 50.0 %"):
        assert part in shown
    if not console.is_terminal:
        assert shown.count("\n") == 2
        assert "\x1b" not in shown


def test_what_is_done_before_the_first_event_and_after_the_last_shows_on_a_terminal_alone(console):
    with watched(console) as watch:
        watch.announce("reading digits")
        if console.is_terminal:
            watch._bars.refresh()
        watch(Entry("a"), step_at(0.0, doing="first evaluation"))
        if console.is_terminal:
            watch._bars.refresh()
        watch(Entry("a"), step_at(100.0))
        watch(Entry("a"), step_at(100.0, doing="writing tables"))
    shown = console.file.getvalue()
    for words in ("reading digits", "first evaluation"):
        assert (words in shown) is console.is_terminal
    assert "100 of 100 s" in CONTROLS.sub("", shown).rstrip().splitlines()[-1]
    if not console.is_terminal:
        assert shown.count("\n") == 1


def test_evaluation_that_dominates_is_told_with_the_remedy(console, scenario):
    """80 s at an interval of 10 s leave 20 s of other work, which afford 5 s: a sixteenth."""
    with watched(console, scenario) as watch:
        if not console.is_terminal:
            watch._shown_s -= 100.0
        watch(Entry("a"), step_at(50.0, wall_s=100.0, evaluation_wall_s=80.0))
        if console.is_terminal:
            watch._bars.refresh()
    shown = console.file.getvalue()
    assert "evaluation 80%" in shown
    advice = "[metrics] every_s = 160 makes it 20%"
    assert f"evaluation takes 80% of the time: {advice}" in shown
    assert "every_s" not in shown.splitlines()[-1], "the advice goes with the run"


@pytest.mark.parametrize("cost", [(20.0, 100.0), (0.9, 1.0), (0.0, 2.0)])
def test_evaluation_that_is_cheap_is_not_told(console, scenario, cost):
    with watched(console, scenario) as watch:
        watch(Entry("a"), step_at(100.0, evaluation_wall_s=cost[0], wall_s=cost[1]))
    assert "evaluation" not in console.file.getvalue()


def test_waiting_shows_on_a_terminal_alone(monkeypatch, console):
    monkeypatch.setattr(consoles, "err", lambda: console)
    with terminal.waiting("drawing [figures]"):
        pass
    with terminal.waiting("quietly", quiet=True):
        pass
    assert ("drawing [figures]" in console.file.getvalue()) is console.is_terminal
    assert "quietly" not in console.file.getvalue()


@pytest.mark.slow
def test_a_run_in_a_terminal_says_what_it_is_doing_from_its_first_second_to_its_last(here):
    master, slave = pty.openpty()
    command = ["run", "s.toml", "--figures", "--timing-only", "--algorithms", "algorithms"]
    process = subprocess.Popen(
        [sys.executable, "-m", "netsim", *command],
        env={**os.environ, "PYTHONPATH": ROOT, "TERM": "xterm", "COLUMNS": "120"},
        **dict.fromkeys(("stdin", "stdout", "stderr"), slave),
    )
    os.close(slave)
    shown = b""
    while select.select([master], [], [], 300.0)[0]:
        try:
            shown += os.read(master, 65536)
        except OSError:  # the process has ended
            break
    os.close(master)
    assert process.wait() == 0
    text = CONTROLS.sub("", shown.decode())
    steps = ("loading PyTorch", "4 nodes", "alone", "drawing figures", "results in")
    places = [text.index(step) for step in steps]
    assert places == sorted(places)
    assert text.index("alone") < text.index("4 of 4 s") < text.index("results in")
    assert shown.count(b"\x1b[?25h") == shown.count(b"\x1b[?25l"), "the cursor is back"


def test_progress_is_silent_when_asked_to_be():
    with watched(Console(file=io.StringIO()), quiet=True) as watch:
        assert watch is None


def test_numbers_and_durations_are_short():
    assert [short(n) for n in (0, 950, 12_345, 4_560_000, 2e9)] == [
        "0",
        "950",
        "12.3k",
        "4.56M",
        "2G",
    ]
    assert [duration(s) for s in (0.44, 38, 125, 12_000)] == [
        "0.4 s",
        "38 s",
        "2 min 05 s",
        "3 h 20 min",
    ]


RADIO = {"bandwidth_hz": 1e6, "tx_power_dbm": 20.0}
SERVER = {"count": 3, "groups": [{"name": "s", "count": 1, "role": "server"}]}


@pytest.mark.parametrize(
    ("tables", "told"),
    [
        ({}, "ideal links · rounds · digits"),
        ({"link": {"loss": 0.1}}, "wired links · rounds · digits"),
        ({"radio": RADIO}, "rayleigh radio · rounds · digits"),
        ({"radio": RADIO, "ideal_network": True}, "ideal links · rounds · digits"),
        (
            {"radio": RADIO, "link": {}, "nodes": SERVER, "algorithm": {"kind": "fedavg"}},
            "rayleigh radio and ideal links · rounds · digits",
        ),
        (
            {
                "radio": RADIO,
                "algorithm": [
                    {"kind": "dpsgd", "set": {"exchange": {"schedule": "star"}}},
                    {"kind": "local"},
                    {"kind": "dpsgd", "name": "ideal", "set": {"ideal_network": True}},
                ],
            },
            "rayleigh radio or ideal links · star or rounds · digits",
        ),
    ],
)
def test_a_headline_names_the_worlds_that_are_played(tables, told):
    small = {
        "horizon_s": 10.0,
        "nodes": {"count": 3},
        "exchange": {"schedule": "rounds", "interval_s": 5.0},
        "data": {"kind": "digits"},
        "model": {"kind": "mlp"},
        "algorithm": {"kind": "dpsgd"},
    }
    assert f"3 nodes · complete · {told}" in headline(from_dict({**small, **tables}))
