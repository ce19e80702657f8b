"""Numbers over time: the main metric of every node and their mean, and what batteries hold."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from netsim.export.timeline.chrome import Writer, process_of
from netsim.recording import run_folder
from netsim.recording.metrics import complete_from
from netsim.recording.node_states import nanoseconds
from netsim.recording.schema import RECORDED

COLUMNS = ("t_s", "node", "metric", "stage", "value", "energy_j")
NETWORK = 1_000_000
"""Process id of what is of no single node; there are fewer nodes."""


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
        here = rows["stage"] == stage
        name = f"{main}, {stage}"
        cells = zip(at_ns[here], rows["node"][here], rows["value"][here], strict=True)
        for time_ns, node, value in cells:
            if np.isfinite(value):
                writer.counter(process_of(int(node)), name, int(time_ns), float(value))
        if stage == RECORDED:  # node by node, each at its own time: there is no mean over nodes
            continue
        times, place, many = np.unique(at_ns[here], return_inverse=True, return_counts=True)
        means = np.bincount(place, rows["value"][here]) / many
        is_whole = np.arange(len(times)) >= complete_from(many)
        for time_ns, mean in zip(times[is_whole].tolist(), means[is_whole].tolist(), strict=True):
            if np.isfinite(mean):
                writer.counter(NETWORK, f"mean {name}", time_ns, mean)
    for node, time_ns, joules in _charges(folder, rows, at_ns):
        writer.counter(process_of(node), "battery (J)", time_ns, joules)


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
