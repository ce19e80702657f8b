"""A rectangular grid: everybody may talk to those above, below, left and right."""

from typing import Literal

import networkx as nx

from netsim.registry import Count
from netsim.topology import Site, Topology, adjacency
from netsim.topology._rectangle import rectangle


class Grid(Topology):
    """The two-dimensional lattice with borders; node r * columns + c stands in row r, column c.

    Parameters
    ----------
    rows : int, optional
        Rows of the grid; their number divides that of the nodes. Absent: the divisor that makes the
        grid most square.
    """

    kind: Literal["grid"] = "grid"
    rows: Count | None = None

    def neighbours(self, site: Site) -> list[tuple[int, ...]]:
        """The neighbours of every node; see the base class."""
        rows, columns = rectangle(self.rows, site.nodes)
        graph = nx.convert_node_labels_to_integers(nx.grid_2d_graph(rows, columns))
        return adjacency(graph, site.nodes)
