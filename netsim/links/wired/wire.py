"""Wired, fixed and ideal links: a FIFO a direction, with rate, latency and loss.

Serialisation occupies the direction, propagation does not: the next message may start while the
last one is still on its way.
"""

import math
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from typing import Annotated, Any, Literal, NamedTuple, Self

from pydantic import model_validator

from netsim.channels.arq import Arq
from netsim.channels.block import ChannelBlock
from netsim.channels.bursts import Bursts
from netsim.clock import Clock
from netsim.links.link import (
    DEADLINE,
    DELIVERED,
    PARTIAL,
    RETRIES,
    WITHDRAWN,
    Deliveries,
    PhysicalLink,
    Sending,
    Transmission,
    transmissions,
)
from netsim.links.wired.backbone import Backbone
from netsim.links.wired.bandwidth import BandwidthTrace
from netsim.links.wired.latencies import LatencyMatrix
from netsim.links.wired.slow_start import SlowStart
from netsim.recording.recorder import Recorder
from netsim.registry import (
    Bits,
    Count,
    Fraction,
    HeaderBytes,
    NonNegative,
    Plausible,
    Positive,
    Table,
    choice,
)
from netsim.rng import Streams
from netsim.traces.contacts import Meetings
from netsim.units import to_ns, to_s

Capacity = Annotated[Positive, Plausible(100.0, 1e13, "links are from 100 bit/s to Tbit/s")]


class Wire(Table):
    """A link between every two peers; the defaults are the ideal network.

    Attributes
    ----------
    latency_s
        Time on the way of every message, on top of what `latency_matrix` and `backbone` say.
    jitter_s
        Each message takes longer by a uniform draw from 0 to so much.
    rate_bps
        Rate of each ordered pair of nodes, a queue of its own. Absent: a message takes no time to
        send.
    uplink_bps
        Rate at which a node sends, shared by all its messages. Absent: no limit.
    downlink_bps
        Rate at which a node receives, shared by all its messages. Absent: no limit.
    sharing
        Sharing of messages on common lines: at max-min fair rates, or one after the other ("fifo").
        Source: Bertsekas and Gallager, Data Networks, 1992, 6.5.2.
    forwarding
        Passage of messages over several bottlenecks: packet by packet, the first ones already at
        the next while the last ones come (without `packet_payload_bytes` bit by bit), or "stored"
        as a whole at each.
    trace
        Measured rates of uplinks and downlinks over time. Absent: `uplink_bps` and `downlink_bps`
        hold all the time.
    backbone
        Routers and lines between the nodes. Absent: nothing but their uplinks and downlinks.
    latency_matrix
        Measured latencies between hosts, which the nodes stand for. Absent: `latency_s` alone.
    loss
        Probability that a packet is lost.
    bursts
        Losses in bursts, in place of `loss`. Absent: packets are lost independently.
    packet_payload_bytes
        Payload of a packet: messages are cut into packets of at most so much. Absent: a message is
        one packet.
    packet_header_bytes
        Header that each packet is sent with.
    slow_start
        Messages start slowly, as over a new TCP connection. Absent: they have their share from the
        first bit, as over connections that are open and busy.
    ttl_s
        Longest time from sending to arrival: a message that takes longer has expired. Absent: none
        does.
    acknowledged
        Whether a sender learns what became of its messages.
    control_bits
        Size of a message without values, such as a request.
    arq
        Reaction of a sender to lost packets.
    """

    latency_s: Annotated[NonNegative, Plausible(in_run=True)] = 0.0
    jitter_s: Annotated[NonNegative, Plausible(in_run=True)] = 0.0
    rate_bps: Annotated[
        Positive | None, Plausible(100.0, 1e13, "links are from 100 bit/s to Tbit/s")
    ] = None
    uplink_bps: Annotated[
        Positive | None, Plausible(100.0, 1e13, "links are from 100 bit/s to Tbit/s")
    ] = None
    downlink_bps: Annotated[
        Positive | None, Plausible(100.0, 1e13, "links are from 100 bit/s to Tbit/s")
    ] = None
    sharing: Literal["max_min", "fifo"] = "max_min"
    forwarding: Literal["pipelined", "stored"] = "pipelined"
    trace: BandwidthTrace | None = None
    backbone: Backbone | None = None
    latency_matrix: LatencyMatrix | None = None
    loss: Fraction = 0.0
    bursts: Bursts | None = None
    packet_payload_bytes: Count | None = None
    packet_header_bytes: HeaderBytes = 0
    slow_start: SlowStart | None = None
    ttl_s: Positive | None = None
    acknowledged: bool = True
    control_bits: Annotated[Bits, Plausible(least=8, why="less than a byte")] = 256
    arq: choice("netsim.channels.arq") = {"kind": "none"}  # type: ignore[valid-type]

    @model_validator(mode="after")
    def _one_rule_of_loss(self) -> Self:
        if self.loss and self.bursts is not None:
            raise ValueError("loss and bursts both say which packets are lost; leave one out")
        return self

    @model_validator(mode="after")
    def _windows_cross_all_bottlenecks(self) -> Self:
        if self.slow_start is not None and self.forwarding == "stored":
            raise ValueError(
                'slow_start is of connections from end to end: it needs forwarding = "pipelined"'
            )
        return self


_Fate = tuple[Transmission, str, int, int, float | None, Any, int]
"""The arguments of `PhysicalLink.finish`, bits transmitted included."""

_Sampled = tuple[int, int, int, str, Any]
"""Packets, attempts, packets lost, outcome, and mask of what arrives."""


class _Queued(NamedTuple):
    """A message that waits for its wire.

    Attributes
    ----------
    sampled : _Sampled
        Its losses, which stay as they are if it gets the wire earlier.
    begins_ns : int or None
        When it gets the wire; None: it is given up before.
    until_ns : int
        When it ceases to wait, the one way or the other.
    fate : _Fate
        What becomes of it, as planned.
    """

    sampled: _Sampled
    begins_ns: int | None
    until_ns: int
    fate: _Fate


class WiredLink(PhysicalLink):
    """Wires that no two pairs of nodes share, each alike, over which nothing is cut short.

    What becomes of a message is known when it is sent, so it takes one event.

    Parameters
    ----------
    wire : Wire
    nodes : int
        Number of nodes.
    env : Clock
    recorder : Recorder
    streams : Streams
        Where all random draws come from.
    off, meetings
        See `PhysicalLink`; of use to `netsim.links.wired.shared` only.
    """

    def __init__(
        self,
        wire: Wire,
        nodes: int,
        env: Clock,
        recorder: Recorder,
        streams: Streams,
        off: AbstractSet[int] = frozenset(),
        meetings: Meetings | None = None,
    ) -> None:
        super().__init__(env, recorder, nodes, None, off, meetings)
        self._streams = streams
        self._free_ns: dict[tuple[int, int], int] = {}
        self._serial: dict[tuple[int, int], int] = {}
        self._queues: dict[tuple[int, int], list[_Queued]] = {}
        self._void: dict[int, _Fate] = {}  # by identity: plans that others have taken the place of
        self.set_wire(wire)

    def set_wire(self, wire: Wire) -> None:
        """Send by this table from now on; what is under way ends as it began."""
        self.ttl_ns = to_ns(wire.ttl_s) if wire.ttl_s else None
        self.acknowledged = wire.acknowledged
        self.broadcast_acknowledged = True
        self.control_bits = wire.control_bits
        self._arq: Arq = wire.arq
        self._loss, self._rate_bps, self._bursts = wire.loss, wire.rate_bps, wire.bursts
        self._loses = wire.loss > 0.0 or wire.bursts is not None
        self._block = [ChannelBlock(None, wire.loss)]  # one without end: the wire does not change
        payload_bytes = wire.packet_payload_bytes
        self._payload_bits = None if payload_bytes is None else 8 * payload_bytes
        self._header_bits = 8 * wire.packet_header_bytes
        self._latency_ns = to_ns(wire.latency_s)
        whole = self._payload_bits is None and not self._header_bits
        self._alike = not self._loses and self._rate_bps is None and whole
        self._alike_ns, self._ends_as = self._latency_ns, DELIVERED
        if self.ttl_ns is not None and self.ttl_ns < self._latency_ns:
            self._alike_ns, self._ends_as = self.ttl_ns, DEADLINE

    def in_reach(self, src: int, others: Sequence[int]) -> list[int]:
        return list(others)

    def collection_s(self, senders: Sequence[int], dst: int, bits: int) -> float:
        if not senders:
            return 0.0
        packets = 1 if self._payload_bits is None else -(-bits // self._payload_bits)
        sent_bits = bits + packets * self._header_bits
        return to_s(self._latency_ns) + (sent_bits / self._rate_bps if self._rate_bps else 0.0)

    def broadcast(self, group: Sequence[Transmission]) -> None:
        self.unicasts(group)

    def unicast(self, tx: Transmission) -> None:
        wait_ns, airtime_ns, report = self._sample_fate(tx)
        self.env.call_after(wait_ns, self._end, [(airtime_ns, report)])

    def unicasts(self, group: Sequence[Transmission]) -> None:
        # One event for those that end together: theirs would follow each other anyway, for the end
        # of a message that is no request starts nothing at once.
        together: dict[int, list[tuple[int, _Fate]]] = {}
        for tx in group:
            wait_ns, airtime_ns, report = self._sample_fate(tx)
            together.setdefault(wait_ns, []).append((airtime_ns, report))
        for wait_ns, ends in together.items():
            self.env.call_after(wait_ns, self._end, ends)

    def exchange(self, sendings: Sequence[Sending], deliveries: Deliveries) -> None:
        if not self._alike:
            self.unicasts(transmissions(sendings, deliveries))
        elif sendings:
            for _, receivers in sendings:
                self._in_flight += len(receivers)
            self.env.call_after(
                self._alike_ns, self.finish_alike, sendings, deliveries, self._ends_as
            )

    def _end(self, ends: Sequence[tuple[int, _Fate]]) -> None:
        for airtime_ns, report in ends:
            if self._void and self._void.pop(id(report), None) is not None:
                continue
            self.recorder.airtime_ns += airtime_ns
            self.count_transmitted(report[0].src, report[-1])
            self.finish(*report)

    def _sample_fate(self, tx: Transmission) -> tuple[int, int, _Fate]:
        """Sample the fate of a message sent now: ns until it ends, airtime [ns], and the rest."""
        self._in_flight += 1
        return self._plan_fate(tx, self._sample_losses(tx))

    def _sample_losses(self, tx: Transmission) -> _Sampled:
        """Sample what a message loses: packets, attempts, lost ones, outcome, those that arrive."""
        packets = 1 if self._payload_bits is None else -(-tx.envelope.bits // self._payload_bits)
        if self._loses:
            return packets, *self._sample(tx, packets)
        return packets, packets, 0, DELIVERED, None

    def _plan_fate(self, tx: Transmission, sampled: _Sampled) -> tuple[int, int, _Fate]:
        """Fate from now on of a message whose losses are known; see `_sample_fate`."""
        packets, attempts, lost, outcome, arrived = sampled
        queued_ns, busy_ns, waited_ns = 0, 0, self.env.now - tx.envelope.sent_ns
        bits, header_bits = tx.envelope.bits, attempts * self._header_bits
        sent_bits = bits * attempts / packets + header_bits
        pair = (tx.src, tx.dst)
        if self._rate_bps is not None:
            queued_ns = max(0, self._free_ns.get(pair, 0) - self.env.now)
            longest_ns = self.longest_wait_ns(tx)
            if longest_ns is not None and 0 < queued_ns >= longest_ns - waited_ns:
                left_ns = longest_ns - waited_ns
                report: _Fate = (tx, DEADLINE, 0, 0, None, None, 0)
                self._enqueue(pair, _Queued(sampled, None, self.env.now + left_ns, report))
                return left_ns, 0, report
            header_s = header_bits / self._rate_bps
            busy_ns = to_ns(bits / self._rate_bps * attempts / packets + header_s)
        wait_ns = queued_ns + busy_ns + self._latency_ns
        left_ns = wait_ns if self.ttl_ns is None else self.ttl_ns - waited_ns
        if wait_ns > left_ns:
            wait_ns, outcome, arrived = left_ns, DEADLINE, None
            sent_ns = min(busy_ns, left_ns - queued_ns)
            if sent_ns < busy_ns:
                sent_bits *= sent_ns / busy_ns
                attempts = math.ceil(attempts * (sent_ns / busy_ns))
                lost, busy_ns = min(lost, attempts), sent_ns
        report = (tx, outcome, attempts, lost, None, arrived, round(sent_bits))
        if self._rate_bps is not None:
            begins_ns = self.env.now + queued_ns
            self._free_ns[pair] = begins_ns + busy_ns
            if queued_ns:
                self._enqueue(pair, _Queued(sampled, begins_ns, begins_ns, report))
        return wait_ns, busy_ns, report

    def _enqueue(self, pair: tuple[int, int], queued: _Queued) -> None:
        """Note a message that waits for the wire of a pair, and forget those that wait no more."""
        self._queues[pair] = [*self._still_waiting(pair), queued]

    def _still_waiting(self, pair: tuple[int, int]) -> list[_Queued]:
        now = self.env.now
        return [queued for queued in self._queues.get(pair, ()) if queued.until_ns > now]

    def waiting(self, src: int) -> int:
        return sum(len(self._still_waiting(pair)) for pair in self._queues if pair[0] == src)

    def withdraw(self, src: int, kind: type) -> int:
        withdrawn = 0
        for pair in [pair for pair in self._queues if pair[0] == src]:
            waiting = self._still_waiting(pair)
            gone = [q for q in waiting if isinstance(q.fate[0].envelope.message, kind)]
            if not gone:
                continue
            withdrawn += len(gone)
            begins = [q.begins_ns for q in waiting if q.begins_ns is not None]
            self._free_ns[pair] = min(begins, default=self._free_ns[pair])
            self._queues[pair] = []
            for queued in waiting:
                self._void[id(queued.fate)] = queued.fate
                tx = queued.fate[0]
                if any(queued is one for one in gone):
                    self.finish(tx, WITHDRAWN, attempts=0)
                else:
                    wait_ns, airtime_ns, report = self._plan_fate(tx, queued.sampled)
                    self.env.call_after(wait_ns, self._end, [(airtime_ns, report)])
        return withdrawn

    def _sample(self, tx: Transmission, packets: int) -> tuple[int, int, str, Any]:
        """Sample the loss of a message: attempts, packets lost, outcome, mask of what arrived."""
        pair = (tx.src, tx.dst)
        serial = self._serial[pair] = self._serial.get(pair, 0) + 1
        rng = self._streams.lazy_generator("loss", *pair, serial)
        partial = tx.envelope.message.accepts_partial
        if self._bursts is None:
            transfer = self._arq.transfer(rng, packets, self._block, partial)
        else:
            transfer = self._bursts.transfer(self._arq, rng, packets, self._block, partial)
        arrived = transfer.arrived if not transfer.complete and transfer.delivered else None
        outcome = PARTIAL if arrived is not None else RETRIES
        outcome = DELIVERED if transfer.complete else outcome
        return sum(transfer.attempts), transfer.lost, outcome, arrived
