"""A grid without borders: its first row and column are next to the last."""

from typing import Literal

import networkx as nx

from netsim.registry import Count
from netsim.topology import Site, Topology, adjacency
from netsim.topology._rectangle import rectangle


class Torus(Topology):
    """The periodic two-dimensional lattice; 4-regular from three rows and columns on.

    Parameters
    ----------
    rows : int, optional
        Rows of the torus; their number divides that of the nodes. Absent: the divisor that makes
        the torus most square.
    """

    kind: Literal["torus"] = "torus"
    rows: Count | None = None

    def neighbours(self, site: Site) -> list[tuple[int, ...]]:
        """The neighbours of every node; see the base class."""
        rows, columns = rectangle(self.rows, site.nodes)
        graph = nx.convert_node_labels_to_integers(nx.grid_2d_graph(rows, columns, periodic=True))
        return adjacency(graph, site.nodes)
