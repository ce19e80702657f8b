"""Radios between the nodes, wires to the servers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from netsim.links.link import Link, Transmission
from netsim.messaging.message import size_bits


class HybridLink(Link):
    """Link that sends messages to or from a server over wires, all others over the air.

    The two do not wait for each other: a node's radio and its wire work at the same time. The
    link that carries a message has the size of empty ones and says what senders learn.

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
        """Read anew the properties of the radio, which hold between peers; after it has changed."""
        radio = self.radio
        self.acknowledged, self.control_bits = radio.acknowledged, radio.control_bits
        self.broadcast_acknowledged = radio.broadcast_acknowledged
        self.discovery, self.probe_window_s = radio.discovery, radio.probe_window_s

    has_parts = True

    def between(self, src: int, dst: int) -> Link:
        return self.wires if src in self._servers or dst in self._servers else self.radio

    @property
    def in_flight(self) -> int:
        return self.radio.in_flight + self.wires.in_flight

    def bits_transmitted_by(self, node: int) -> int:
        return self.radio.bits_transmitted_by(node) + self.wires.bits_transmitted_by(node)

    def airtime_ahead_ns(self, now_ns: int) -> int:
        return self.radio.airtime_ahead_ns(now_ns) + self.wires.airtime_ahead_ns(now_ns)

    def unicast(self, tx: Transmission) -> None:
        ((link, _),) = self._by_link((tx,))
        link.unicast(tx)

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
        return self.between(src, dst).csi(src, dst)

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

    def _by_link(self, group: Sequence[Transmission]) -> list[tuple[Link, list[Transmission]]]:
        """The transmissions that go over each link; a link without any is left out.

        An empty message has on the wires the size that they give it.
        """
        parts: dict[Link, list[Transmission]] = {self.wires: [], self.radio: []}
        for tx in group:
            parts[self.between(tx.src, tx.dst)].append(tx)
        bits = self.wires.control_bits
        for tx in parts[self.wires]:
            if bits != self.control_bits and not size_bits(tx.envelope.message, 1, 0):
                tx.envelope = replace(tx.envelope, bits=bits)
        return [(link, part) for link, part in parts.items() if part]
