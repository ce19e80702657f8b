"""L2C's bipartite graph: links between two random halves of the nodes."""

from typing import Literal

from netsim.errors import ScenarioError
from netsim.registry import Count
from netsim.topology import Site, Topology


class Bipartite(Topology):
    """A random regular bipartite graph: links lead from one half of the nodes to the other.

    Source: Li, Zhou, Tian, Tao, CVPR 2022, among the sparse topologies of their baselines: two
    random halves of 100 nodes, 10 random links each. Reading: every node has exactly so many. The
    halves are in random orders, and the node at place a of one is linked to those at the places
    a + o of the other, modulo its length, for `links` random offsets o.

    Parameters
    ----------
    links : int
        Number of neighbours of each node.
    """

    kind: Literal["bipartite"] = "bipartite"
    links: Count = 10

    def neighbours(self, site: Site) -> list[tuple[int, ...]]:
        """The neighbours of every node; see the base class."""
        nodes, half = site.nodes, site.nodes // 2
        if nodes % 2 or self.links > half:
            raise ScenarioError(
                f'[topology] kind = "bipartite": {nodes} nodes with {self.links} links each; there '
                "must be an even number of nodes, and at most half as many links"
            )
        order = [int(i) for i in site.streams.permutation("topology/bipartite", n=nodes)]
        offsets = site.streams.permutation("topology/bipartite/offsets", n=half)[: self.links]
        found: list[list[int]] = [[] for _ in range(nodes)]
        for a in range(half):
            for offset in offsets:
                i, j = order[a], order[half + (a + int(offset)) % half]
                found[i].append(j)
                found[j].append(i)
        return [tuple(sorted(peers)) for peers in found]
