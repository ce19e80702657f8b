"""Numbers over time: the main metric of every node and their mean, and what batteries hold."""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from netsim.export.timeline.chrome import Writer, process_of
from netsim.recording import run_folder
from netsim.recording.metrics import curve
from netsim.recording.node_states import nanoseconds
from netsim.recording.parquet_parts import Rows
from netsim.recording.schema import RECORDED

COLUMNS = ("t_s", "node", "metric", "stage", "value", "steps", "energy_j")
NETWORK = 1_000_000
"""Process id of what is of no single node; there are fewer nodes."""
_INSTANTS = 1
"""Thread of a process's instants."""


def write(folder: Path, writer: Writer, main: str) -> None:
    """Write the counters of a run.

    Parameters
    ----------
    main : str
        The metric by which its task is judged.
    """
    if not run_folder.has(folder, "metrics"):
        return
    rows = run_folder.read(folder, "metrics", COLUMNS)
    mine = rows["metric"] == main
    rows = {name: cells[mine] for name, cells in rows.items()}
    at_ns = nanoseconds(rows["t_s"])
    for stage in dict.fromkeys(rows["stage"].tolist()):
        here = np.flatnonzero(rows["stage"] == stage)
        for node in np.unique(rows["node"][here]).tolist():
            of_node = here[rows["node"][here] == node]
            told = at_ns[of_node], rows["value"][of_node]
            _counter(writer, process_of(node), f"{main}, {stage}", *told)
    for name, times_s, means in _means(rows, main):
        _counter(writer, NETWORK, name, nanoseconds(times_s), means)
    for node, time_ns, joules in _charges(folder, rows, at_ns):
        writer.counter(process_of(node), "battery (J)", time_ns, joules)


def _counter(
    writer: Writer, pid: int, name: str, at_ns: NDArray[np.int64], values: NDArray[np.float64]
) -> None:
    """Write a number over time, and an instant whenever it stops to be finite: it has no level."""
    was_finite = True
    for time_ns, value in zip(at_ns.tolist(), values.tolist(), strict=True):
        is_finite = math.isfinite(value)
        if is_finite:
            writer.counter(pid, name, time_ns, value)
        elif was_finite:
            writer.instant(pid, _INSTANTS, f"{name}: not finite from here on", time_ns)
        was_finite = is_finite


def _means(rows: Rows, main: str) -> Iterator[tuple[str, NDArray[np.float64], NDArray[np.float64]]]:
    """Means over nodes, from the first evaluation on at which no node is missing, as on the page.

    Where models are of several stages, that over all is of the last of each node, and a stage has
    a mean at evaluations at which every node has it.
    """
    measured = rows["stage"] != RECORDED  # what is recorded is of each node at a time of its own
    rows = {name: cells[measured] for name, cells in rows.items()}
    if not measured.any():
        return
    stages = list(dict.fromkeys(rows["stage"].tolist()))
    whole = curve(rows, main)
    yield f"mean {main}" + (f", {stages[0]}" if len(stages) == 1 else ""), whole.t_s, whole.mean
    for stage in stages if len(stages) > 1 else ():
        of_stage = rows["stage"] == stage
        times_s, place, many = np.unique(
            rows["t_s"][of_stage], return_inverse=True, return_counts=True
        )
        means = np.bincount(place, rows["value"][of_stage]) / many
        has_all = many == whole.nodes
        yield f"mean {main}, {stage}", times_s[has_all], means[has_all]


def _charges(folder: Path, rows: Any, at_ns: Any) -> Iterator[tuple[int, int, float]]:
    """Yield the charges of batteries at evaluations: node, time [ns], joules."""
    nodes = run_folder.nodes(folder)
    held_j = dict(zip(nodes["node"].tolist(), nodes.get("battery_j", ()), strict=False))
    written = set()
    cells = zip(rows["node"].tolist(), at_ns.tolist(), rows["energy_j"].tolist(), strict=True)
    for node, time_ns, spent_j in cells:
        full_j = held_j.get(node)
        if full_j is not None and full_j == full_j and (node, time_ns) not in written:
            written.add((node, time_ns))
            yield node, time_ns, max(0.0, float(full_j) - spent_j)
