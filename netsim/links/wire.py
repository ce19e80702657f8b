"""Wired, fixed and ideal links: a FIFO a direction, with rate, latency and loss.

Serialisation occupies the direction, propagation does not: the next message may start while the
last one is still on its way.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from netsim.channels.arq import Segment
from netsim.clock import Clock
from netsim.links.link import DEADLINE, DELIVERED, PARTIAL, RETRIES, Link, Transmission
from netsim.registry import Count, Fraction, NonNegative, Positive, Table, choice
from netsim.results.log import Recorder
from netsim.rng import Streams
from netsim.units import to_ns

if TYPE_CHECKING:
    from netsim.channels.arq import Arq


class Wire(Table):
    """A link between every two peers; the defaults are the ideal network.

    `loss` is the probability that a packet is lost; `packet_payload_bytes` cuts messages into
    packets (absent: a message is one packet); `arq` says what happens to lost packets.
    """

    latency_s: NonNegative = 0.0
    rate_bps: Positive | None = None
    loss: Fraction = 0.0
    packet_payload_bytes: Count | None = None
    ttl_s: Positive | None = None
    acknowledged: bool = True
    control_bits: Count = 256
    arq: choice("netsim.channels.arq") = {"kind": "none"}  # type: ignore[valid-type]


class WiredLink(Link):
    """`Wire` at work."""

    def __init__(
        self,
        wire: Wire,
        nodes: int,
        env: Clock,
        recorder: Recorder,
        streams: Streams,
    ) -> None:
        super().__init__(env, recorder, nodes, to_ns(wire.ttl_s) if wire.ttl_s else None)
        self.acknowledged = wire.acknowledged
        self.broadcast_acknowledged = True
        self.control_bits = wire.control_bits
        self._wire = wire
        self._arq: Arq = wire.arq
        self._streams = streams
        self._latency_ns = to_ns(wire.latency_s)
        self._free_ns: dict[tuple[int, int], int] = {}
        self._serial: dict[tuple[int, int], int] = {}

    def in_reach(self, src: int, others: Sequence[int]) -> list[int]:
        return list(others)

    def broadcast(self, group: Sequence[Transmission]) -> None:
        for tx in group:
            self.unicast(tx)

    def unicast(self, tx: Transmission) -> None:
        self.in_flight += 1
        wire, pair, now = self._wire, (tx.src, tx.dst), self.env.now
        packets, attempts, lost, arrived, complete = 1, 1, 0, None, True
        if wire.packet_payload_bytes is not None:
            packets = -(-tx.bits // (8 * wire.packet_payload_bytes))
            attempts = packets
        if wire.loss > 0.0:
            partial = tx.message.accepts_partial
            serial = self._serial[pair] = self._serial.get(pair, 0) + 1
            rng = self._streams.lazy_generator("loss", *pair, serial)
            transfer = self._arq.transfer(rng, packets, [Segment(None, wire.loss)], partial)
            attempts, lost, complete = sum(transfer.attempts), transfer.lost, transfer.complete
            arrived = transfer.arrived if not complete and transfer.delivered else None
        queued_ns = 0
        busy_ns = 0
        if wire.rate_bps is not None:
            queued_ns = max(0, self._free_ns.get(pair, 0) - now)
            longest_ns = self.longest_wait_ns(tx)
            if longest_ns is not None and 0 < queued_ns >= longest_ns:
                self.env.after(longest_ns, lambda: self.finish(tx, DEADLINE, attempts=0))
                return
            busy_ns = to_ns(tx.bits / wire.rate_bps * attempts / packets)
        wait_ns = queued_ns + busy_ns + self._latency_ns
        outcome = DELIVERED if complete else PARTIAL if arrived is not None else RETRIES
        if self.ttl_ns is not None and wait_ns > self.ttl_ns:
            busy_ns = min(busy_ns, self.ttl_ns - queued_ns)
            wait_ns, outcome, arrived = self.ttl_ns, DEADLINE, None
        self._free_ns[pair] = now + queued_ns + busy_ns
        self.recorder.airtime_ns += busy_ns
        self.env.after(wait_ns, lambda: self.finish(tx, outcome, attempts, lost, None, arrived))
