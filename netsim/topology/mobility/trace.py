"""Nodes that are where a file says."""

from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from netsim.registry import FilePath
from netsim.rng import Streams
from netsim.topology.mobility import Mobility, Track
from netsim.topology.mobility._from_file import Leg, Start, ways_in_metres
from netsim.traces.csv_columns import METRES, SECONDS, Columns
from netsim.traces.geodesy import project_to_plane
from netsim.traces.node_ids import node_numbers

_LATITUDES = ("lat", "latitude", "lat_deg", "latitude_deg")
_LONGITUDES = ("lon", "lng", "long", "longitude", "lon_deg", "longitude_deg")


class Trace(Mobility):
    """Positions from a CSV file with the columns `node,t_s,x_m,y_m`, straight ways in between.

    Rows in any order. Before its first row a node is at the place of that row, after its last row
    at the place of that one; a node without any row stays where it is placed, and rows of nodes
    that the scenario does not have are not used. Nodes that are not whole numbers become 0, 1, ...
    in order of appearance. Latitude and longitude become metres on a plane around the middle of the
    file's places, with errors of distances below 0.1 % within 500 km of it.

    Attributes
    ----------
    path
        CSV file with the columns `node,t_s,x_m,y_m`, or `lat,lon` in place of the last two; other
        units stand in the names (`t_ms`, `x_km`); may be `.gz`. Beside the scenario, else below the
        data folder.
    start_s
        Time of the file at which the run starts. Absent: that of its first row.
    """

    kind: Literal["trace"] = "trace"
    path: FilePath
    start_s: Start = None

    def track(
        self, start_m: NDArray[np.float64], radius_m: float, streams: Streams, folder: Path | None
    ) -> Track | None:
        rows = Columns.of("mobility", self.path, folder, ())
        rows.needed = ["node", "t_s", "x_m", "y_m"]
        called = [name for name in ("node", "node_id", "id") if name in rows]
        names = rows.texts(called[0] if called else "node")
        time = rows.find("t_s", SECONDS, ("time", "timestamp"))
        t_s = rows.times(time, rows.factor(time, SECONDS))
        if self.start_s is None:
            rows.require(t_s >= 0, f"{time} must be at least 0, unless start_s is set")
        place, words = self._places(rows)
        number = node_numbers(rows.text, list(dict.fromkeys(names)), "mobility", len(start_m))
        node = np.array([number[name] for name in names])
        rows.require_days(time, t_s, node)
        order = np.lexsort((t_s, node))
        same = node[order][1:] == node[order][:-1]
        wrong = np.zeros(len(node), dtype=bool)
        wrong[order[1:]] = same & (t_s[order][1:] == t_s[order][:-1])
        rows.require(~wrong, "this node has a row for this time already")
        found: list[list[Leg]] = [[] for _ in start_m]
        for k in order.tolist():
            if node[k] < len(found):
                found[node[k]].append((float(t_s[k]), *place[k].tolist()))
        return ways_in_metres(
            rows.text, found, start_m, self.start_s, words, (t_s.min(), t_s.max())
        )

    @staticmethod
    def _places(rows: Columns) -> tuple[NDArray[np.float64], list[str]]:
        """Places in m, (n, 2), and as they are written if they may be degrees."""
        small = {name.lower(): name for name in rows.names}
        lat = [small[name] for name in _LATITUDES if name in small]
        lon = [small[name] for name in _LONGITUDES if name in small]
        if lat and lon:
            if any(name.startswith(("x", "y")) and name[1:2] in ("", "_") for name in small):
                raise rows.text.error(
                    f"has {lat[0]} and {lon[0]}, and x or y, too; take out what is not meant"
                )
            return project_to_plane(rows.text, rows.numbers(lat[0]), rows.numbers(lon[0])), []
        axes = [rows.find("x_m", METRES), rows.find("y_m", METRES)]
        place = np.stack([rows.numbers(axis) * rows.factor(axis, METRES) for axis in axes], axis=1)
        words = [word for pair in zip(*map(rows.texts, axes), strict=True) for word in pair]
        return place, words
