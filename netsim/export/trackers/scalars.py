"""The numbers that dashboards are told, by name."""

import math
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from netsim.recording import run_folder
from netsim.recording.json_files import leaves
from netsim.recording.metrics import complete_from
from netsim.recording.observers import EvaluationEvent, TrafficEvent
from netsim.recording.parquet_parts import Rows
from netsim.scenario.labels import shown
from netsim.scenario.nodes import SERVER
from netsim.traces.files import is_file
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


class Evaluations:
    """Statistics over nodes for dashboards: the means of the page (`metrics.complete_from`).

    While a run goes on nobody knows whether nodes are still to come that have no model yet. An
    evaluation at which every learner was measured is whole. Of any other only `nodes` and
    `mean_so_far` are told at once, and the rest at the end, if no later one had more nodes.

    Parameters
    ----------
    nodes : Rows
        The run's table of nodes; empty: whose models are measured is not known.
    """

    def __init__(self, nodes: Rows) -> None:
        self._learners, self._malicious, self._servers = _groups(nodes)
        self._counts: dict[str, list[int]] = {}
        self._due: dict[str, list[tuple[int, Point]]] = {}

    def final_numbers(self, event: EvaluationEvent, bits: int) -> dict[str, float]:
        """The numbers of an evaluation that are known to be final.

        Parameters
        ----------
        bits : int
            Transmitted by then, of all nodes [bit].

        Returns
        -------
        dict of str to float
            By metric `nodes`; `mean`, `std`, `min` and `max` over nodes, else `mean_so_far`. Where
            several stages are measured, by metric and stage, too.
        """
        found: dict[str, float] = {}
        series = dict(event.values)
        for stage, values in event.by_stage.items():
            series |= {f"{metric}/{stage}": by_node for metric, by_node in values.items()}
        for metric, by_node in series.items():
            statistics = _statistics(metric, by_node)
            found[f"{metric}/nodes"] = float(len(by_node))
            counts = self._counts.setdefault(metric, [])
            if self._is_whole(metric, by_node.keys()):
                found |= statistics
            else:
                found[f"{metric}/mean_so_far"] = statistics[f"{metric}/mean"]
                point = Point(statistics, event.t_s, bits)
                self._due.setdefault(metric, []).append((len(counts), point))
            counts.append(len(by_node))
        return found

    def rest(self) -> list[Point]:
        """The statistics of evaluations that no later one had more nodes than, in order of time."""
        first = {m: complete_from(np.array(self._counts[m])) for m in self._due}
        found: dict[float, Point] = {}
        for metric, due in self._due.items():
            for place, point in due:
                if place >= first[metric]:
                    before = found.setdefault(point.t_s, point._replace(values={}))
                    found[point.t_s] = point._replace(values={**before.values, **point.values})
        self._due = {}
        return [found[t_s] for t_s in sorted(found)]

    def _is_whole(self, metric: str, measured: Collection[int]) -> bool:
        is_malicious = metric.startswith("malicious_")
        if self._servers.issuperset(measured):
            return True  # a server's number is that of the run
        learners = self._learners & self._malicious if is_malicious else self._learners
        wanted = learners if is_malicious else learners - self._malicious
        return bool(wanted) and wanted <= set(measured)


def _groups(nodes: Rows) -> tuple[frozenset[int], frozenset[int], frozenset[int]]:
    """Nodes that learn, malicious nodes, and servers without samples."""
    if "node" not in nodes:
        return frozenset(), frozenset(), frozenset()
    ids = nodes["node"].astype(int).tolist()
    nothing = [0] * len(ids)
    samples = [int(n or 0) for n in nodes.get("train_samples", nothing)]
    roles, bad = nodes.get("role", nothing), nodes.get("malicious", nothing)
    servers = {
        i for i, role, n in zip(ids, roles, samples, strict=True) if role == SERVER and not n
    }
    learners = {i for i, n in zip(ids, samples, strict=True) if n} or set(ids) - servers
    malicious = {i for i, is_bad in zip(ids, bad, strict=True) if is_bad}
    return frozenset(learners), frozenset(malicious), frozenset(servers)


def _statistics(metric: str, by_node: Mapping[int, float]) -> dict[str, float]:
    values = np.array(list(by_node.values()), dtype=np.float64)
    with np.errstate(invalid="ignore"):  # a node without a finite number: then there is no mean
        return {
            f"{metric}/mean": float(values.mean()),
            f"{metric}/std": float(values.std()),
            f"{metric}/min": float(values.min()),
            f"{metric}/max": float(values.max()),
        }


def at_the_end(folder: Path) -> dict[str, float]:
    """Means of a run's metrics and the totals of its messages; empty where it has not ended."""
    if not is_file(folder / "summary.json"):
        return {}
    summary = run_folder.summary(folder)
    found = {}
    for name, block in summary.items():
        if isinstance(block, Mapping) and isinstance(block.get("mean"), int | float):
            found[f"final/{name}"] = float(block["mean"])
    for name, value in summary.get("messages", {}).items():
        if isinstance(value, int | float):
            found[f"final/messages/{name}"] = float(value)
    return {name: value for name, value in found.items() if math.isfinite(value)}


def flat(scenario: Mapping[str, Any]) -> dict[str, int | float | str | bool]:
    """A resolved scenario's keys with dots, and their values; lists as words."""
    return {key: _spelled(value) for key, value in leaves(scenario)}


def _spelled(value: Any) -> int | float | str | bool:
    if isinstance(value, int) and abs(value) > _MOST_WHOLE:
        return shown(value)
    return value if isinstance(value, bool | int | float | str) else str(value)
