"""Nodes that are on when a file says so."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

import numpy as np

from netsim.registry import FilePath, Finite
from netsim.rng import Streams
from netsim.topology.churn import Churn, Periods
from netsim.traces.csv_columns import SECONDS, Columns
from netsim.traces.moments import LATEST_S, file_time_of_start
from netsim.traces.node_ids import note_absent, require_known
from netsim.units import to_ns


class Trace(Churn):
    """On in the intervals [on_s, off_s) of a CSV file with the columns `node,on_s,off_s`.

    One row an interval, in any order; an empty `off_s` means to the end of the run. A node without
    any row is always on; rows of nodes that the scenario does not have are not used.

    Attributes
    ----------
    path
        CSV file with the columns `node,on_s,off_s`; may be `.gz`. Beside the scenario, else below
        the data folder.
    start_s
        Time of the file at which the run starts. Absent: that of its first row, the earliest
        `on_s`.
    """

    kind: Literal["trace"] = "trace"
    path: FilePath
    start_s: Finite | None = None

    def periods(
        self, nodes: Sequence[int], streams: Streams, folder: Path | None
    ) -> list[Periods] | None:
        rows = Columns.of("churn", self.path, folder, ())
        rows.needed = ["node", "on_s", "off_s"]
        node = rows.ids("node")
        on, off = (rows.find(name, SECONDS) for name in ("on_s", "off_s"))
        on_s = rows.times(on, rows.factor(on, SECONDS))
        off_s = rows.times(off, rows.factor(off, SECONDS), empty=np.inf)
        if self.start_s is None:
            rows.require(on_s >= 0, f"{on} must be at least 0, unless start_s is set")
        rows.require_days(on, on_s, node)
        rows.require(off_s > on_s, f"{off} must be later than {on}")
        order = np.lexsort((on_s, node))
        same = node[order][1:] == node[order][:-1]
        early = np.zeros(len(node), dtype=bool)
        early[order[1:]] = same & (on_s[order][1:] <= off_s[order][:-1])
        rows.require(~early, "the interval begins before, or when, another one of its node ends")
        known = np.isin(node, nodes)
        rows.require(known | known.any(), f"node must be one of {min(nodes)} to {max(nodes)}")
        require_known(rows.text, node.tolist(), max(nodes) + 1)
        absent = sorted({*nodes} - {*node.tolist()})
        note_absent(rows.text.where, absent, len(nodes), "are on throughout")
        ends = off_s[np.isfinite(off_s)]
        last_s = max(on_s.max(), ends.max(initial=on_s.max()))
        if len(ends) < len(off_s):
            last_s = LATEST_S  # some are on for as long as the run lasts
        begins_s = file_time_of_start(
            rows.text.where, on_s.min(), last_s, self.start_s, "nodes that have rows are off"
        )
        later = order[off_s[order] > begins_s]  # what ended before the run is none of it
        on_s, off_s = np.maximum(on_s - begins_s, 0.0), off_s - begins_s
        mine = {i: later[node[later] == i] for i in nodes}
        return [
            _periods(on_s[mine[i]].tolist(), off_s[mine[i]].tolist())
            if (node == i).any()
            else Periods(True, iter(()))
            for i in nodes
        ]


def _periods(on_s: list[float], off_s: list[float]) -> Periods:
    return Periods(bool(on_s) and on_s[0] == 0, _switches(on_s, off_s))


def _switches(on_s: list[float], off_s: list[float]) -> Iterator[int]:
    for start_s, end_s in zip(on_s, off_s, strict=True):
        if start_s > 0:
            yield to_ns(start_s)
        if end_s < np.inf:
            yield to_ns(end_s)
