"""Peers of a node: its neighbours for good, its peers now, and those in reach."""

from collections.abc import Callable, Sequence

import simpy

from netsim.clock import Clock
from netsim.links.link import Link
from netsim.traces.contacts import Meetings


class Neighbourhood:
    """The other nodes, as one node sees them.

    Parameters
    ----------
    node_id : int
    clock : Clock
    neighbours : tuple of int
        In the topology, ascending; those that take no part are left out.
    servers : tuple of int
        Those of them whose role is `server`.
    far_servers : tuple of int
        Nodes of role `server` that are no neighbours.
    meetings : Meetings or None
        The contact trace, if contacts come and go.
    left_out : frozenset of int
        Nodes that take no part in the algorithm.
    link : Link
        Knows who is in reach.
    probe : callable
        (peers, window_s) -> event, for links on which a node has to ask who is there.

    Attributes
    ----------
    has_asked : bool
        Whether the node has ever asked whom it reaches.
    """

    def __init__(
        self,
        node_id: int,
        clock: Clock,
        neighbours: tuple[int, ...],
        servers: tuple[int, ...],
        far_servers: tuple[int, ...],
        meetings: Meetings | None,
        left_out: frozenset[int],
        link: Link,
        probe: Callable[[Sequence[int], float], simpy.Event],
    ) -> None:
        self._id, self._clock = node_id, clock
        self.neighbours, self.servers, self.far_servers = neighbours, servers, far_servers
        self._meetings, self._left_out = meetings, left_out
        self._link, self._probe = link, probe
        self.has_asked = False

    def peers(self) -> tuple[int, ...]:
        """See `Node.peers`."""
        if self._meetings is None:
            return self.neighbours
        met = self._meetings.peers(self._id, self._clock.now)
        return tuple(j for j in met if j not in self._left_out)

    def reachable(self) -> simpy.Event:
        """See `Node.reachable`."""
        self.has_asked = True
        link, peers = self._link, self.peers()
        if link.discovery == "probe":
            return self._probe(peers, link.probe_window_s)
        on = [j for j in peers if j not in link.off] if link.off else peers
        return self._clock.triggered_event(link.in_reach(self._id, on) if on else [])
