"""Communities: pairs within a block are linked more often than pairs across blocks."""

from typing import Annotated, Literal

import networkx as nx
from pydantic import Field

from netsim.errors import ScenarioError
from netsim.registry import Fraction
from netsim.topology import Site, Topology, adjacency, link_probability, require_few_links


class StochasticBlock(Topology):
    """The planted-partition model (Holland et al., Social Networks 5, 1983).

    Blocks are runs of ids as equal in size as can be, larger ones first.

    Parameters
    ----------
    blocks : int
        Number of blocks.
    within : float
        Probability of a link inside a block.
    between : float
        Probability of a link across blocks.
    """

    kind: Literal["stochastic_block"] = "stochastic_block"
    blocks: Annotated[int, Field(ge=1, le=1000)] = 2
    within: Fraction = 0.5
    between: Fraction = 0.05

    def neighbours(self, site: Site) -> list[tuple[int, ...]]:
        """The neighbours of every node; see the base class."""
        nodes = site.nodes
        if self.blocks > nodes:
            raise ScenarioError(
                f"[topology] blocks = {self.blocks}: there are only {nodes} nodes to put into them"
            )
        small, larger = divmod(nodes, self.blocks)
        sizes = [small + (block < larger) for block in range(self.blocks)]
        chances = [
            [link_probability(self.within if i == j else self.between) for j in range(self.blocks)]
            for i in range(self.blocks)
        ]
        inside = sum(size * (size - 1) / 2 for size in sizes)
        links = self.within * inside + self.between * (nodes * (nodes - 1) / 2 - inside)
        require_few_links(self.kind, links, "lower within, between or nodes.count")
        seed = site.streams.key("topology/stochastic_block")
        graph = nx.stochastic_block_model(sizes, chances, seed=seed, sparse=True)
        return adjacency(graph, nodes)
