"""Nodes that are where a file says."""

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from netsim.registry import FilePath
from netsim.rng import Streams
from netsim.topology.mobility import Mobility, Track
from netsim.topology.mobility._ways import Knot, Ways
from netsim.traces.csv_columns import Columns
from netsim.units import to_ns


class Trace(Mobility):
    """Positions from a CSV file with the columns `node,t_s,x_m,y_m`, straight ways in between.

    Rows in any order. Before its first row a node is where that row says, after its last it stays;
    a node without any row stays where it is placed, and rows of nodes that there are not are left
    aside.

    Attributes
    ----------
    path
        CSV file with the columns `node,t_s,x_m,y_m`; may be `.gz`. Beside the scenario, else below
        the data folder.
    """

    kind: Literal["trace"] = "trace"
    path: FilePath

    def track(
        self, start_m: NDArray[np.float64], radius_m: float, streams: Streams, folder: Path | None
    ) -> Track | None:
        rows = Columns("mobility", self.path, folder, ("node", "t_s", "x_m", "y_m"))
        node, t_s = rows.ids("node"), rows.numbers("t_s")
        place = np.stack([rows.numbers("x_m"), rows.numbers("y_m")], axis=1)
        rows.require(t_s >= 0, "t_s must be at least 0")
        known = node < len(start_m)
        rows.require(known | known.any(), f"node must be one of 0 to {len(start_m) - 1}")
        order = np.lexsort((t_s, node))
        again = np.zeros(len(node), dtype=bool)
        same = (node[order][1:] == node[order][:-1]) & (t_s[order][1:] == t_s[order][:-1])
        again[order[1:]] = same
        rows.require(~again, "this node has a row for this time already")
        fastest, ways = 0.0, []
        for i, start in enumerate(start_m):
            mine = order[node[order] == i]
            ways.append(_knots(t_s[mine], place[mine] if len(mine) else start[None]))
            steps_m = np.hypot(*np.diff(place[mine], axis=0).T)
            fastest = max(fastest, float((steps_m / np.diff(t_s[mine])).max(initial=0.0)))
        return Ways(ways, fastest)


def _knots(t_s: NDArray[np.float64], place: NDArray[np.float64]) -> Iterator[Knot]:
    yield 0, *place[0].tolist()
    for time_s, (x, y) in zip(t_s.tolist(), place.tolist(), strict=False):
        yield to_ns(time_s), x, y
