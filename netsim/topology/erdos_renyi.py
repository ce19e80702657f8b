"""A random graph in which every pair is linked with the same probability."""

from typing import Literal

import networkx as nx

from netsim.registry import Fraction
from netsim.topology import Site, Topology, adjacency, link_probability, require_few_links


class ErdosRenyi(Topology):
    """A binomial random graph; nodes without neighbours are possible.

    Parameters
    ----------
    probability : float
        Probability of each link.
    """

    kind: Literal["erdos_renyi"] = "erdos_renyi"
    probability: Fraction

    def neighbours(self, site: Site) -> list[tuple[int, ...]]:
        """The neighbours of every node; see the base class."""
        nodes = site.nodes
        links = self.probability * nodes * (nodes - 1) / 2
        require_few_links(self.kind, links, "lower probability or nodes.count")
        seed = site.streams.key("topology/erdos_renyi")
        # The fast generator takes time in proportion to nodes and links, not to pairs.
        graph = nx.fast_gnp_random_graph(nodes, link_probability(self.probability), seed=seed)
        return adjacency(graph, nodes)
