"""Floating car data of SUMO: XML written by `sumo --fcd-output`, or its CSV.

    <fcd-export><timestep time="0.00"><vehicle id="a" x="8.2" y="4.1" .../></timestep>...

Vehicles and persons become nodes 0, 1, ... in order of appearance. Between two time steps they go
straight. Before it appears a vehicle stands where it will appear, and after it has left where it
was last; `[churn] kind = "sumo"` with the same file switches its node off meanwhile. Times are
seconds or H:M:S. Places are in m; longitude and latitude, as `--fcd-output.geo` writes, become
metres on a plane around their middle, with errors of distances below 0.1 % within 500 km of it.
"""

from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from netsim.registry import FilePath
from netsim.rng import Streams
from netsim.topology.mobility import Mobility, Track
from netsim.topology.mobility._from_file import Start, straight_ways
from netsim.traces.sumo_fcd import read_fcd


class Sumo(Mobility):
    """Nodes as SUMO's vehicles and persons drive and walk.

    Vehicles beyond the last node are not used; nodes beyond the last vehicle stay where they are
    placed.

    Attributes
    ----------
    path : str
        File that `sumo --fcd-output` has written, or `xml2csv.py` made of it (`.csv`); `.gz` is
        unpacked.
    start_s : float, optional
        Time of the file at which the run starts; earlier time steps are not used. Absent: that of
        its first time step.
    geo : bool, optional
        Whether places are longitude and latitude. Absent: as the comment at the head of the XML
        says; a table without one is refused if its places look like degrees.
    """

    kind: Literal["sumo"] = "sumo"
    path: FilePath
    start_s: Start = None
    geo: bool | None = None

    def track(
        self, start_m: NDArray[np.float64], radius_m: float, streams: Streams, folder: Path | None
    ) -> Track | None:
        found = read_fcd(self.path, folder, "mobility", len(start_m), self.start_s, self.geo)
        return straight_ways([mover.legs for mover in found.movers], start_m, found.where)
