"""A random geometric graph: nodes whose places are near each other are linked."""

from typing import ClassVar, Literal

import networkx as nx
import numpy as np
import scipy

from netsim.errors import ScenarioError
from netsim.registry import Positive
from netsim.topology import Site, Topology, adjacency


class Geometric(Topology):
    """All pairs that start within a radius of each other (Gilbert, 1961).

    Parameters
    ----------
    radius_m : float, optional
        Distance within which nodes are linked. Absent: the range of the radio, beyond which almost
        nothing is delivered.
    wrap_m : float, optional
        Side of a square whose opposite edges touch (a torus), for distances without borders;
        positions are taken modulo it. Absent: the plane has no edges. Source: Penrose, Random
        Geometric Graphs, 2003.

    Distances are those in space where nodes have heights.
    """

    kind: Literal["geometric"] = "geometric"
    radius_m: Positive | None = None
    wrap_m: Positive | None = None

    reads_places: ClassVar[bool] = True

    def neighbours(self, site: Site) -> list[tuple[int, ...]]:
        """The neighbours of every node; see the base class."""
        places, radius_m = site.positions_m, self.radius_m or site.range_m
        if places is None:
            raise ScenarioError(
                '[topology] kind = "geometric": needs places; set [nodes] placement = "disc", '
                '"square" or "given"'
            )
        if radius_m is None:
            raise ScenarioError(
                '[topology] kind = "geometric": without a [radio], or where path_loss '
                "states every pair, there is no range; set radius_m"
            )
        box_m = None
        if self.wrap_m is not None:
            places, box_m = places % self.wrap_m, [self.wrap_m, self.wrap_m, 0.0]  # 0: no end
        if site.heights_m:
            places = np.column_stack([places, site.heights_m])
        tree = scipy.spatial.cKDTree(places, boxsize=box_m and box_m[: places.shape[1]])
        graph = nx.empty_graph(site.nodes)
        graph.add_edges_from(tree.query_pairs(radius_m))
        return adjacency(graph, site.nodes)
