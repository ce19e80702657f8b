"""The air at work: half-duplex radios, block fading, whole messages sampled at once.

A message over the air is cut into packets and sampled as one draw per stretch of constant channel
(`netsim.channels.arq`); it costs a handful of events however large it is.

Admission: a unicast starts when both radios are free and takes both at once; those that wait are
tried in order of arrival whenever one of their radios becomes free, so a busy peer holds up nobody
else and nothing can deadlock. A broadcast takes its sender's radio and that of every receiver that
is free; one that is busy misses it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from operator import attrgetter
from typing import Any

from netsim.channels.arq import Segment
from netsim.channels.arq.none import NoArq
from netsim.clock import Clock
from netsim.links.link import (
    BUSY,
    DEADLINE,
    DELIVERED,
    OUTAGE,
    PARTIAL,
    RETRIES,
    Link,
    Report,
    Transmission,
)
from netsim.links.propagation import Budget, Propagation, Stretch
from netsim.links.radio import Radio
from netsim.results.log import Recorder
from netsim.rng import Streams
from netsim.units import NS_PER_S, linear_to_db, to_ns

MAX_SEGMENTS = 100_000
"""A message that has not got through in so many channel blocks is given up."""


@dataclass(slots=True, eq=False)
class _Queued:
    """A message that waits for radios: a unicast for both ends, a broadcast for its sender's.

    The two radios of a broadcast are the same one.
    """

    order: int
    group: Sequence[Transmission]
    radios: tuple[int, int]
    broadcast: bool
    gone: bool = False


class Air(Link):
    """`Radio` at work.

    Parameters
    ----------
    radio : Radio
    budget : Budget
    last_wakeup : callable
        See `Propagation`.
    """

    def __init__(
        self,
        radio: Radio,
        budget: Budget,
        last_wakeup: Callable[[int, int], tuple[int, int]],
        env: Clock,
        recorder: Recorder,
        streams: Streams,
    ) -> None:
        nodes = len(budget.tx_power_w)
        super().__init__(env, recorder, nodes, to_ns(radio.ttl_s) if radio.ttl_s else None)
        self.acknowledged = radio.arq.acknowledged
        self.control_bits = radio.control_bits
        self.discovery = radio.discovery
        self.probe_window_s = radio.probe_window_s
        self._radio, self._budget = radio, budget
        self._streams = streams
        self._channel = Propagation(radio, budget, last_wakeup, streams)
        self._free = [True] * nodes
        self._waiting: list[deque[_Queued]] = [deque() for _ in self._free]
        self._order = 0
        self._serial: dict[tuple[int, int], int] = {}
        self._payload_bits = 8 * radio.packet_payload_bytes
        self._header_bits = 8 * radio.packet_header_bytes
        self._unrepeated = NoArq()

    def in_reach(self, src: int, others: Sequence[int]) -> list[int]:
        return self._channel.in_reach(src, others, self.env.now)

    # -- admission -------------------------------------------------------------------------------

    def unicast(self, tx: Transmission) -> None:
        self.in_flight += 1
        for one in self._in_contact((tx,)):
            self._admit((one,), (tx.src, tx.dst), broadcast=False)

    def broadcast(self, group: Sequence[Transmission]) -> None:
        self.in_flight += len(group)
        src, group = group[0].src, self._in_contact(group)
        if group:
            self._admit(group, (src, src), broadcast=True)

    def _in_contact(self, group: Sequence[Transmission]) -> Sequence[Transmission]:
        """Those whose ends are in contact; the others end at once."""
        if self.meetings is None:
            return group
        apart = [tx for tx in group if self.contact_ns(tx) == 0]
        for tx in apart:
            self.env.after(0, self.finish, tx, OUTAGE, 0)
        return [tx for tx in group if tx not in apart]

    def _admit(
        self, group: Sequence[Transmission], radios: tuple[int, int], broadcast: bool
    ) -> None:
        self._order += 1
        queued = _Queued(self._order, group, radios, broadcast)
        if self._can_start(queued):
            self._start(queued)
            return
        for radio in dict.fromkeys(radios):
            self._waiting[radio].append(queued)
        longest_ns = self.longest_wait_ns(group[0])
        if longest_ns is not None:
            self.env.after(longest_ns, self._expire, queued, DEADLINE)
        contact_ns = self.contact_ns(group[0])
        if contact_ns is not None and not broadcast:
            self.env.after(contact_ns, self._expire, queued, OUTAGE)

    def _can_start(self, queued: _Queued) -> bool:
        one, other = queued.radios
        return self._free[one] and self._free[other] and not queued.gone

    def _expire(self, queued: _Queued, outcome: str) -> None:
        """Give up what has not even started when its time to live, patience or contact ends."""
        if not queued.gone:
            queued.gone = True
            for tx in queued.group:
                self.finish(tx, outcome, attempts=0)

    def _release(self, radios: Sequence[int]) -> None:
        """Free radios, then start what waits for them, oldest first."""
        for radio in radios:
            self._free[radio] = True
            queue = self._waiting[radio]
            while queue and queue[0].gone:
                queue.popleft()
        while True:
            oldest = [
                next(filter(self._can_start, self._waiting[radio]), None)
                for radio in radios
                if self._free[radio]
            ]
            ready = [queued for queued in oldest if queued is not None]
            if not ready:
                return
            self._start(min(ready, key=attrgetter("order")))

    def _start(self, queued: _Queued) -> None:
        queued.gone = True
        if queued.broadcast:
            self._broadcast_now(queued.group)
        else:
            self._unicast_now(queued.group[0])

    # -- transmission ----------------------------------------------------------------------------

    def _packets(self, bits: int) -> tuple[int, int]:
        """How many packets a message is cut into, and the size of each in bits."""
        packets = -(-bits // self._payload_bits)
        return packets, -(-bits // packets) + self._header_bits

    def _rng_serial(self, tx: Transmission) -> int:
        """How many messages this pair has had: keys the draws of the next one."""
        pair = (tx.src, tx.dst)
        serial = self._serial[pair] = self._serial.get(pair, 0) + 1
        return serial

    def _unicast_now(self, tx: Transmission) -> None:
        packets, packet_bits = self._packets(tx.bits)
        met: list[Stretch] = []
        left_ns = None if self.ttl_ns is None else max(0, tx.sent_ns + self.ttl_ns - self.env.now)
        cause, contact_ns = DEADLINE, self.contact_ns(tx)
        if contact_ns is not None and (left_ns is None or contact_ns < left_ns):
            cause, left_ns = OUTAGE, contact_ns
        expired = False

        def segments() -> Iterator[Segment]:
            nonlocal expired
            passed_ns = 0
            stretches = self._channel.stretches(tx.src, tx.dst, self.env.now, packet_bits)
            for stretch in islice(stretches, MAX_SEGMENTS):
                met.append(stretch)
                yield Segment(stretch.attempts, stretch.per)
                passed_ns += stretch.length_ns or 0
                if left_ns is not None and passed_ns > left_ns:
                    expired = True
                    return

        rng = self._streams.lazy_generator("packets", tx.src, tx.dst, self._rng_serial(tx))
        partial = tx.message.accepts_partial
        transfer = self._radio.arq.transfer(rng, packets, segments(), partial)
        last = len(transfer.attempts) - 1
        duration_ns = sum(s.length_ns or 0 for s in met[:last]) if last > 0 else 0
        duration_ns += round(transfer.attempts[last] * met[last].attempt_ns) if last >= 0 else 0
        if transfer.complete:
            outcome = DELIVERED
        elif partial and transfer.delivered:
            outcome = PARTIAL
        else:
            outcome = OUTAGE if all(s.per >= 1.0 for s in met) else RETRIES
        arrived = transfer.arrived if outcome == PARTIAL else None
        if left_ns is not None and (expired or duration_ns > left_ns):
            duration_ns, outcome, arrived = left_ns, cause, None
        attempts = sum(transfer.attempts)
        snr_db = _mean_snr_db(met, transfer.attempts)
        self._take((tx.src, tx.dst), tx.src, duration_ns)
        reports = [(tx, outcome, attempts, transfer.lost, snr_db, arrived)]
        bits = attempts * packet_bits
        self.env.after(duration_ns, self._end, (tx.src, tx.dst), reports, bits)

    def _broadcast_now(self, group: Sequence[Transmission]) -> None:
        """One airtime at the lowest rate among the receivers, one draw each, no repetition."""
        now, src = self.env.now, group[0].src
        packets, packet_bits = self._packets(group[0].bits)
        channel = self._channel
        rates = [channel.rate_bps(channel.measured_snr(src, tx.dst, now)) for tx in group]
        # The sender can't tell who is busy.
        rate_bps = min((r for r in rates if r > 0), default=0.0)
        attempt_ns = self._radio.attempt_overhead_s * NS_PER_S
        attempt_ns += packet_bits / rate_bps * NS_PER_S if rate_bps else 0.0
        duration_ns = round(packets * attempt_ns) if rate_bps else 0
        heard: list[Report] = [
            (tx, *self._hear(tx, packets, packet_bits, rate_bps if rate > 0 else 0.0))
            for tx, rate in zip(group, rates, strict=True)
            if self._free[tx.dst]
        ]
        radios = [src, *(tx.dst for tx, *_ in heard)]
        missed: list[Report] = [
            (tx, BUSY, 0, 0, None, None) for tx in group if not self._free[tx.dst]
        ]
        left_ns = None if self.ttl_ns is None else group[0].sent_ns + self.ttl_ns - now
        if left_ns is not None and duration_ns > left_ns:
            duration_ns = left_ns
            heard = [(report[0], DEADLINE, *report[2:5], None) for report in heard]
        if self.meetings is not None:
            parted = {tx for tx, *_ in heard if (self.contact_ns(tx) or 0) < duration_ns}
            heard = [(r[0], OUTAGE, *r[2:5], None) if r[0] in parted else r for r in heard]
        self._take(radios, src, duration_ns)
        bits = packets * packet_bits if rate_bps else 0
        self.env.after(duration_ns, self._end, radios, [*heard, *missed], bits)

    def _end(self, radios: Sequence[int], reports: Sequence[Report], bits: int) -> None:
        """A message is off the air: tell what became of it, then free its radios."""
        if self.meter.by_bits:
            self.meter.carried(radios[0], [tx.dst for tx, *_ in reports], radios[1:], bits)
        for report in reports:
            self.finish(*report)
        self._release(radios)

    def _hear(
        self, tx: Transmission, packets: int, packet_bits: int, rate_bps: float
    ) -> tuple[str, int, int, float | None, Any]:
        """What one receiver of a broadcast gets: outcome, attempts, lost, SNR in dB, mask."""
        if rate_bps <= 0:
            snr = self._channel.snr(tx.src, tx.dst, self.env.now)
            return OUTAGE, 0, packets, linear_to_db(snr), None
        met: list[Stretch] = []

        def segments() -> Iterator[Segment]:
            now = self.env.now
            for stretch in self._channel.stretches(tx.src, tx.dst, now, packet_bits, rate_bps):
                met.append(stretch)
                yield Segment(stretch.attempts, stretch.per)

        rng = self._streams.lazy_generator("packets", tx.src, tx.dst, self._rng_serial(tx))
        partial = tx.message.accepts_partial
        transfer = self._unrepeated.transfer(rng, packets, segments(), partial)
        outcome = DELIVERED
        if not transfer.complete:
            outcome = OUTAGE if all(s.per >= 1.0 for s in met) else RETRIES
            outcome = PARTIAL if partial and transfer.delivered else outcome
        arrived = transfer.arrived if outcome == PARTIAL else None
        snr_db = _mean_snr_db(met, transfer.attempts)
        return outcome, sum(transfer.attempts), transfer.lost, snr_db, arrived

    def _take(self, radios: Sequence[int], src: int, duration_ns: int) -> None:
        for radio in radios:
            self._free[radio] = False
        self.recorder.airtime_ns += duration_ns
        self.meter.on_air(src, radios, self.env.now, duration_ns)


def _mean_snr_db(met: Sequence[Stretch], attempts: Sequence[int]) -> float | None:
    """Attempt-weighted linear mean of the SNR, in dB."""
    total, weighted = 0, 0.0
    for stretch, n in zip(met, attempts, strict=False):
        total += n
        weighted += stretch.snr * n
    if total == 0:
        return linear_to_db(met[0].snr) if met else None
    return linear_to_db(weighted / total)
