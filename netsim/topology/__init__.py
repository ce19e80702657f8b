"""Who may talk to whom; one topology a file, its name is its `kind` in a scenario."""

from abc import abstractmethod
from dataclasses import dataclass

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from netsim.registry import Component
from netsim.rng import Streams


@dataclass(frozen=True, eq=False)
class Site:
    """What a topology is drawn over.

    Attributes
    ----------
    nodes : int
        At least 1.
    streams : Streams
        The only randomness.
    positions_m : (N, 2) array or None
        Where the nodes start; None where links have no places.
    range_m : float or None
        Distance beyond which hardly anything is ever delivered; None without a radio or places.
    """

    nodes: int
    streams: Streams
    positions_m: NDArray[np.float64] | None = None
    range_m: float | None = None


class Topology(Component):
    """Base of the topologies: undirected graphs over the nodes 0 .. n-1."""

    @abstractmethod
    def neighbours(self, site: Site) -> list[tuple[int, ...]]:
        """The neighbours of every node.

        Parameters
        ----------
        site : Site

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
