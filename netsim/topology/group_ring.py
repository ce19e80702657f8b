"""A ring on which everybody may talk to the nearest nodes on both sides: L2C's "group-ring"."""

from typing import Annotated, Literal

import networkx as nx
from pydantic import Field

from netsim.errors import ScenarioError
from netsim.topology import Site, Topology, adjacency


class GroupRing(Topology):
    """Nodes i and j are linked if they are at most `links` / 2 places apart on the ring.

    Source: Li, Zhou, Tian, Tao, CVPR 2022, among the sparse topologies of their baselines:
    |i - j| <= (K - K_0) / 2 or K - |i - j| <= (K - K_0) / 2 of K nodes, K - K_0 = 10 of 100.

    Parameters
    ----------
    links : int
        Neighbours of each node; even.
    """

    kind: Literal["group_ring"] = "group_ring"
    links: Annotated[int, Field(ge=2, multiple_of=2)] = 10

    def neighbours(self, site: Site) -> list[tuple[int, ...]]:
        """The neighbours of every node; see the base class."""
        nodes = site.nodes
        if self.links >= nodes:
            raise ScenarioError(
                f"[topology] links = {self.links}: a node of {nodes} has at most {nodes - 1} others"
            )
        return adjacency(nx.circulant_graph(nodes, range(1, self.links // 2 + 1)), nodes)
