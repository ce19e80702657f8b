"""Every node may talk to the one before and the one after it."""

from typing import Literal

import networkx as nx

from netsim.topology import Site, Topology, adjacency


class Ring(Topology):
    """The cycle 0, 1, ..., n-1, 0."""

    kind: Literal["ring"] = "ring"

    def neighbours(self, site: Site) -> list[tuple[int, ...]]:
        """The neighbours of every node; see the base class."""
        nodes = site.nodes
        return adjacency(nx.cycle_graph(nodes), nodes)
