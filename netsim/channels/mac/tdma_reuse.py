"""Time division with spatial reuse: nodes that are far enough apart share a slot.

Nelson and Kleinrock, "Spatial TDMA: A Collision-Free Multihop Channel Access Protocol", IEEE Trans.
Commun. 33(9), 1985; as a colouring, Ramanathan, "A Unified Framework and Algorithm for Channel
Assignment in Wireless Networks", Wireless Networks 5, 1999. With G the graph of the pairs up to
`interference_m` apart and d_G its distance in hops,

    slot(i) != slot(j)   wherever   1 <= d_G(i, j) <= `hops`,

so that with two hops no sender has another one, or a neighbour that sends, at its receiver. The
frame has as many slots as colours; a node sends in one of them, at 1 / colours of the rate. Colours
are found greedily, the node with most colours around it first (Brelaz, "New Methods to Color the
Vertices of a Graph", Commun. ACM 22(4), 1979): on a line or ring that needs two-hop distances at
least 3, on a square grid at least 5, where all hear each other one each.

Senders farther away also count: those that send in the same slot interfere, and the SINR of a
packet is that of `shared`. So does a receiver's own sending, at the path loss of the shortest
distance. Slots are given once, by the places at the start: nodes that move keep them.
"""

from collections.abc import Callable, Sequence
from typing import ClassVar, Literal

import networkx as nx

from netsim.channels.mac.tdma import Tdma
from netsim.registry import Count, Positive


class TdmaReuse(Tdma):
    """As `tdma`, with a slot for every colour instead of every node.

    Attributes
    ----------
    slot_s : float
        Length of a slot [s].
    slots : int or None
        Number of slots of a frame, at least one for each colour. Absent: the number of colours.
    interference_m : float
        Distance up to which a sender disturbs, the edge of the graph that is coloured [m].
    hops : int
        Greatest distance in hops of nodes that may not share a slot.
    """

    kind: Literal["tdma_reuse"] = "tdma_reuse"  # type: ignore[assignment]
    interferes: ClassVar[bool] = True
    range_key: ClassVar[str] = "interference_m"
    interference_m: Positive
    hops: Count = 2

    @property
    def one_channel(self) -> bool:
        """False: a node knows whose slot it is, and listens in that of its sender only."""
        return False

    @property
    def range_m(self) -> float:
        return self.interference_m

    def slot_of_each(
        self, nodes: int, distance_m: Callable[[int, int, int], float] | None
    ) -> Sequence[int]:
        if distance_m is None:
            return range(nodes)
        graph = nx.empty_graph(nodes)
        for i in range(nodes):
            for j in range(i):
                if distance_m(i, j, 0) <= self.interference_m:
                    graph.add_edge(j, i)
        return colours(graph, self.hops)


def colours(graph: nx.Graph, hops: int) -> list[int]:
    """A colour for each of the nodes 0, 1, ..., no two alike up to `hops` apart; node 0 has 0."""
    apart = nx.power(graph, hops) if hops > 1 else graph
    ordered = nx.empty_graph(len(graph))
    ordered.add_edges_from(sorted(tuple(sorted(edge)) for edge in apart.edges))
    found = nx.greedy_color(ordered, strategy="DSATUR")
    first = dict.fromkeys(found[node] for node in range(len(graph)))
    number = {colour: k for k, colour in enumerate(first)}
    return [number[found[node]] for node in range(len(graph))]
