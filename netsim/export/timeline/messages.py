"""Messages as slices of their senders and receivers, with an arrow from one to the other.

A slice of the sender lasts from sending until the last receiver has it, or it was given up; what
was sent at one instant under one name, of one size, is one slice. At the receiver stands a slice of
a nanosecond. Only messages that arrived, whole or in part, have an arrow. Models that arrived and
were never used are said to be so at their receiver.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from netsim.export.timeline.chrome import SHORTEST_NS, Writer, lanes, process_of
from netsim.recording import run_folder
from netsim.recording.node_states import nanoseconds
from netsim.recording.schema import ARRIVED

COLUMNS = ("t_sent_s", "t_done_s", "src", "dst", "kind", "bits", "outcome")
SENT, CAME = 40_000, 3
"""Threads of a node: the first of those that show what it has sent, and where messages arrive."""
_WAITING = "messages under way"
_MOST_NAMED = 20


class _Messages(NamedTuple):
    """All messages of a run, in the order of its log; words as codes into their names."""

    sent_ns: NDArray[np.int64]
    done_ns: NDArray[np.int64]
    src: NDArray[np.int64]
    dst: NDArray[np.int64]
    bits: NDArray[np.int64]
    kind: NDArray[np.int64]
    outcome: NDArray[np.int64]
    kinds: NDArray[np.str_]
    outcomes: NDArray[np.str_]
    arrived: NDArray[np.bool_]


def write(folder: Path, writer: Writer, nodes: int) -> None:
    """Write all messages of a run.

    Parameters
    ----------
    nodes : int
        How many there are.
    """
    rows = run_folder.read(folder, "messages", COLUMNS)
    if not len(rows["src"]):
        return
    kinds, kind = np.unique(rows["kind"].astype(str), return_inverse=True)
    outcomes, outcome = np.unique(rows["outcome"].astype(str), return_inverse=True)
    sent_ns, done_ns = nanoseconds(rows["t_sent_s"]), nanoseconds(rows["t_done_s"])
    src, dst, bits = (rows[name].astype(np.int64) for name in ("src", "dst", "bits"))
    arrived = np.isin(outcomes, ARRIVED)[outcome]
    del rows
    log = _Messages(sent_ns, done_ns, src, dst, bits, kind, outcome, kinds, outcomes, arrived)
    _sent(writer, log)
    _came(writer, log, _unused(folder, len(src)))
    for node in range(nodes):
        mine = src == node
        _under_way(writer, node, sent_ns[mine], done_ns[mine])


def _sent(writer: Writer, log: _Messages) -> None:
    """Slices of senders, and the beginnings of arrows."""
    order = np.lexsort((log.dst, log.bits, log.kind, log.sent_ns, log.src))
    groups = _groups(order, log.src, log.sent_ns, log.kind, log.bits)
    node, used = -1, 0
    lane_of: Iterator[int] = iter(())
    begins = [int(order[begin]) for begin, _ in groups]
    ends_ns = [int(log.done_ns[order[begin:end]].max()) for begin, end in groups]
    for k, (begin, end) in enumerate(groups):
        rows = order[begin:end].tolist()
        first, sender = rows[0], int(log.src[rows[0]])
        if sender != node:
            _name_lanes(writer, node, used)
            node, used = sender, 0
            last = k + int(np.searchsorted(log.src[begins[k:]], sender, side="right"))
            spans = zip(log.sent_ns[begins[k:last]].tolist(), ends_ns[k:last], strict=True)
            lane_of = lanes((b, max(e, b + SHORTEST_NS)) for b, e in spans)
        lane = next(lane_of)
        used = max(used, lane + 1)
        fates = Counter(str(log.outcomes[log.outcome[row]]) for row in rows)
        pid, tid, at_ns = process_of(sender), SENT + lane, int(log.sent_ns[first])
        to = log.dst[rows].tolist()
        details = {"to": to[:_MOST_NAMED], "bits": int(log.bits[first]), **fates}
        if len(to) > _MOST_NAMED:
            details["receivers"] = len(to)
        writer.slice(
            pid, tid, _title(str(log.kinds[log.kind[first]]), to, fates), at_ns, ends_ns[k], details
        )
        for row in rows:
            if log.arrived[row]:
                writer.arrow(pid, tid, row, at_ns, ends=False)
    _name_lanes(writer, node, used)


def _came(writer: Writer, log: _Messages, unused: Mapping[int, str]) -> None:
    """Slices of receivers, and the ends of arrows; `unused` has what became of unused messages."""
    order = np.lexsort((log.src, log.done_ns, log.dst))
    order = order[log.arrived[order]]
    for begin, end in _groups(order, log.dst, log.done_ns):
        rows = order[begin:end].tolist()
        pid, at_ns = process_of(int(log.dst[rows[0]])), int(log.done_ns[rows[0]])
        names = "/".join(sorted({str(log.kinds[log.kind[row]]) for row in rows}))
        whence = f"from {log.src[rows[0]]}" if len(rows) == 1 else f"from {len(rows)} nodes"
        details: dict[str, Any] = {"from": log.src[rows].tolist()[:_MOST_NAMED]}
        in_vain = Counter(unused[row] for row in rows if row in unused)
        if in_vain:
            details["arrived, not used"] = dict(in_vain)
        vain = (
            ""
            if not in_vain
            else ", not used"
            if len(rows) == 1
            else f", {in_vain.total()} not used"
        )
        writer.slice(pid, CAME, f"{names} {whence}{vain}", at_ns, at_ns + SHORTEST_NS, details)
        for row in rows:
            writer.arrow(pid, CAME, row, at_ns, ends=True)
    for node in np.unique(log.dst[log.arrived]).tolist():
        writer.thread(process_of(node), CAME, "messages in")


def _unused(folder: Path, messages: int) -> dict[int, str]:
    """Fates of messages with values that arrived and were not used, by row."""
    if not run_folder.has(folder, "uses"):
        return {}
    rows = run_folder.read(folder, "uses", ("message", "fate"))
    both = zip(rows["message"].tolist(), rows["fate"].astype(str).tolist(), strict=True)
    return {row: fate for row, fate in both if fate != "used" and 0 <= row < messages}


def _under_way(
    writer: Writer, node: int, sent_ns: NDArray[np.int64], done_ns: NDArray[np.int64]
) -> None:
    """Count a node's messages that wait or are on their way, over time."""
    if not len(sent_ns):
        return
    at_ns = np.concatenate((sent_ns, done_ns))
    times, place = np.unique(at_ns, return_inverse=True)
    change = np.zeros(len(times), dtype=np.int64)
    np.add.at(change, place, np.repeat((1, -1), len(sent_ns)))
    levels = np.cumsum(change)
    pid = process_of(node)
    for k in np.flatnonzero(change).tolist():
        writer.counter(pid, _WAITING, int(times[k]), int(levels[k]))


def _groups(order: NDArray[np.int64], *keys: NDArray[np.int64]) -> list[tuple[int, int]]:
    """Return the groups of neighbours that agree in all keys: begin and end of each in an order."""
    if not len(order):
        return []
    new = np.zeros(len(order), dtype=bool)
    new[0] = True
    for key in keys:
        new[1:] |= key[order[1:]] != key[order[:-1]]
    bounds = [*np.flatnonzero(new).tolist(), len(order)]
    return list(pairwise(bounds))


def _title(kind: str, to: list[int], fates: Counter[str]) -> str:
    missed = sum(many for fate, many in fates.items() if fate not in ARRIVED)
    if len(to) == 1:
        return f"{kind} to {to[0]}" + (f" ({next(iter(fates))})" if missed else "")
    return f"{kind} to {len(to)} nodes" + (f" ({missed} did not arrive)" if missed else "")


def _name_lanes(writer: Writer, node: int, used: int) -> None:
    for lane in range(used):
        writer.thread(process_of(node), SENT + lane, "messages out")
