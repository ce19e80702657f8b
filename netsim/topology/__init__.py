"""Who may talk to whom; one topology a file, its name is its `kind` in a scenario."""

from abc import abstractmethod

import networkx as nx

from netsim.registry import Component
from netsim.rng import Streams


class Topology(Component):
    """Base of the topologies: undirected graphs over the nodes 0 .. n-1."""

    @abstractmethod
    def neighbours(self, nodes: int, streams: Streams) -> list[tuple[int, ...]]:
        """The neighbours of every node.

        Parameters
        ----------
        nodes : int
            At least 1.
        streams : Streams
            The only randomness.

        Returns
        -------
        list of tuple of int
            Entry i holds the neighbours of node i in ascending order, without i; j is in entry i
            if and only if i is in entry j.

        Raises
        ------
        ScenarioError
            If there is no such graph with so many nodes.
        """


def adjacency(graph: nx.Graph, nodes: int) -> list[tuple[int, ...]]:
    """The neighbours of every node of a graph, as `Topology.neighbours` returns them."""
    return [tuple(sorted(j for j in graph[i] if j != i)) for i in range(nodes)]
