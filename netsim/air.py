"""The air at work: half-duplex radios, block fading, whole messages sampled at once.

A message over the air is cut into packets and sampled as one draw per stretch of constant channel
(`netsim.channels.arq`); it costs a handful of events however large it is.

Admission: a unicast starts when both radios are free and takes both at once; those that wait are
tried in order of arrival whenever one of their radios becomes free, so a busy peer holds up nobody
else and nothing can deadlock. A broadcast takes its sender's radio and that of every receiver that
is free; one that is busy misses it.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from netsim.channels.arq import Segment
from netsim.channels.arq.none import NoArq
from netsim.clock import Clock
from netsim.link import BUSY, DEADLINE, DELIVERED, OUTAGE, PARTIAL, RETRIES, Link, Transmission
from netsim.radio import Radio
from netsim.results.log import Recorder
from netsim.rng import Streams
from netsim.units import NS_PER_S, linear_to_db, to_ns

MAX_SEGMENTS = 100_000
"""A message that has not got through in so many channel blocks is given up."""


@dataclass(frozen=True, slots=True)
class Budget:
    """Every link's mean: what is left of a radio once positions are known.

    Attributes
    ----------
    mean_snr : callable
        (src, dst) -> mean SNR, linear.
    threshold : float
        SNR from which a node counts as reachable, linear.
    tx_power_w : tuple of float
        Each node's transmit power.
    """

    mean_snr: Callable[[int, int], float]
    threshold: float
    tx_power_w: tuple[float, ...]


@dataclass(slots=True, eq=False)
class _Queued:
    """A message that waits for radios: a unicast for both ends, a broadcast for its sender's."""

    order: int
    group: Sequence[Transmission]
    radios: tuple[int, ...]
    broadcast: bool
    gone: bool = False


@dataclass(slots=True)
class _Stretch:
    """One stretch of constant channel as a message meets it."""

    snr: float
    per: float
    attempt_ns: float
    length_ns: int | None
    attempts: int | None


class Air(Link):
    """`Radio` at work.

    Parameters
    ----------
    held_since : callable
        (src, dst, time_ns) -> key of the fading draw that holds under `hold = "exchange"`.
    """

    def __init__(
        self,
        radio: Radio,
        budget: Budget,
        held_since: Callable[[int, int, int], tuple[int, ...]],
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
        self._held_since, self._streams = held_since, streams
        self._coherence_ns = to_ns(radio.fading.coherence_s)
        self._free = [True] * nodes
        self._waiting: list[deque[_Queued]] = [deque() for _ in self._free]
        self._order = 0
        self._serial: dict[tuple[int, int], int] = {}
        self._payload_bits = 8 * radio.packet_payload_bytes
        self._header_bits = 8 * radio.packet_header_bytes
        self._unrepeated = NoArq()

    # -- channel ---------------------------------------------------------------------------------

    def snr(self, src: int, dst: int, time_ns: int) -> float:
        """Instantaneous SNR from `src` to `dst`, linear; the power gain is reciprocal."""
        fading = self._radio.fading
        low, high = (src, dst) if src < dst else (dst, src)
        if fading.hold == "exchange":
            block = self._held_since(low, high, time_ns)
        else:
            block = (time_ns // self._coherence_ns,)
        u = self._streams.uniform("fading", low, high, *block)
        return self._budget.mean_snr(src, dst) * float(fading.power_gain(u))

    def reaches(self, src: int, dst: int) -> bool:
        return self.snr(src, dst, self.env.now) >= self._budget.threshold

    def _stretches(
        self, src: int, dst: int, packet_bits: int, rate_bps: float | None = None
    ) -> Iterator[_Stretch]:
        """The channel from now on, block by block; at `rate_bps` if that is given."""
        radio, time_ns = self._radio, self.env.now
        overhead_ns = radio.attempt_overhead_s * NS_PER_S
        while True:
            snr = self.snr(src, dst, time_ns)
            rate = radio.rate.bits_per_s(snr, radio.bandwidth_hz) if rate_bps is None else rate_bps
            per = radio.packet_error.probability(snr, packet_bits, self._budget.threshold)
            length_ns = None
            if radio.fading.hold == "coherence" and radio.fading.kind != "none":
                length_ns = self._coherence_ns - time_ns % self._coherence_ns
            attempt_ns = overhead_ns + packet_bits / rate * NS_PER_S if rate > 0 else 0.0
            if rate <= 0:
                attempts, per = (None, 1.0) if length_ns is None else (0, 1.0)
            elif length_ns is None:
                attempts = None
            else:  # an attempt belongs to the block in which it begins
                attempts = math.ceil(length_ns / attempt_ns)
                length_ns = math.ceil(attempts * attempt_ns)
            yield _Stretch(snr, per, attempt_ns, length_ns, attempts)
            if length_ns is None:
                return
            time_ns += length_ns

    # -- admission -------------------------------------------------------------------------------

    def unicast(self, tx: Transmission) -> None:
        self.in_flight += 1
        self._admit((tx,), (tx.src, tx.dst), broadcast=False)

    def broadcast(self, group: Sequence[Transmission]) -> None:
        self.in_flight += len(group)
        self._admit(group, (group[0].src,), broadcast=True)

    def _admit(
        self, group: Sequence[Transmission], radios: tuple[int, ...], broadcast: bool
    ) -> None:
        self._order += 1
        queued = _Queued(self._order, group, radios, broadcast)
        if all(self._free[r] for r in radios):
            self._start(queued)
            return
        for radio in radios:
            self._waiting[radio].append(queued)
        longest_ns = self.longest_wait_ns(group[0])
        if longest_ns is not None:
            self.env.after(longest_ns, lambda: self._expire(queued))

    def _expire(self, queued: _Queued) -> None:
        """Give up what has not even started when its time to live or its patience ends."""
        if not queued.gone:
            queued.gone = True
            for tx in queued.group:
                self.finish(tx, DEADLINE, attempts=0)

    def _release(self, radios: Sequence[int]) -> None:
        """Free radios, then start what waits for them, oldest first."""
        for radio in radios:
            self._free[radio] = True
        waiting = {q.order: q for r in radios for q in self._waiting[r] if not q.gone}
        for order in sorted(waiting):
            queued = waiting[order]
            if all(self._free[r] for r in queued.radios):
                self._start(queued)
        for radio in radios:
            queue = self._waiting[radio]
            while queue and queue[0].gone:
                queue.popleft()

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
        met: list[_Stretch] = []
        left_ns = None if self.ttl_ns is None else max(0, tx.sent_ns + self.ttl_ns - self.env.now)
        expired = False

        def segments() -> Iterator[Segment]:
            nonlocal expired
            passed_ns = 0
            stretches = self._stretches(tx.src, tx.dst, packet_bits)
            for stretch in islice(stretches, MAX_SEGMENTS):
                met.append(stretch)
                yield Segment(stretch.attempts, stretch.per)
                passed_ns += stretch.length_ns or 0
                if left_ns is not None and passed_ns > left_ns:
                    expired = True
                    return

        rng = self._streams.generator("packets", tx.src, tx.dst, self._rng_serial(tx))
        partial = tx.message.accepts_partial
        transfer = self._radio.arq.transfer(rng, packets, segments(), partial)
        last = len(transfer.attempts) - 1
        duration_ns = sum(s.length_ns or 0 for s in met[:last])
        duration_ns += round(transfer.attempts[last] * met[last].attempt_ns) if last >= 0 else 0
        if transfer.complete:
            outcome = DELIVERED
        elif partial and transfer.delivered:
            outcome = PARTIAL
        else:
            outcome = OUTAGE if all(s.per >= 1.0 for s in met) else RETRIES
        arrived = transfer.arrived if outcome == PARTIAL else None
        if left_ns is not None and (expired or duration_ns > left_ns):
            duration_ns, outcome, arrived = left_ns, DEADLINE, None
        attempts = sum(transfer.attempts)
        snr_db = _mean_snr_db(met, transfer.attempts)
        self._take((tx.src, tx.dst), tx.src, duration_ns)

        def end() -> None:
            self.finish(tx, outcome, attempts, transfer.lost, snr_db, arrived)
            self._release((tx.src, tx.dst))

        self.env.after(duration_ns, end)

    def _broadcast_now(self, group: Sequence[Transmission]) -> None:
        """One airtime at the lowest rate among the receivers, one draw each, no repetition."""
        now, src = self.env.now, group[0].src
        packets, packet_bits = self._packets(group[0].bits)
        listening = [tx for tx in group if self._free[tx.dst]]
        rates = [
            self._radio.rate.bits_per_s(self.snr(src, tx.dst, now), self._radio.bandwidth_hz)
            for tx in listening
        ]
        rate_bps = min((r for r in rates if r > 0), default=0.0)
        attempt_ns = self._radio.attempt_overhead_s * NS_PER_S
        attempt_ns += packet_bits / rate_bps * NS_PER_S if rate_bps else 0.0
        duration_ns = round(packets * attempt_ns) if rate_bps else 0
        heard = [
            (tx, *self._hear(tx, packets, packet_bits, rate_bps if rate > 0 else 0.0))
            for tx, rate in zip(listening, rates, strict=True)
        ]
        radios = [src, *(tx.dst for tx in listening)]
        left_ns = None if self.ttl_ns is None else group[0].sent_ns + self.ttl_ns - now
        if left_ns is not None and duration_ns > left_ns:
            duration_ns = left_ns
            heard = [(tx, DEADLINE, *report[1:4], None) for tx, *report in heard]
        self._take(radios, src, duration_ns)
        missed = [tx for tx in group if tx not in listening]

        def end() -> None:
            for tx, *report in heard:
                self.finish(tx, *report)
            for tx in missed:
                self.finish(tx, BUSY, 0)
            self._release(radios)

        self.env.after(duration_ns, end)

    def _hear(
        self, tx: Transmission, packets: int, packet_bits: int, rate_bps: float
    ) -> tuple[str, int, int, float | None, Any]:
        """What one receiver of a broadcast gets: outcome, attempts, lost, SNR in dB, mask."""
        if rate_bps <= 0:
            snr = self.snr(tx.src, tx.dst, self.env.now)
            return OUTAGE, 0, packets, linear_to_db(snr), None
        met: list[_Stretch] = []

        def segments() -> Iterator[Segment]:
            for stretch in self._stretches(tx.src, tx.dst, packet_bits, rate_bps):
                met.append(stretch)
                yield Segment(stretch.attempts, stretch.per)

        rng = self._streams.generator("packets", tx.src, tx.dst, self._rng_serial(tx))
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
        self.radiated_j[src] += self._budget.tx_power_w[src] * duration_ns / NS_PER_S


def _mean_snr_db(met: Sequence[_Stretch], attempts: Sequence[int]) -> float | None:
    """Attempt-weighted linear mean of the SNR, in dB."""
    total = sum(attempts)
    if total == 0:
        return linear_to_db(met[0].snr) if met else None
    weighted = sum(s.snr * n for s, n in zip(met, attempts, strict=False))
    return linear_to_db(weighted / total)
