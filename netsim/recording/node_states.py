"""Durations of every node's activities, from the table `intervals` of a run folder.

Seven states. A radio and a processor work at the same time, so that these do not add up to the
length of the run:

- `train`, `compute`: its processor trains, or is at other work that takes virtual time;
- `transmit`, `receive`: its radio is at work on a message. Over a medium that senders share, a
  message takes longer than its airtime: seconds are those at work, `busy_s` of its intervals;
- `off`: the node is switched off, or its battery is empty;
- `asleep`: by its schedule, while its radio is not at work;
- `wait`: none of these.

Wires are not recorded: they let a node send and receive as much as it likes.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from netsim.recording import run_folder
from netsim.recording.parquet_parts import Rows
from netsim.recording.schema import COMPUTE, OFF, RECEIVE, TABLES, TRAIN, TRANSMIT
from netsim.units import NS_PER_S

ASLEEP, WAIT = "asleep", "wait"
STATES = (TRAIN, COMPUTE, TRANSMIT, RECEIVE, ASLEEP, OFF, WAIT)
NOT_RECORDED = "not recorded: play the run with --set metrics.timeline=true"
Times = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Spans:
    """Stretches of time of one node in one state."""

    # (K,) int64: in order of their beginnings; `busy_ns` of each is spent at work
    begin_ns: Times
    end_ns: Times
    busy_ns: Times

    @property
    def busy_s(self) -> float:
        """All of it [s]."""
        return int(self.busy_ns.sum()) / NS_PER_S


def nanoseconds(seconds: NDArray[Any]) -> Times:
    """Times of a table in the whole nanoseconds in which they were recorded."""
    return np.rint(np.asarray(seconds, dtype=np.float64) * NS_PER_S).astype(np.int64)


def by_node(folder: Path, end_ns: int) -> Iterator[tuple[int, Mapping[str, Spans]]]:
    """Every node and its spans by state; states that it never was in are left out.

    Parameters
    ----------
    folder : Path
        With a table `intervals`, unless nothing was recorded of the nodes.
    end_ns : int
        When the run ended, or as far as it came.
    """
    nodes = run_folder.nodes(folder)
    columns = [column.name for column in TABLES["intervals"]]
    rows = bounds = order = None
    if run_folder.has(folder, "intervals"):
        rows = run_folder.read(folder, "intervals", columns)
        order = np.lexsort((rows["t_begin_s"], rows["node"]))
        bounds = np.searchsorted(rows["node"][order], np.arange(len(nodes["node"]) + 1))
    for k, node in enumerate(nodes["node"].tolist()):
        mine: Rows = {}
        if rows is not None and order is not None and bounds is not None:
            mine = {name: cells[order[bounds[k] : bounds[k + 1]]] for name, cells in rows.items()}
        yield node, _states(mine, _sleeping(nodes, k, end_ns), end_ns)


def totals(folder: Path, end_ns: int) -> dict[str, list[float]]:
    """Seconds that every node spent in every state, for `summary.json`."""
    found: dict[str, list[float]] = {state: [] for state in STATES}
    for _, spans in by_node(folder, end_ns):
        for state in STATES:
            found[state].append(spans[state].busy_s if state in spans else 0.0)
    return found


def _sleeping(nodes: Rows, k: int, end_ns: int) -> Times:
    """Scheduled sleep of the k-th node's radio up to an instant: (K, 2) begin and end [ns].

    It sleeps periodically, after being awake at the beginning of each period.
    """
    names = ("period", "awake", "offset")
    cells = [nodes[f"sleep_{name}_s"][k] for name in names if f"sleep_{name}_s" in nodes]
    if len(cells) < len(names) or any(cell is None or cell != cell for cell in cells):
        return np.empty((0, 2), dtype=np.int64)
    period_ns, awake_ns, offset_ns = nanoseconds(np.array(cells, dtype=np.float64)).tolist()
    periods = np.arange((end_ns + offset_ns) // period_ns + 1, dtype=np.int64)
    begin_ns = periods * period_ns + awake_ns - offset_ns
    ends_ns = (periods + 1) * period_ns - offset_ns
    edges = np.clip(np.stack((begin_ns, ends_ns), 1), 0, end_ns)
    return np.asarray(edges[edges[:, 1] > edges[:, 0]])


def _states(rows: Rows, by_schedule: Times, end_ns: int) -> dict[str, Spans]:
    found: dict[str, Spans] = {}
    if rows:
        begin_ns, ends_ns = nanoseconds(rows["t_begin_s"]), nanoseconds(rows["t_end_s"])
        busy_ns = nanoseconds(rows["busy_s"])
        for what in np.unique(rows["what"]).tolist():
            mine = rows["what"] == what
            found[what] = Spans(begin_ns[mine], ends_ns[mine], busy_ns[mine])
    everything = np.array([[0, end_ns]], dtype=np.int64)
    if len(by_schedule):
        awake = subtract(everything, _edges(found, (OFF, TRANSMIT, RECEIVE)))
        found |= _as_spans(ASLEEP, intersect(by_schedule, awake))
    found |= _as_spans(WAIT, subtract(everything, _edges(found, STATES)))
    return found


def _as_spans(state: str, edges: Times) -> dict[str, Spans]:
    if not len(edges):
        return {}
    begin_ns, end_ns = edges.T
    return {state: Spans(begin_ns, end_ns, end_ns - begin_ns)}


def _edges(spans: Mapping[str, Spans], states: tuple[str, ...]) -> Times:
    """Begin and end of all spans of some states."""
    some = [np.stack((s.begin_ns, s.end_ns), 1) for k, s in spans.items() if k in states]
    return np.concatenate(some) if some else np.empty((0, 2), dtype=np.int64)


def union(edges: Times) -> Times:
    """Stretches of time that overlap or touch, as one.

    `edges`: (K, 2) begin and end [ns], in any order.
    """
    return _covered(edges, 1)


def intersect(some: Times, others: Times) -> Times:
    """Intersect two sets of intervals that do not overlap within their set."""
    return _covered(np.concatenate((some, others)), 2)


def subtract(some: Times, others: Times) -> Times:
    """Subtract intervals from disjoint intervals."""
    if not len(some) or not len(others):
        return some
    taken = union(others)
    low, high = min(some.min(), taken.min()), max(some.max(), taken.max())
    gaps = np.stack((np.append(low, taken[:, 1]), np.append(taken[:, 0], high)), 1)
    return intersect(some, gaps[gaps[:, 1] > gaps[:, 0]])


def _covered(edges: Times, times: int) -> Times:
    """Return the times at which at least so many of some stretches are under way."""
    at_ns = edges.T.ravel()
    change = np.repeat((1, -1), len(edges))
    order = np.lexsort((-change, at_ns))  # where one ends another begins: no gap
    at_ns, many = at_ns[order], np.cumsum(change[order])
    inside = many >= times
    begins = inside & ~np.append(False, inside[:-1])
    ends = ~inside & np.append(False, inside[:-1])
    found = np.stack((at_ns[begins], at_ns[ends]), 1).astype(np.int64)
    return found[found[:, 1] > found[:, 0]]
