"""Neighbours of nodes; one topology a file, its name is its `kind` in a scenario."""

from abc import abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, NamedTuple

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from netsim.errors import ScenarioError
from netsim.registry import Component
from netsim.rng import Streams
from netsim.topology.mobility import Track
from netsim.traces.contacts import Meetings
from netsim.units import FOREVER_NS


@dataclass(frozen=True, eq=False)
class Site:
    """Positions and roles over which a topology is drawn.

    Attributes
    ----------
    nodes : int
        At least 1.
    streams : Streams
        The only randomness.
    positions_m : (N, 2) or (N, 3) array or None
        Where the nodes start; None where links have no places.
    range_m : float or None
        Distance beyond which hardly anything is ever delivered; None without a radio or places.
    folder : Path or None
        Where files that a topology names lie, unless they lie where it says.
    servers : frozenset of int
        Nodes of that role.
    heights_m : tuple of float
        Of each node; empty: distances are those along the ground.
    track : Track or None
        How nodes move; None: nobody does.
    horizon_ns : int
        When the run ends.
    """

    nodes: int
    streams: Streams
    positions_m: NDArray[np.float64] | None = None
    range_m: float | None = None
    folder: Path | None = None
    servers: frozenset[int] = frozenset()
    heights_m: tuple[float, ...] = ()
    track: Track | None = None
    horizon_ns: int = FOREVER_NS


class StatedWire(NamedTuple):
    """Rate and latency that a topology gives the wire between two nodes; None: those of `[link]`.

    Attributes
    ----------
    rate_bps, latency_s : float or None
    """

    rate_bps: float | None
    latency_s: float | None


class Topology(Component):
    """Base of the topologies: undirected graphs over the nodes 0 .. n-1.

    Attributes
    ----------
    reads_places : bool
        Whether it goes by where nodes start; one of the user's own that says nothing may.
    """

    reads_places: ClassVar[bool | None] = None

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

    def wires(self) -> Mapping[tuple[int, int], StatedWire]:
        """The wires, by (from, to), that the topology says more of than that they are there."""
        return {}

    def meetings(self, site: Site) -> Meetings | None:
        """Return the contact times of each pair of neighbours; None: always in contact."""
        return None


def component_sizes(
    neighbours: Sequence[Sequence[int]], left_out: Collection[int] = ()
) -> list[int]:
    """Return the sizes of connected components, largest first; some nodes are not counted."""
    seen = set(left_out)
    sizes = []
    for start in range(len(neighbours)):
        if len(seen) == len(neighbours):
            break
        if start in seen:
            continue
        seen.add(start)
        reached = [start]
        for i in reached:
            if len(seen) == len(neighbours):  # of a dense graph not every link need be looked at
                break
            fresh = [j for j in neighbours[i] if j not in seen]
            seen.update(fresh)
            reached += fresh
        sizes.append(len(reached))
    return sorted(sizes, reverse=True)


MOST_LINKS = 5_000_000
"""Of a graph that networkx draws: each takes about 400 bytes while it does."""


def link_probability(probability: float) -> float:
    """A probability of links; 0 for one so small that no float tells 1 minus it from 1."""
    return probability if 1.0 - probability < 1.0 else 0.0


def require_few_links(kind: str, links: float, remedy: str) -> None:
    """Raise ScenarioError if a random graph would have more links than fit into memory.

    Parameters
    ----------
    kind : str
        The topology's.
    links : float
        How many are expected.
    remedy : str
    """
    if links > MOST_LINKS:
        raise ScenarioError(
            f'[topology] kind = "{kind}": {links:,.0f} links are expected, at most {MOST_LINKS:,} '
            f"are possible; {remedy}"
        )


def adjacency(graph: nx.Graph, nodes: int) -> list[tuple[int, ...]]:
    """The neighbours of every node of a graph, as `Topology.neighbours` returns them."""
    return [tuple(sorted(j for j in graph[i] if j != i)) for i in range(nodes)]
