"""Flights played attempt by attempt: an event and a random draw for each.

This is the literal model that `message_level` samples, and is there to be compared with it. Time on
the air is counted attempt by attempt, to the end of the one that begins. An attempt has the rate
that suits the conditions at its beginning, and fails with the probability of the worst that it
meets, with the gains that the link and those of interferers have at its beginning; where senders
come and go with which it divides a band, the rest of it takes another time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import repeat
from operator import attrgetter

import numpy as np
from numpy.typing import NDArray

from netsim.channels.block import ChannelBlock
from netsim.clock import LAST, Clock, add_callback
from netsim.links.link import Report
from netsim.links.radio.mac.current_attempt import rate_under_way
from netsim.links.radio.mac.flight import Flight, Reception, Transmits
from netsim.links.radio.mac.message_level import blocks_met
from netsim.links.radio.mac.random_access import OnAir, Overlap
from netsim.links.radio.mac.rate_adaptation import RateAdaptation
from netsim.links.radio.phy.background import Interferer
from netsim.links.radio.phy.channel import RadioChannel
from netsim.links.radio.table import Radio
from netsim.rng import Streams

NO_BURSTS: Iterator[float] = repeat(0.0)


class _PacketCounts:
    """Progress of a message at a receiver.

    Attributes
    ----------
    packets : int
        Of the message.
    settled : list of bool
        For each packet that is settled, in sending order, whether it arrived.
    tried : int
        Failed attempts at the packet in turn.
    combined_snr : float
        Sum of their SNRs, linear; read where attempts are combined.
    bursts : iterator of float
        Probability that the next attempt is lost to bursts, whatever else it meets.
    """

    def __init__(self, packets: int, bursts: Iterator[float]) -> None:
        self.packets, self.bursts = packets, bursts
        self.settled: list[bool] = []
        self.tried = 0
        self.combined_snr = 0.0

    @property
    def delivered(self) -> int:
        return sum(self.settled)

    @property
    def lost(self) -> int:
        return len(self.settled) - self.delivered

    def arrived(self) -> NDArray[np.bool_]:
        """Return the mask of packets that arrived, in sending order."""
        return np.array([*self.settled, *[False] * (self.packets - len(self.settled))])


class PacketLevelSampler:
    """Sampler of the attempts of a flight, one by one.

    Parameters
    ----------
    radio : Radio
    channel : RadioChannel
    env : Clock
    streams : Streams
    ended : callable
        Called with (flight, leg) when a flight is over.
    on_air : OnAir
        Is told of each packet, under random access.
    goes_on : callable
        Called with a flight when another end of its attempt under way is known.
    transmits : callable
        See `EnergyAccounting.set_transmit_share`.
    adaptation : RateAdaptation or None
        Rates of unicasts, where they follow acknowledgements.
    """

    def __init__(
        self,
        radio: Radio,
        channel: RadioChannel,
        env: Clock,
        streams: Streams,
        ended: Callable[[Flight, int], None],
        on_air: OnAir,
        goes_on: Callable[[Flight], None],
        transmits: Transmits,
        adaptation: RateAdaptation | None = None,
    ) -> None:
        self._adaptation, self._on_air = adaptation, on_air
        self._goes_on, self._transmits = goes_on, transmits
        self._pausing: dict[Flight, int] = {}  # since when
        self._radio, self._channel = radio, channel
        self._env, self._streams, self._ended = env, streams, ended
        by_snr = radio.rate.kind != "fixed" and not radio.rate.adapts
        self._rates_follow = by_snr and not radio.mac.contends
        self._counts: dict[Reception, _PacketCounts] = {}

    def begin(self, flight: Flight) -> None:
        """Plan the first attempt, and the end of the time to live."""
        for reception in flight.receptions:
            if reception.predetermined is None:
                tx = reception.tx
                key = (tx.src, tx.dst, reception.serial)
                reception.rng = self._streams.generator("attempts", *key)
                chain = NO_BURSTS
                if self._radio.bursts is not None:
                    chain = self._radio.bursts.losses(self._streams.generator("bursts", *key))
                self._counts[reception] = _PacketCounts(flight.packets, chain)
        now = self._env.now
        if flight.deadline_ns is not None:
            # Last of its instant: what arrives at that very moment has arrived.
            due = self._env.event_after(flight.deadline_ns - now, LAST)
            add_callback(due, partial(self._expire, flight, flight.leg))
        wait_ns = flight.leg_begins_ns - now
        self._env.call_after(
            wait_ns, self._begin_attempt, flight, flight.leg, float(flight.leg_begins_ns)
        )

    def change(self, flight: Flight, worse: bool) -> None:
        """Resample from now on; if `worse`, the current attempt is affected, too."""
        since_ns = self._pausing.get(flight)
        if since_ns is not None:
            self._env.call_after(0, self._resume, flight, flight.leg, since_ns)
            return
        if self._radio.mac.has_base_stations:  # others take of the band, and are no noise
            self._share_changes(flight)
            return
        follows = self._rates_follow and flight.rate_bps is None  # its rate has been chosen
        if not worse and self._env.now == flight.leg_begins_ns and not follows:
            for reception in flight.receptions:  # it has begun now: it has met no one who has gone
                if reception.blocks:
                    reception.blocks = [self._current_block(flight, reception)]
            return
        if not worse or self._env.now - flight.leg_begins_ns > flight.attempt_ns - 1.0:
            return  # the attempt under way meets the old ones, or is over at this instant
        for reception in flight.receptions:
            if reception.blocks:  # a rise after a greater fall is not the worst that it has met
                now = self._current_block(flight, reception)
                if self._rates_follow and flight.rate_bps is None and not now.erasure:
                    rate_bps = rate_under_way(flight, flight.attempt_ns)
                    now.per = self._channel.packet_error(now.snr, flight.packet_bits, rate_bps)
                reception.blocks = [min(now, reception.blocks[0], key=attrgetter("snr"))]

    def leave_slots(self, flight: Flight) -> None:
        """Let a flight that has been sent in slots go on without them."""
        now, ends_ns, slots = self._env.now, flight.attempt_ends_ns, flight.sampled_medium.slowdown
        left_ns = None if ends_ns is None else ends_ns - flight.begins_ns - _spread_ns(flight, now)
        flight.leave_slots()
        if left_ns is not None:
            flight.attempt_ns /= slots
            ends_ns = now + max(0.0, left_ns) / slots
            flight.leg_begins_ns = round(ends_ns - flight.attempt_ns)
            self._transmits(flight, now, 1.0, flight.stretches)
            self._plan_end(flight, ends_ns)

    def _share_changes(self, flight: Flight) -> None:
        """Let the rest of an attempt under way take the time that its new share leaves it."""
        old, new, ends_ns = flight.sampled_medium, flight.medium, flight.attempt_ends_ns
        if ends_ns is None or new.shares is not None or old.slowdown == new.slowdown:
            return
        now, stretch = self._env.now, new.slowdown / old.slowdown
        ends_ns = now + max(0.0, ends_ns - now) * stretch
        flight.attempt_ns *= stretch
        flight.leg_begins_ns = round(ends_ns - flight.attempt_ns)
        self._transmits(flight, now, new.transmit_share(flight.attempt_ns), flight.stretches)
        self._plan_end(flight, ends_ns)

    def _plan_end(self, flight: Flight, at_ns: float) -> None:
        """Plan the end of an attempt, which need not be a whole nanosecond."""
        flight.sampled_medium, flight.attempt_ends_ns = flight.medium, at_ns
        due_ns = at_ns
        if flight.turns is not None:
            due_ns = flight.begins_ns + flight.turns.elapsed_ns(at_ns - flight.begins_ns)
        flight.ends_ns = max(self._env.now, round(due_ns))  # a packet may last less than a ns
        self._goes_on(flight)
        self._env.call_after(
            flight.ends_ns - self._env.now, self._end_attempt, flight, flight.leg, at_ns
        )

    def report(self, flight: Flight, reception: Reception, cut: bool) -> Report:
        """Report the outcome of a flight that ends now at one receiver.

        Parameters
        ----------
        flight : Flight
        reception : Reception
            One of the flight's.
        cut : bool
            Whether the flight ends before its planned end; of no effect here.

        Returns
        -------
        Report
        """
        counts = self._counts.pop(reception)
        if not flight.broadcast:
            self._pausing.pop(flight, None)
        sent_ns = _spread_ns(flight, self._env.now) - _spread_ns(flight, flight.leg_begins_ns)
        under_way = 0.0
        if reception.blocks and sent_ns > 0:
            under_way = min(1.0, sent_ns / flight.attempt_ns)
        reception.blocks = []
        if flight.repeated:
            reception.came = counts.arrived()
        channel, limit = self._channel, self._radio.arq.limit
        return reception.report(flight, under_way, counts, counts.arrived(), channel, limit)

    def _expire(self, flight: Flight, leg: int, _: object) -> None:
        if leg == flight.leg:
            flight.expired = True
            self._ended(flight, flight.leg)

    def _current_block(self, flight: Flight, reception: Reception) -> ChannelBlock:
        """The channel block at a receiver when the attempt under way began."""
        rates = None
        if self._adaptation is not None and not flight.broadcast:
            dst, medium = reception.tx.dst, reception.medium
            known = reception.rates = self._adaptation.link_rates(flight.src, dst)
            attempt_ns = partial(self._channel.attempt_ns, flight.packet_bits, medium=medium)
            rates = self._adaptation.rate_rule(flight.src, dst, known, attempt_ns)
        block = next(blocks_met(flight, reception, self._channel, flight.leg_begins_ns, rates))
        block.asleep = flight.leg_begins_ns < reception.wakes_ns
        if reception.unreachable is not None or block.asleep:
            block.per = block.erasure = 1.0
        return block

    def _begin_attempt(self, flight: Flight, leg: int, at_ns: float, waited: bool = False) -> None:
        """Begin an attempt at every receiver; `at_ns` is not rounded to whole nanoseconds.

        `waited`: for its random time, where there is one.
        """
        if leg != flight.leg:
            return
        flight.leg_begins_ns = self._env.now
        heard = [r for r in flight.receptions if r.predetermined is None]
        found = [self._current_block(flight, reception) for reception in heard]
        if flight.rate_bps == 0.0:
            self._ended(flight, flight.leg)
            return
        if flight.rate_bps is None:
            attempt_ns, wait_ns = found[0].attempt_ns, found[0].length_ns
            share = found[0].transmit_share
        else:
            bits, medium = flight.packet_bits, flight.medium
            attempt_ns, wait_ns = self._channel.attempt_ns(bits, flight.rate_bps, medium), None
            share = medium.transmit_share(attempt_ns)
        if attempt_ns == 0.0 and wait_ns is not None:  # a block in which nothing can be sent
            self._pause(flight, flight.leg_begins_ns, flight.leg_begins_ns + wait_ns)
            self._pausing[flight] = flight.leg_begins_ns
            self._env.call_after(wait_ns, self._resume, flight, leg, flight.leg_begins_ns)
            return
        nothing = heard and found[0].attempts == 0
        if self._radio.mac.random_access and not waited and not nothing:
            self._wait_at_random(flight, leg, at_ns, attempt_ns)
            return
        for reception, block in zip(heard, found, strict=True):
            reception.blocks, reception.block_attempts = [block], [0]
            reception.sampled_medium = reception.medium
        if nothing:  # nothing can be sent, ever
            heard[0].close_leg()
            self._ended(flight, flight.leg)
            return
        if waited:
            self._on_air.begin(flight, at_ns, attempt_ns)
        at_ns += attempt_ns
        flight.attempt_ns = attempt_ns
        self._transmits(flight, flight.leg_begins_ns, share, flight.stretches)
        self._plan_end(flight, at_ns)

    def _pause(self, flight: Flight, from_ns: int, to_ns: int) -> None:
        """Let nothing be sent between two instants; what has been counted needs no stretches."""
        uncounted = [one for one in flight.stretches if one[1] > flight.accounted_to_ns]
        flight.stretches = [*uncounted, (from_ns, to_ns, 0.0)]

    def _resume(self, flight: Flight, leg: int, since_ns: int) -> None:
        """Go on after a block in which nothing could be sent, unless that has been done."""
        if leg == flight.leg and self._pausing.get(flight) == since_ns:
            del self._pausing[flight]
            now = self._env.now
            flight.stretches = [*flight.stretches[:-1], (since_ns, now, 0.0)]
            self._begin_attempt(flight, leg, flight.begins_ns + _spread_ns(flight, now))

    def _wait_at_random(self, flight: Flight, leg: int, ready_ns: float, packet_ns: float) -> None:
        """Begin the next attempt at a random time."""
        flight.waits += 1
        draw = self._streams.uniform("random access", flight.src, flight.begins_ns, flight.waits)
        at_ns = self._on_air.begins_ns(flight.src, ready_ns, packet_ns, draw)
        now, begins_ns = self._env.now, max(self._env.now, round(at_ns))
        if begins_ns > now:
            self._pause(flight, now, begins_ns)
        # After those that end at that instant, with which it does not overlap.
        due = self._env.event_after(begins_ns - now, LAST)
        add_callback(due, lambda _: self._begin_attempt(flight, leg, at_ns, True))

    def _end_attempt(self, flight: Flight, leg: int, at_ns: float) -> None:
        """Sample the attempt's success for each receiver, unless it ends at another time."""
        if leg != flight.leg or flight.attempt_ends_ns != at_ns:
            return
        flight.attempt_ends_ns = None
        over, met = False, self._on_air.end(flight)
        if flight.broadcast:
            flight.packets_left -= 1
            over = flight.packets_left == 0
        for reception in flight.receptions:
            if not reception.blocks:
                continue
            counts, block = self._counts[reception], reception.blocks[0]
            assert reception.rng is not None
            if met and self._is_surely_spoilt(flight, reception, block, met):
                block.per = block.erasure = 1.0
                reception.sampled_medium = reception.medium._replace(collision=1.0)
            reception.block_attempts = [1]
            reception.close_leg()
            snr = 0.0 if block.asleep else block.snr  # of what reaches the decoder
            spared = 1.0 - next(counts.bursts)
            failure = 1.0 - (1.0 - self._failure_probability(flight, counts, block, snr)) * spared
            through = bool(reception.rng.random() >= failure)
            if reception.rates is not None:
                reception.rates.count(block.rate_bps, 1, int(through))
            if flight.broadcast:
                counts.settled.append(through)
            else:
                over = self._count_attempt(counts, through, snr)
                over = over or len(counts.settled) == flight.packets
        if over and flight.feedback_ns:
            self._env.call_after(flight.feedback_ns, self._ended, flight, leg)
        elif over:
            self._ended(flight, flight.leg)
        else:
            self._begin_attempt(flight, leg, at_ns)

    def _is_surely_spoilt(
        self, flight: Flight, reception: Reception, block: ChannelBlock, met: Sequence[Overlap]
    ) -> bool:
        """Return whether other senders on the air surely make a receiver lose an attempt.

        Where senders reserve sub-channels, powers in the same one are noise, and a receiver that
        sent meanwhile heard nothing.
        """
        if self._on_air.reservations is None:
            return True
        dst, begins_ns = reception.tx.dst, flight.leg_begins_ns
        if any(other.src == dst for other in met):
            return True
        beside = [Interferer(o.src, o.power, begins_ns) for o in met if not o.beside]
        rise = self._channel.noise_rise(dst, beside, begins_ns)
        if rise > 1.0 and block.per < 1.0:
            block.snr, block.noise_rise = block.snr / rise, rise
            rate_bps = flight.rate_bps or self._channel.rate_bps(block.snr * rise)
            block.per = self._channel.packet_error(block.snr, flight.packet_bits, rate_bps)
        return False

    def _count_attempt(self, counts: _PacketCounts, through: bool, snr: float) -> bool:
        """Count an attempt at the packet in turn; whether the message is given up."""
        arq = self._radio.arq
        counts.tried += 1
        counts.combined_snr += snr
        if not through and counts.tried != arq.limit:
            return False
        counts.settled.append(through)
        counts.tried, counts.combined_snr = 0, 0.0
        return bool(arq.gives_up and not through)

    def _failure_probability(
        self, flight: Flight, counts: _PacketCounts, block: ChannelBlock, snr: float
    ) -> float:
        """Probability that an attempt fails, given that those that it is combined with failed."""
        if not self._radio.combines or flight.broadcast:
            return block.per
        bits, earlier_snr = flight.packet_bits, counts.combined_snr
        before = self._channel.packet_error(earlier_snr, bits) if earlier_snr else 1.0
        after = self._channel.packet_error(earlier_snr + snr, bits)
        given = after / before if before > 0.0 else 0.0
        return block.erasure + (1.0 - block.erasure) * given


def _spread_ns(flight: Flight, time_ns: int) -> float:
    """Return the time that a flight has been under way [ns], in spread time where it has slots."""
    elapsed_ns = time_ns - flight.begins_ns
    return elapsed_ns if flight.turns is None else flight.turns.spread_ns(elapsed_ns)
