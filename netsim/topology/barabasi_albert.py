"""A scale-free graph: new nodes prefer neighbours that have many links."""

from typing import Literal

import networkx as nx

from netsim.errors import ScenarioError
from netsim.registry import Count
from netsim.topology import Site, Topology, adjacency, require_few_links


class BarabasiAlbert(Topology):
    """Preferential attachment (Barabasi and Albert, Science 286, 1999); connected.

    Parameters
    ----------
    links : int
        Number of links of each new node, under the number of nodes.
    """

    kind: Literal["barabasi_albert"] = "barabasi_albert"
    links: Count = 2

    def neighbours(self, site: Site) -> list[tuple[int, ...]]:
        """The neighbours of every node; see the base class."""
        nodes = site.nodes
        if self.links >= nodes:
            raise ScenarioError(
                f"[topology] links = {self.links}: must be under the number of nodes, {nodes}"
            )
        require_few_links(self.kind, self.links * nodes, "lower links or nodes.count")
        seed = site.streams.key("topology/barabasi_albert")
        return adjacency(nx.barabasi_albert_graph(nodes, self.links, seed=seed), nodes)
