"""Nodes that are on when a file says so."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

import numpy as np

from netsim.registry import FilePath
from netsim.rng import Streams
from netsim.topology.churn import Churn, Periods
from netsim.traces.csv_columns import Columns
from netsim.units import to_ns


class Trace(Churn):
    """On in the intervals [on_s, off_s) of a CSV file with the columns `node,on_s,off_s`.

    One row an interval, in any order; an empty `off_s` means to the end of the run. A node without
    any row is always on; rows of nodes that there are not are left aside.

    Attributes
    ----------
    path
        CSV file with the columns `node,on_s,off_s`; may be `.gz`. Beside the scenario, else below
        the data folder.
    """

    kind: Literal["trace"] = "trace"
    path: FilePath

    def periods(
        self, nodes: Sequence[int], streams: Streams, folder: Path | None
    ) -> list[Periods] | None:
        rows = Columns("churn", self.path, folder, ("node", "on_s", "off_s"))
        node = rows.ids("node")
        on_s, off_s = rows.numbers("on_s"), rows.numbers("off_s", empty=np.inf)
        rows.require(on_s >= 0, "on_s must be at least 0")
        rows.require(off_s > on_s, "off_s must be later than on_s")
        order = np.lexsort((on_s, node))
        same = node[order][1:] == node[order][:-1]
        early = np.zeros(len(node), dtype=bool)
        early[order[1:]] = same & (on_s[order][1:] <= off_s[order][:-1])
        rows.require(~early, "the interval begins before, or when, another one of its node ends")
        known = np.isin(node, nodes)
        rows.require(known | known.any(), f"node must be one of {min(nodes)} to {max(nodes)}")
        return [
            _life(on_s[order][node[order] == i].tolist(), off_s[order][node[order] == i].tolist())
            for i in nodes
        ]


def _life(on_s: list[float], off_s: list[float]) -> Periods:
    if not on_s:
        return Periods(True, iter(()))
    return Periods(on_s[0] == 0, _switches(on_s, off_s))


def _switches(on_s: list[float], off_s: list[float]) -> Iterator[int]:
    for start_s, end_s in zip(on_s, off_s, strict=True):
        if start_s > 0:
            yield to_ns(start_s)
        if end_s < np.inf:
            yield to_ns(end_s)
