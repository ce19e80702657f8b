"""Metrics over what was transmitted and over airtime."""

from collections.abc import Sequence
from dataclasses import replace

from netsim.recording.reader import RunFolder
from netsim.views import Ask, Shown, accuracy

TITLE = "Accuracy over what was transmitted"
PLACE = 30
NOTHING = "nothing was transmitted, or not before its last evaluation (metrics.every_s)"
TAKES = ("metrics", "band")


def of_runs(runs: Sequence[RunFolder], ask: Ask) -> Shown | None:
    """Return the main metric against megabytes and airtime; None where they were not counted."""
    there = [name for name in accuracy.recorded(runs) if name != "time"]
    if not there and not ask.on_paper:
        return None
    metrics = ask.metrics or (runs[0].main.name,)
    against = ("megabytes", "airtime")
    return accuracy.of_runs(runs, replace(ask, metrics=metrics, against=against))
