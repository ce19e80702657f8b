"""How the progress of a run is shown."""

import io
from dataclasses import dataclass

import pytest
from rich.console import Console

from netsim.console.progress import duration, short, watched


@dataclass(frozen=True)
class Step:
    virtual_s: float
    horizon_s: float = 100.0
    events: int = 12_345
    node_steps: int = 2_000_000
    score: float | None = 0.5
    wall_s: float = 2.0
    metric: str = "accuracy"


@dataclass
class Entry:
    name: str


@pytest.mark.parametrize("terminal", [False, True])
def test_progress_tells_speed_accuracy_and_the_end_of_each_algorithm(terminal):
    text = io.StringIO()
    console = Console(file=text, force_terminal=terminal, width=120, highlight=False)
    with watched(console) as watch:
        for name in ("a", "b"):
            watch(Entry(name), Step(25.0))
            watch(Entry(name), Step(99.0))
    shown = text.getvalue()
    for part in ("a", "b", "100 of 100 s", "6.17k events/s", "1M steps/s", "accuracy 50.0 %"):
        assert part in shown
    if not terminal:
        assert shown.count("\n") == 2
        assert "\x1b" not in shown


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
