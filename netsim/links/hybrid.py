"""Radios between the nodes, wires to the servers."""

from __future__ import annotations

from collections.abc import Sequence

from netsim.links.link import Link, Transmission


class HybridLink(Link):
    """Link that sends messages to or from a server over wires, all others over the air.

    The two do not wait for each other: a node's radio and its wire work at the same time. A sender
    learns the outcome of its message only if it would on both.

    Parameters
    ----------
    radio, wires : Link
        Both with the same `off`.
    servers : frozenset of int
        Ids of the nodes that are servers.
    """

    def __init__(self, radio: Link, wires: Link, servers: frozenset[int]) -> None:
        self.radio, self.wires, self._servers = radio, wires, servers
        self.off = radio.off
        self.refresh()

    def refresh(self) -> None:
        """Read anew what the two links say of themselves; after either has changed."""
        radio, wires = self.radio, self.wires
        self.acknowledged = radio.acknowledged and wires.acknowledged
        is_acknowledged = radio.broadcast_acknowledged and wires.broadcast_acknowledged
        self.broadcast_acknowledged, self.control_bits = is_acknowledged, radio.control_bits
        self.discovery, self.probe_window_s = radio.discovery, radio.probe_window_s

    @property
    def in_flight(self) -> int:
        return self.radio.in_flight + self.wires.in_flight

    def bits_transmitted_by(self, node: int) -> int:
        return self.radio.bits_transmitted_by(node) + self.wires.bits_transmitted_by(node)

    def airtime_ahead_ns(self, now_ns: int) -> int:
        return self.radio.airtime_ahead_ns(now_ns) + self.wires.airtime_ahead_ns(now_ns)

    def unicast(self, tx: Transmission) -> None:
        (self.wires if self._is_wired(tx) else self.radio).unicast(tx)

    def unicasts(self, group: Sequence[Transmission]) -> None:
        for link, part in self._by_link(group):
            link.unicasts(part)

    def broadcast(self, group: Sequence[Transmission]) -> None:
        for link, part in self._by_link(group):
            link.broadcast(part)

    def withdraw(self, src: int, kind: type) -> int:
        return self.radio.withdraw(src, kind) + self.wires.withdraw(src, kind)

    def waiting(self, src: int) -> int:
        return self.radio.waiting(src) + self.wires.waiting(src)

    def csi(self, src: int, dst: int) -> tuple[float, float]:
        wired = src in self._servers or dst in self._servers
        return (self.wires if wired else self.radio).csi(src, dst)

    def in_reach(self, src: int, others: Sequence[int]) -> list[int]:
        if src in self._servers:
            return self.wires.in_reach(src, others)
        peers = [j for j in others if j not in self._servers]
        heard = set(self.radio.in_reach(src, peers) if peers else ())
        return [j for j in others if j in heard or j in self._servers]

    def collection_s(self, senders: Sequence[int], dst: int, bits: int) -> float:
        wired = [j for j in senders if dst in self._servers or j in self._servers]
        unwired = [j for j in senders if j not in wired]
        return max(
            link.collection_s(some, dst, bits) if some else 0.0
            for link, some in ((self.wires, wired), (self.radio, unwired))
        )

    def on_switch(self, node: int, on: bool) -> None:
        self.radio.on_switch(node, on)
        self.wires.on_switch(node, on)

    def _is_wired(self, tx: Transmission) -> bool:
        return tx.src in self._servers or tx.dst in self._servers

    def _by_link(self, group: Sequence[Transmission]) -> list[tuple[Link, list[Transmission]]]:
        """The transmissions that go over each link; a link without any is left out."""
        wired = [tx for tx in group if self._is_wired(tx)]
        unwired = [tx for tx in group if not self._is_wired(tx)]
        return [(link, part) for link, part in ((self.wires, wired), (self.radio, unwired)) if part]
