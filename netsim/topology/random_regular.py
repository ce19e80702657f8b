"""A random graph in which every node has the same number of neighbours."""

from typing import Literal

import networkx as nx

from netsim.errors import ScenarioError
from netsim.registry import Count
from netsim.topology import Site, Topology, adjacency, require_few_links


class RandomRegular(Topology):
    """A random regular graph; not guaranteed to be connected.

    Parameters
    ----------
    degree : int
        Number of neighbours of each node.
    """

    kind: Literal["random_regular"] = "random_regular"
    degree: Count

    def neighbours(self, site: Site) -> list[tuple[int, ...]]:
        """The neighbours of every node; see the base class."""
        nodes = site.nodes
        if self.degree >= nodes or nodes * self.degree % 2:
            raise ScenarioError(
                f"[topology] degree = {self.degree}: no such graph has {nodes} nodes; the degree "
                "must be under the number of nodes, and one of the two even"
            )
        require_few_links(self.kind, self.degree * nodes / 2, "lower degree or nodes.count")
        seed = site.streams.key("topology/random_regular")
        return adjacency(nx.random_regular_graph(self.degree, nodes, seed=seed), nodes)
