"""A networkx graph of the user's own as a kind of topology."""

from typing import Any, ClassVar, Literal

import networkx as nx
from pydantic import create_model

from netsim.errors import ScenarioError
from netsim.topology import Site, Topology


class OwnGraph(Topology):
    """A graph that was given as a Python object."""

    kind: str
    peers: ClassVar[list[tuple[int, ...]]]

    def neighbours(self, site: Site) -> list[tuple[int, ...]]:
        """The neighbours of every node; see the base class."""
        peers = type(self).peers
        if len(peers) != site.nodes:
            raise ScenarioError(
                f'[topology] kind = "{self.kind}": the graph has {len(peers)} nodes, [nodes] count '
                f"= {site.nodes}; set the count to {len(peers)}"
            )
        return list(peers)


def graph_kind(graph: nx.Graph, name: str) -> type[OwnGraph]:
    """A kind of topology.

    Parameters
    ----------
    graph : networkx.Graph
        Nodes 0 .. n-1 are those of the scenario; of other names the first is node 0 and so on.
        Directions, parallel links and links of a node to itself are left out.
    name : str
        Of the kind.
    """
    ids = list(graph.nodes)
    if set(ids) == set(range(len(ids))):
        ids.sort()
    number = {name: i for i, name in enumerate(ids)}
    found: list[set[int]] = [set() for _ in ids]
    for one, other in graph.edges():
        a, b = number[one], number[other]
        if a != b:
            found[a].add(b)
            found[b].add(a)
    kind: Any = (Literal[name], name)
    made: type[OwnGraph] = create_model(name, __base__=OwnGraph, kind=kind)
    made.peers = [tuple(sorted(peers)) for peers in found]
    return made
