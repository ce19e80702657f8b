"""Wires that messages share, and wires whose ends come and go.

`netsim.links.wired.wire` knows what becomes of a message when it is sent. Here that depends on what
happens meanwhile: other messages come or go, a capacity changes, a node is switched off, a contact
ends.
"""

import math
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any

from netsim.clock import LAST, Clock, add_callback
from netsim.links.link import (
    DEADLINE,
    OFF,
    OUTAGE,
    WITHDRAWN,
    Deliveries,
    Sending,
    Transmission,
    transmissions,
)
from netsim.links.wired.bottleneck import FifoService, Flow, MaxMinService, Service
from netsim.links.wired.busy import BusyTime
from netsim.links.wired.plan import Route, Wiring
from netsim.links.wired.slow_start import SEGMENT_BYTES, Windows
from netsim.links.wired.wire import WiredLink
from netsim.recording.recorder import Recorder
from netsim.rng import Streams
from netsim.traces.contacts import Meetings
from netsim.units import NS_PER_S, to_ns, to_s


@dataclass(slots=True, eq=False)
class _Trip:
    """A message under way.

    Attributes
    ----------
    tx : Transmission
    route : Route
    attempts, packets, lost : int
        Packet transmissions in all, packets of the message, packets lost.
    outcome : str
        How it ends if nothing cuts it short.
    arrived : ndarray of bool, shape (packets,), or None
        Which packets arrive, for a message that is of use in part.
    jitter_ns : int
        Random part of its latency.
    service : Service
        What serves it at bottlenecks.
    header_bits : int
        Of each packet.
    flow : Flow or None
        The bits that cross the bottlenecks of this stage; None: past the last one.
    stage : int
        How many bottlenecks are behind it when `flow` is through.
    sent_bits : float
        What has left its sender before `flow`.
    windows : Windows or None
        Those that it is sent in; None: it is sent without a pause.
    """

    tx: Transmission
    route: Route
    attempts: int
    packets: int
    lost: int
    outcome: str
    arrived: Any
    jitter_ns: int
    service: Service
    header_bits: int
    flow: Flow | None = None
    stage: int = 0
    sent_bits: float = 0.0
    windows: Windows | None = None


def _do_nothing() -> None:
    """Do nothing after a window that is not the last has crossed."""


class SharedWiredLink(WiredLink):
    """Messages over wires that are shared, or whose ends come and go.

    A message that is cut short (`deadline`, `off`, `outage`) frees its bottlenecks at that moment;
    its attempts until then count. One to a node that is off ends as `off` after the latency.

    Parameters
    ----------
    wiring : Wiring
        Bottlenecks and routes.
    nodes : int
        Number of nodes.
    env : Clock
    recorder : Recorder
    streams : Streams
        Where all random draws come from.
    off : set of int
        Nodes that are switched off.
    meetings : Meetings or None
        When pairs are in contact; None: always.
    """

    def __init__(
        self,
        wiring: Wiring,
        nodes: int,
        env: Clock,
        recorder: Recorder,
        streams: Streams,
        off: AbstractSet[int] = frozenset(),
        meetings: Meetings | None = None,
    ) -> None:
        super().__init__(wiring.wire, nodes, env, recorder, streams, off, meetings)
        self._sent: dict[tuple[int, int], int] = {}
        self._live: dict[Transmission, _Trip] = {}
        self._busy = BusyTime()
        self._service = self._new_service(wiring)
        self._set_wiring(wiring)

    def _set_wiring(self, wiring: Wiring) -> None:
        wire = wiring.wire
        self._wiring, self._stored = wiring, wire.forwarding == "stored"
        self._jitter_s = wire.jitter_s
        self._slow_start = wire.slow_start
        self._segment_bits = self._payload_bits or 8 * SEGMENT_BYTES
        if wire.slow_start is not None and wire.slow_start.segment_bytes is not None:
            self._segment_bits = 8 * wire.slow_start.segment_bytes

    def _new_service(self, wiring: Wiring) -> Service:
        fair = wiring.shared and wiring.wire.sharing == "max_min"
        if fair:
            return MaxMinService(self.env, wiring.capacity)
        return FifoService(self.env, wiring.capacity, self._streams)

    def set_wiring(self, wiring: Wiring) -> None:
        """Send over other wires from now on.

        What is under way keeps its route and its losses. Where wires are shared in the same way as
        before, it crosses bottlenecks at their new capacities; else it ends on the old wires,
        beside what the new ones carry.

        Parameters
        ----------
        wiring : Wiring
        """
        self.set_wire(wiring.wire)
        service = self._new_service(wiring)
        if type(service) is type(self._service):
            self._service.change(wiring.capacity)
        else:
            self._service = service
        self._set_wiring(wiring)

    def collection_s(self, senders: Sequence[int], dst: int, bits: int) -> float:
        packets = 1 if self._payload_bits is None else -(-bits // self._payload_bits)
        sent_bits, now = bits + packets * self._header_bits, self.env.now
        carried: Counter[Hashable] = Counter()
        own_ns = 0
        for src in senders:
            route = self._wiring.route(src, dst)
            carried.update(dict.fromkeys(route.bottlenecks, sent_bits))
            crossings = [
                self._wiring.capacity[key].finish_ns(now, sent_bits) - now
                for key in route.bottlenecks
            ]
            crossing_ns = (sum if self._stored else max)(crossings or [0])
            own_ns = max(own_ns, route.latency_ns + crossing_ns)
        capacity = self._wiring.capacity
        shared_ns = (capacity[key].finish_ns(now, some) - now for key, some in carried.items())
        return to_s(max([own_ns, *shared_ns]))

    def unicasts(self, group: Sequence[Transmission]) -> None:
        for tx in group:
            self.unicast(tx)

    def exchange(self, sendings: Sequence[Sending], deliveries: Deliveries) -> None:
        self.unicasts(transmissions(sendings, deliveries))

    def unicast(self, tx: Transmission) -> None:
        self._in_flight += 1
        env, route = self.env, self._wiring.route(tx.src, tx.dst)
        contact_ns = self.contact_ns(tx)
        if contact_ns == 0:
            env.call_after(0, self.finish, tx, OUTAGE, 0)
            return
        packets, attempts, lost, outcome, arrived = self._sample_losses(tx)
        trip = _Trip(
            tx, route, attempts, packets, lost, outcome, arrived, self._jitter_ns(tx),
            self._service, self._header_bits,
        )  # fmt: skip
        self._live[tx] = trip
        # Last of its instant: what arrives at that very moment has arrived.
        for end_ns, cause in ((self.ttl_ns, DEADLINE), (contact_ns, OUTAGE)):
            if end_ns is not None:
                self._abort_at(end_ns, tx, cause)
        if tx.dst in self.off:
            trip.outcome, trip.attempts, trip.lost, trip.arrived = OFF, 1, 1, None
            trip.sent_bits = self._bits(trip)
            env.call_after(route.latency_ns, self._arrive, trip)
        elif self._slow_start is None:
            self._begin(trip, self._go_on)
        else:
            bits, segments = self._bits(trip), tx.envelope.bits / self._segment_bits
            trip.windows = Windows(self._slow_start, bits, max(1.0, segments))
            wait_ns = self._round_trip_ns(trip) if self._slow_start.handshake else 0
            env.call_after(wait_ns, self._begin, trip, self._send_window)

    def _begin(self, trip: _Trip, send: Callable[[_Trip], None]) -> None:
        """Begin to send; a message whose patience ends before it has the first wire is given up."""
        if trip.tx not in self._live:
            return
        begun_ns, longest_ns = trip.tx.envelope.sent_ns, self.longest_wait_ns(trip.tx)
        send(trip)
        if longest_ns is not None and trip.flow is not None and trip.flow.start_ns is None:
            left_ns = max(0, begun_ns + longest_ns - self.env.now)
            add_callback(self.env.event_after(left_ns, LAST), lambda _: self._lose_patience(trip))

    def _round_trip_ns(self, trip: _Trip) -> int:
        """Latency there and back."""
        back = self._wiring.route(trip.tx.dst, trip.tx.src)
        return trip.route.latency_ns + back.latency_ns

    def _send_window(self, trip: _Trip) -> None:
        """Send the next window; the last one goes on as a message that is sent in one."""
        windows, route = trip.windows, trip.route
        if trip.tx not in self._live or windows is None:
            return
        bits = windows.next_bits()
        if windows.left_bits <= 0.0:
            self._go_on(trip)
            return
        if not route.bottlenecks:
            trip.sent_bits += bits
            self.env.call_after(self._round_trip_ns(trip), self._send_window, trip)
            return
        path, trip.stage = route.bottlenecks, len(route.bottlenecks)
        packet_bits = windows.segment_bits if self._payload_bits is not None else 0.0
        trip.flow = flow = Flow(path, bits, packet_bits, route.hop_ns, _do_nothing, trip.tx.src)
        flow.sent = lambda: self._window_sent(trip, flow)
        trip.service.carry(flow)

    def _window_sent(self, trip: _Trip, flow: Flow) -> None:
        """A window has left its sender: the next one waits for the first acknowledgement."""
        if trip.tx not in self._live:
            return
        assert trip.windows is not None
        assert flow.start_ns is not None
        self._count_airtime(trip)
        trip.sent_bits, trip.flow, trip.stage = trip.sent_bits + flow.bits, None, 0
        segment_bits, now = trip.windows.segment_bits, self.env.now
        rates = [trip.service.capacity_bps(key) for key in flow.path]
        segment_ns = sum(segment_bits / bps * NS_PER_S for bps in rates if bps > 0)
        wait_ns = flow.start_ns + self._round_trip_ns(trip) + round(segment_ns) - now
        if wait_ns <= 0:
            trip.windows.fill_the_pipe()
        self.env.call_after(max(0, wait_ns), self._send_window, trip)

    def _abort_at(self, wait_ns: int, tx: Transmission, cause: str) -> None:
        add_callback(self.env.event_after(wait_ns, LAST), lambda _: self._abort(tx, cause))

    def _jitter_ns(self, tx: Transmission) -> int:
        if not self._jitter_s:
            return 0
        pair = (tx.src, tx.dst)
        serial = self._sent[pair] = self._sent.get(pair, 0) + 1
        return to_ns(self._jitter_s * self._streams.uniform("jitter", *pair, serial))

    def _go_on(self, trip: _Trip) -> None:
        """Cross the next bottleneck, or all of them; behind the last one, arrive."""
        route, stage = trip.route, trip.stage
        bits = self._bits(trip)
        if stage == 0:
            bits -= trip.sent_bits
        if stage == len(route.bottlenecks) or bits <= 0:
            trip.flow, trip.sent_bits = None, self._bits(trip)
            self.env.call_after(route.last_ns + trip.jitter_ns, self._arrive, trip)
            return
        end = stage + 1 if self._stored else len(route.bottlenecks)
        path, hop_ns = route.bottlenecks[stage:end], route.hop_ns[stage : end - 1]
        packet_bits = self._bits(trip) / trip.attempts if self._payload_bits is not None else 0.0
        trip.stage = end
        trip.flow = Flow(
            path, bits, packet_bits, hop_ns, lambda: self._end_crossing(trip), trip.tx.src
        )
        trip.service.carry(trip.flow)

    def _bits(self, trip: _Trip) -> float:
        """Bits of all attempts at a message's packets, with headers."""
        header_bits = trip.attempts * trip.header_bits
        return trip.tx.envelope.bits * trip.attempts / trip.packets + header_bits

    def _end_crossing(self, trip: _Trip) -> None:
        if trip.tx not in self._live:
            return
        self._count_airtime(trip)
        trip.flow, trip.sent_bits = None, self._bits(trip)
        wait_ns = trip.route.hop_ns[trip.stage - 1] if trip.stage <= len(trip.route.hop_ns) else 0
        self.env.call_after(wait_ns, self._arrived_at_next, trip)

    def _count_airtime(self, trip: _Trip) -> None:
        """Count the time for which a message, and no other of its sender, was at the first line."""
        flow = trip.flow
        if flow is not None and flow.start_ns is not None and trip.stage == len(flow.path):
            end_ns = min(self.env.now, flow.ends_ns.get(0, self.env.now))
            line = flow.path[0], trip.tx.src
            self.recorder.airtime_ns += self._busy.more_ns(
                line, flow.start_ns, end_ns, self._oldest_start_ns
            )

    def _oldest_start_ns(self) -> int:
        """The earliest begin [ns] of a message that is at a line."""
        flows = (trip.flow for trip in self._live.values())
        return min(
            (f.start_ns for f in flows if f and f.start_ns is not None), default=self.env.now
        )

    def _arrived_at_next(self, trip: _Trip) -> None:
        if trip.tx in self._live:
            self._go_on(trip)

    def _arrive(self, trip: _Trip) -> None:
        if self._live.pop(trip.tx, None) is not None:
            self._finish(trip, trip.outcome, trip.attempts, trip.arrived, self._bits(trip))

    def _finish(
        self, trip: _Trip, outcome: str, attempts: int, arrived: Any, sent_bits: float
    ) -> None:
        tx, bits = trip.tx, round(sent_bits)
        self.count_transmitted(tx.src, bits)
        self.finish(tx, outcome, attempts, min(trip.lost, attempts), None, arrived, bits)

    def _lose_patience(self, trip: _Trip) -> None:
        if trip.flow is not None and trip.flow.start_ns is None:
            self._abort(trip.tx, DEADLINE)

    def _abort(self, tx: Transmission, cause: str) -> None:
        """End a message that is under way before it arrives; `cause` is its outcome."""
        trip = self._live.pop(tx, None)
        if trip is None:
            return
        flow, bits = trip.flow, self._bits(trip)
        share = trip.sent_bits / bits if bits else 1.0
        if flow is not None:
            if trip.stage == len(flow.path):  # else it has left its sender
                share += trip.service.served_share(flow) * (flow.bits / bits)
            self._count_airtime(trip)
            trip.service.drop(flow)
        attempts = math.ceil(trip.attempts * share)
        self._finish(trip, cause, attempts, None, bits * share)

    def withdraw(self, src: int, kind: type) -> int:
        waiting = [tx for tx in self._not_begun(src) if isinstance(tx.envelope.message, kind)]
        for tx in waiting:
            self._abort(tx, WITHDRAWN)
        return len(waiting) + super().withdraw(src, kind)

    def waiting(self, src: int) -> int:
        return len(self._not_begun(src)) + super().waiting(src)

    def _not_begun(self, src: int) -> list[Transmission]:
        """A node's transmissions of which no bit has been sent yet."""
        return [
            tx
            for tx, trip in self._live.items()
            if tx.src == src
            and trip.sent_bits == 0
            and trip.flow is not None
            and trip.flow.start_ns is None
        ]

    def on_switch(self, node: int, on: bool) -> None:
        if not on:
            for tx in [tx for tx in self._live if node in (tx.src, tx.dst)]:
                self._abort(tx, OFF)


class ChangingWiredLink(SharedWiredLink):
    """Wires that are shared at times, and at other times plain, as `WiredLink` plays them.

    Parameters are those of `SharedWiredLink`.
    """

    def unicast(self, tx: Transmission) -> None:
        if self._wiring.is_plain:
            WiredLink.unicast(self, tx)
        else:
            super().unicast(tx)

    def unicasts(self, group: Sequence[Transmission]) -> None:
        if self._wiring.is_plain:
            WiredLink.unicasts(self, group)
        else:
            super().unicasts(group)

    def exchange(self, sendings: Sequence[Sending], deliveries: Deliveries) -> None:
        if self._wiring.is_plain:
            WiredLink.exchange(self, sendings, deliveries)
        else:
            super().exchange(sendings, deliveries)

    def set_wiring(self, wiring: Wiring) -> None:
        super().set_wiring(wiring)
        if not wiring.is_plain and not wiring.shared and wiring.wire.rate_bps is not None:
            assert isinstance(self._service, FifoService)
            for pair, free_ns in self._free_ns.items():
                if free_ns > self.env.now:
                    self._service.occupy(("pair", *pair), free_ns - self.env.now)
