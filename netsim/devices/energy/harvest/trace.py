"""Measured power from a file."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from netsim.devices.energy.harvest import MOST_W, Harvest, Piece
from netsim.registry import FilePath, Finite, Positive
from netsim.rng import Streams
from netsim.traces.csv_columns import SECONDS, Columns
from netsim.traces.moments import file_time_of_start
from netsim.traces.node_ids import note_absent, require_known
from netsim.units import to_ns

WATTS = {"w": 1.0, "mw": 1e-3, "uw": 1e-6, "kw": 1e3}
"""Factors to watt by the end of a column's name."""


class Trace(Harvest):
    """Power from a CSV file with the columns `t_s,power_w`, each row until the next; then nothing.

    With a column `node` the rows of each node are its own, and a node without any harvests
    nothing; without it all nodes harvest the same. Rows in any order.

    Attributes
    ----------
    path
        CSV file with the columns `t_s,power_w`, and perhaps `node`; other units stand in the names
        (`power_mw`); may be `.gz`. Beside the scenario, else below the data folder.
    factor
        Factor of powers: of irradiance in W/m^2, area times efficiency in m^2.
    last_s
        Time for which the last row of a node holds.
    start_s
        Time of the file at which the run starts. Absent: that of its first row.
    """

    kind: Literal["trace"] = "trace"
    path: FilePath
    factor: Positive = 1.0
    last_s: Positive = 1.0
    start_s: Finite | None = None

    def pieces(
        self, nodes: Sequence[int], streams: Streams, folder: Path | None
    ) -> list[Iterator[Piece]] | None:
        rows = Columns.of("energy.harvest", self.path, folder, ())
        rows.needed = ["t_s", "power_w"]
        time, power = rows.find("t_s", SECONDS), rows.find("power_w", WATTS)
        t_s = rows.times(time, rows.factor(time, SECONDS))
        if self.start_s is None:
            rows.require(t_s >= 0, f"{time} must be at least 0, unless start_s is set")
        watt = rows.numbers(power) * rows.factor(power, WATTS) * self.factor
        rows.require(watt >= 0, f"{power} must be at least 0")
        rows.require(watt <= MOST_W, f"{power} must be at most {MOST_W:g} W, with factor")
        called = [name for name in ("node", "node_id", "id") if name in rows]
        each = bool(called)
        node = rows.ids(called[0]) if each else np.zeros(len(t_s), np.int64)
        if each:
            known = np.isin(node, nodes)
            rows.require(known | known.any(), f"node must be one of {min(nodes)} to {max(nodes)}")
            require_known(rows.text, node.tolist(), max(nodes) + 1)
            absent = sorted({*nodes} - {*node.tolist()})
            note_absent(rows.text.where, absent, len(nodes), "harvest nothing")
        rows.require_days(time, t_s, node)
        order = np.lexsort((t_s, node))
        twice = np.zeros(len(node), dtype=bool)
        twice[order[1:]] = (np.diff(node[order]) == 0) & (np.diff(t_s[order]) == 0)
        rows.require(~twice, "there is a row for this time already")
        ends_s = t_s.max() + self.last_s
        begins_s = file_time_of_start(
            rows.text.where, t_s.min(), ends_s, self.start_s, "nothing is harvested"
        )
        mine = {i: order[node[order] == (i if each else 0)] for i in nodes}
        return [self._pieces_of_node(t_s[mine[i]] - begins_s, watt[mine[i]]) for i in nodes]

    def _pieces_of_node(
        self, t_s: NDArray[np.float64], watt: NDArray[np.float64]
    ) -> Iterator[Piece]:
        """Pieces of one node: nothing before its first row, and after the last has ended."""
        if not len(t_s):
            return iter(())
        ends_s = np.append(t_s[1:], t_s[-1] + self.last_s)
        whole = [Piece(to_ns(float(t_s[0])), 0.0)] if t_s[0] > 0 else []
        each = zip(ends_s.tolist(), watt.tolist(), strict=True)
        return iter([*whole, *(Piece(to_ns(end), w) for end, w in each if end > 0)])
