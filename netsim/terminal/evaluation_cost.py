"""Cost of evaluation in runs, under way or ended, and ways to lower it."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from netsim.scenario import Scenario

MOST_SHARE = 0.2
"""Share of the time of runs above which a remedy is named."""

WORTH_A_REMEDY_S = 1.0
"""Evaluations that took less are not worth a word, whatever their share."""


def line(summaries: Sequence[Mapping[str, Any]]) -> str | None:
    """Describe the time of evaluation, all runs together; None where nothing was evaluated."""
    evaluation_s, all_s = _seconds(summaries)
    if not evaluation_s:
        return None
    return f"evaluation took {evaluation_s:.2g} of {all_s:.3g} s, {evaluation_s / all_s:.0%}"


def remedy(summaries: Sequence[Mapping[str, Any]], scenario: Scenario) -> str | None:
    """Name the keys that lower evaluation's share to `MOST_SHARE`; None where it is no more."""
    evaluation_s, all_s = _seconds(summaries)
    if not dominates(evaluation_s, all_s):
        return None
    every_s = _every_s(evaluation_s, all_s, scenario)
    wanted = "fewer"
    if every_s is not None:
        wanted = f"[metrics] every_s = {every_s:g} (now {scenario.evaluate_every_s:g}), or fewer"
    return (
        f"evaluation was {evaluation_s / all_s:.0%} of the work; to make it {MOST_SHARE:.0%}: "
        f"{wanted} test samples: [metrics] common_test_samples "
        f"(now {scenario.metrics.common_test_samples}) or those of [data.partition]"
    )


def remedy_meanwhile(evaluation_s: float, all_s: float, scenario: Scenario) -> str | None:
    """Return the remedy in fewer words, to stand below the progress of a run.

    Parameters
    ----------
    evaluation_s, all_s : float
        Wall time of evaluations and of everything so far.
    """
    if not dominates(evaluation_s, all_s):
        return None
    every_s = _every_s(evaluation_s, all_s, scenario)
    way = "fewer test samples make it less"
    if every_s is not None:
        way = f"[metrics] every_s = {every_s:g} makes it {MOST_SHARE:.0%}"
    return f"evaluation takes {evaluation_s / all_s:.0%} of the time: {way}"


def dominates(evaluation_s: float, all_s: float) -> bool:
    """Return whether evaluation takes so much of the time that a user should know."""
    return evaluation_s > max(MOST_SHARE * all_s, WORTH_A_REMEDY_S)


def _every_s(evaluation_s: float, all_s: float, scenario: Scenario) -> float | None:
    """The interval of evaluations that makes their share `MOST_SHARE`; None beyond the horizon."""
    affordable_s = MOST_SHARE / (1 - MOST_SHARE) * (all_s - evaluation_s)
    if evaluation_s * scenario.evaluate_every_s > affordable_s * scenario.horizon_s:
        return None
    every_s = _rounded_up(scenario.evaluate_every_s * evaluation_s / affordable_s)
    return None if every_s > scenario.horizon_s else every_s


def _seconds(summaries: Sequence[Mapping[str, Any]]) -> tuple[float, float]:
    """Wall time of evaluations and of everything, all runs together."""
    return (
        sum(s["engine"]["evaluation_wall_s"] for s in summaries),
        sum(s["wall_s"] for s in summaries),
    )


def _rounded_up(value: float) -> float:
    """The next number of two digits."""
    step = 10.0 ** (math.floor(math.log10(value)) - 1)
    return math.ceil(value / step) * step
