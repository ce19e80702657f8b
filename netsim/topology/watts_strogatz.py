"""A small world: a ring lattice some of whose links are rewired at random."""

from typing import Literal

import networkx as nx

from netsim.errors import ScenarioError
from netsim.registry import Count, Fraction
from netsim.topology import Site, Topology, adjacency, require_few_links


class WattsStrogatz(Topology):
    """The Watts-Strogatz graph (Nature 393, 1998); not guaranteed to be connected.

    Parameters
    ----------
    degree : int
        Neighbours of each node before rewiring, an even number.
    rewiring : float
        Probability that a link's far end is moved to a random node.
    """

    kind: Literal["watts_strogatz"] = "watts_strogatz"
    degree: Count = 4
    rewiring: Fraction = 0.1

    def neighbours(self, site: Site) -> list[tuple[int, ...]]:
        """The neighbours of every node; see the base class."""
        nodes = site.nodes
        if self.degree % 2 or self.degree >= nodes:
            raise ScenarioError(
                f"[topology] degree = {self.degree}: must be even and under the number of nodes, "
                f"{nodes}: half of it goes to either side of the ring"
            )
        require_few_links(self.kind, self.degree * nodes / 2, "lower degree or nodes.count")
        seed = site.streams.key("topology/watts_strogatz")
        graph = nx.watts_strogatz_graph(nodes, self.degree, self.rewiring, seed=seed)
        return adjacency(graph, nodes)
