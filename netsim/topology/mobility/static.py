"""Nodes do not move."""

from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from netsim.rng import Streams
from netsim.topology.mobility import Mobility, Track


class Static(Mobility):
    """No node moves."""

    kind: Literal["static"] = "static"

    def track(
        self, start_m: NDArray[np.float64], radius_m: float, streams: Streams, folder: Path | None
    ) -> Track | None:
        return None
