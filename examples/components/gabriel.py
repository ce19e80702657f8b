"""Gabriel graph: two nodes are linked unless a third one lies between them.

Source: Gabriel and Sokal, "A new statistical approach to geographic variation analysis", 1969: no
other node lies in the circle whose diameter is the line between the two.
"""

from typing import Literal

import numpy as np

from netsim.errors import ScenarioError
from netsim.topology import Site, Topology


class Gabriel(Topology):
    """A planar, connected graph of short links; nodes need places."""

    kind: Literal["gabriel"] = "gabriel"

    def neighbours(self, site: Site) -> list[tuple[int, ...]]:
        """J is a neighbour of i where |ij|^2 <= |ik|^2 + |jk|^2 for every other k."""
        if site.positions_m is None:
            raise ScenarioError(
                '[topology] kind = "gabriel": needs nodes with places; write [nodes] placement = '
                '"disc"'
            )
        offsets = site.positions_m[:, None] - site.positions_m
        square = (offsets**2).sum(axis=2)
        reached = square[:, :, None] <= square[:, None, :] + square[None, :, :]
        linked = reached.all(axis=2) & ~np.eye(site.nodes, dtype=bool)
        return [tuple(np.flatnonzero(row).tolist()) for row in linked]
