"""Radios between the nodes, wires to the servers: a backhaul beside the air."""

from __future__ import annotations

from collections.abc import Sequence

from netsim.devices.energy.meter import Meter
from netsim.links.link import Link, Transmission
from netsim.traces.contacts import Meetings


class Mixed(Link):
    """What goes to or comes from a server goes over wires, all else over the air.

    The two do not wait for each other: a node's radio and its wire work at the same time. A sender
    is told what became of its message if both would tell it.

    Parameters
    ----------
    air, wires : Link
    servers : frozenset of int
    """

    broadcast_acknowledged = False

    def __init__(self, air: Link, wires: Link, servers: frozenset[int]) -> None:
        self._air, self._wires, self._servers = air, wires, servers
        self.env, self.recorder = air.env, air.recorder
        self.acknowledged = air.acknowledged and wires.acknowledged
        self.control_bits = air.control_bits
        self.discovery, self.probe_window_s = air.discovery, air.probe_window_s
        self.off = wires.off = air.off
        self.bits_sent = wires.bits_sent = air.bits_sent

    @property
    def in_flight(self) -> int:  # type: ignore[override]
        """Transmissions of both that have not ended."""
        return self._air.in_flight + self._wires.in_flight

    @property
    def meter(self) -> Meter:
        """What counts the energy of both."""
        return self._air.meter

    @meter.setter
    def meter(self, meter: Meter) -> None:
        self._air.meter = self._wires.meter = meter

    def _is_wired(self, tx: Transmission) -> bool:
        return tx.src in self._servers or tx.dst in self._servers

    def unicast(self, tx: Transmission) -> None:
        (self._wires if self._is_wired(tx) else self._air).unicast(tx)

    def unicasts(self, group: Sequence[Transmission]) -> None:
        for link, part in self._parts(group):
            link.unicasts(part)

    def broadcast(self, group: Sequence[Transmission]) -> None:
        for link, part in self._parts(group):
            link.broadcast(part)

    def _parts(self, group: Sequence[Transmission]) -> list[tuple[Link, list[Transmission]]]:
        wired = [tx for tx in group if self._is_wired(tx)]
        free = [tx for tx in group if not self._is_wired(tx)]
        return [(link, part) for link, part in ((self._wires, wired), (self._air, free)) if part]

    def in_reach(self, src: int, others: Sequence[int]) -> list[int]:
        if src in self._servers:
            return self._wires.in_reach(src, others)
        apart = [j for j in others if j not in self._servers]
        heard = set(self._air.in_reach(src, apart) if apart else ())
        return [j for j in others if j in heard or j in self._servers]

    def switched(self, node: int, on: bool) -> None:
        self._air.switched(node, on)
        self._wires.switched(node, on)

    def meet(self, meetings: Meetings | None) -> None:
        super().meet(meetings)
        self._air.meet(meetings)
        self._wires.meet(meetings)
