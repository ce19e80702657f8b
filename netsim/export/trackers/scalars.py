"""The numbers that dashboards are told, by name."""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from netsim.recording.observers import EvaluationEvent, TrafficEvent
from netsim.scenario.labels import shown
from netsim.units import BITS_PER_MEGABYTE

_MOST_WHOLE = 1 << 53
"""Dashboards hold numbers as float64."""
MEGABYTES = "traffic/transmitted_megabytes"


class Point(NamedTuple):
    """Numbers of one instant.

    Attributes
    ----------
    values : mapping of str to float
        By name.
    t_s : float
        Virtual time [s].
    bits : int
        Transmitted by all nodes by then [bit].
    """

    values: Mapping[str, float]
    t_s: float
    bits: int


def of_traffic(event: TrafficEvent) -> dict[str, float]:
    """Return the spending of the network, and the result that it had for it."""
    return {
        **of_spending(event.bits_transmitted, event.airtime_s),
        "traffic/messages_ended": float(event.messages_ended),
        "traffic/local_steps": float(event.local_steps),
    }


def of_spending(bits_transmitted: int, airtime_s: float) -> dict[str, float]:
    """Return the spending of the network."""
    return {MEGABYTES: bits_transmitted / BITS_PER_MEGABYTE, "traffic/airtime_s": airtime_s}


def of_evaluation(event: EvaluationEvent) -> dict[str, float]:
    """Yield mean, standard deviation, least and most of every metric over nodes."""
    found: dict[str, float] = {}
    for metric, by_node in event.values.items():
        values = np.array(list(by_node.values()), dtype=np.float64)
        found |= {
            f"{metric}/mean": float(values.mean()),
            f"{metric}/std": float(values.std()),
            f"{metric}/min": float(values.min()),
            f"{metric}/max": float(values.max()),
        }
    return found


def of_summary(summary: Mapping[str, Any]) -> dict[str, float]:
    """Means of the metrics at the end, and the totals of messages."""
    found = {}
    for name, block in summary.items():
        if isinstance(block, Mapping) and isinstance(block.get("mean"), int | float):
            found[f"final/{name}"] = float(block["mean"])
    for name, value in summary.get("messages", {}).items():
        if isinstance(value, int | float):
            found[f"final/messages/{name}"] = float(value)
    return {name: value for name, value in found.items() if math.isfinite(value)}


def flat(scenario: Mapping[str, Any], above: str = "") -> dict[str, int | float | str | bool]:
    """A resolved scenario's keys with dots, and their values; lists as words."""
    found: dict[str, int | float | str | bool] = {}
    for key, value in scenario.items():
        name = f"{above}{key}"
        if isinstance(value, Mapping):
            found |= flat(value, f"{name}.")
        elif isinstance(value, int) and abs(value) > _MOST_WHOLE:
            found[name] = shown(value)
        elif isinstance(value, bool | int | float | str):
            found[name] = value
        else:
            found[name] = str(value)
    return found
