"""A ring lattice: everybody may talk to those at given distances along the circle."""

from typing import Annotated, Literal

import networkx as nx
from pydantic import Field

from netsim.errors import ScenarioError
from netsim.registry import Count
from netsim.topology import Site, Topology, adjacency


class Circulant(Topology):
    """The circulant graph C_n(offsets): i is linked to i + o and i - o modulo n for every o.

    Offsets 1 .. k/2 give the k-regular lattice that Watts and Strogatz rewire.

    Parameters
    ----------
    offsets : tuple of int
        Distances along the circle to a node's neighbours, each in 1 .. n/2. Example: `[1, 2]`
    """

    kind: Literal["circulant"] = "circulant"
    offsets: Annotated[tuple[Count, ...], Field(min_length=1)] = (1, 2)

    def neighbours(self, site: Site) -> list[tuple[int, ...]]:
        """The neighbours of every node; see the base class."""
        nodes = site.nodes
        for offset in self.offsets:
            if offset > nodes // 2:
                raise ScenarioError(
                    f"[topology] offsets: {offset} is more than half way around {nodes} nodes; "
                    f"take 1 to {nodes // 2}"
                )
        return adjacency(nx.circulant_graph(nodes, list(self.offsets)), nodes)
