"""Flights attempt by attempt: an event each, a plain coin for its fate.

It says the same as `whole` in the most literal way, and is there to be compared with it; the time
on the air is counted when a flight has ended, so a battery runs empty no earlier. An attempt
takes the time that it has under the conditions at its beginning, and fails with the probability of
the worst that it meets. So the two differ in the attempt under way where others slow it down, or
where interference grows and the rate follows it: `whole` sends it anew in the time that it takes
then.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from operator import attrgetter

import numpy as np
from numpy.typing import NDArray

from netsim.clock import LAST, Clock, then
from netsim.links.link import Report
from netsim.links.radio.channel import Propagation, Stretch
from netsim.links.radio.flight import Flight, Reception, on_air
from netsim.links.radio.table import Radio
from netsim.rng import Streams


class _Ledger:
    """What a receiver has got."""

    def __init__(self, packets: int) -> None:
        self.packets = packets
        self.fates: list[bool] = []
        self.tried = 0
        self.energy = 0.0  # SNR of the failed attempts at the packet in turn, where they combine

    @property
    def delivered(self) -> int:
        return sum(self.fates)

    @property
    def lost(self) -> int:
        return len(self.fates) - self.delivered

    def arrived(self) -> NDArray[np.bool_]:
        """Which packets arrived, in sending order."""
        return np.array([*self.fates, *[False] * (self.packets - len(self.fates))])


class ByPacket:
    """Plays flights; see `netsim.links.radio.message_level.Whole`."""

    def __init__(
        self,
        radio: Radio,
        channel: Propagation,
        env: Clock,
        streams: Streams,
        over: Callable[[Flight], None],
    ) -> None:
        self._radio, self._channel = radio, channel
        self._env, self._streams, self._over = env, streams, over
        self._ledgers: dict[Reception, _Ledger] = {}

    def begin(self, flight: Flight) -> None:
        """Plan the first attempt, and the end of the time to live."""
        for reception in flight.receptions:
            if reception.fixed is None:
                tx = reception.tx
                key = (tx.src, tx.dst, reception.serial)
                reception.rng = self._streams.generator("attempts", *key)
                self._ledgers[reception] = _Ledger(flight.packets)
        now = self._env.now
        if flight.deadline_ns is not None:
            # Last of its instant: what arrives at that very moment has arrived.
            due = self._env.due(flight.deadline_ns - now, LAST)
            then(due, partial(self._expire, flight, flight.leg))
        wait_ns = flight.from_ns - now
        self._env.after(wait_ns, self._attempt, flight, flight.leg, float(flight.from_ns))

    def change(self, flight: Flight, worse: bool) -> None:
        """Other conditions; `worse`: the attempt under way meets them, too, in the same time."""
        if not worse or self._env.now - flight.from_ns > flight.attempt_ns - 1.0:
            return  # it meets the old ones, or is over at this instant
        for reception in flight.receptions:
            if reception.met:  # a rise after a greater fall is not the worst that it has met
                met = self._stretch(flight, reception), reception.met[0]
                reception.met = [min(met, key=attrgetter("snr"))]

    def report(self, flight: Flight, reception: Reception, cut: bool) -> Report:
        """What became of a flight that ends now at a receiver."""
        ledger = self._ledgers.pop(reception)
        under_way = len(reception.met) if self._env.now > flight.from_ns else 0
        reception.met = []
        channel, limit = self._channel, self._radio.arq.limit
        return reception.report(flight, under_way, ledger, ledger.arrived(), channel, limit)

    def _expire(self, flight: Flight, leg: int, _: object) -> None:
        if leg == flight.leg:
            flight.expired = True
            self._over(flight)

    def _stretch(self, flight: Flight, reception: Reception) -> Stretch:
        """The channel to a receiver when the attempt under way began."""
        stretch = next(
            self._channel.stretches(
                flight.src,
                reception.tx.dst,
                flight.from_ns,
                flight.packet_bits,
                flight.rate_bps,
                medium=reception.medium,
                began_ns=flight.begins_ns,
            )
        )
        stretch.asleep = flight.from_ns < reception.wakes_ns
        if reception.in_vain or stretch.asleep:
            stretch.per = stretch.ruined = 1.0
        return stretch

    def _attempt(self, flight: Flight, leg: int, at_ns: float) -> None:
        """Begin an attempt, at a time that is not rounded to nanoseconds."""
        if leg != flight.leg:
            return
        flight.from_ns = self._env.now
        heard = [r for r in flight.receptions if r.fixed is None]
        found = [self._stretch(flight, reception) for reception in heard]
        if flight.rate_bps == 0.0:
            self._over(flight)
            return
        if flight.rate_bps is None:
            attempt_ns, wait_ns = found[0].attempt_ns, found[0].length_ns
        else:  # whoever hears it
            bits, medium = flight.packet_bits, flight.medium
            attempt_ns, wait_ns = self._channel.attempt_ns(bits, flight.rate_bps, medium), None
        if attempt_ns == 0.0 and wait_ns is not None:  # a block in which nothing can be sent
            flight.silent = [*flight.silent, (flight.from_ns, flight.from_ns + wait_ns)]
            self._env.after(wait_ns, self._attempt, flight, leg, at_ns + wait_ns)
            return
        for reception, stretch in zip(heard, found, strict=True):
            reception.met, reception.used = [stretch], [0]
        if heard and found[0].attempts == 0:  # and there is no other
            heard[0].close_leg()
            self._over(flight)
            return
        at_ns += attempt_ns
        flight.attempt_ns = attempt_ns
        flight.on_air = on_air(flight.medium, attempt_ns)
        self._env.after(round(at_ns) - self._env.now, self._settle, flight, leg, at_ns)

    def _settle(self, flight: Flight, leg: int, at_ns: float) -> None:
        """Toss the coin of an attempt for each receiver."""
        if leg != flight.leg:
            return
        over = False
        if flight.broadcast:
            flight.left -= 1
            over = flight.left == 0
        for reception in flight.receptions:
            if not reception.met:
                continue
            ledger, stretch = self._ledgers[reception], reception.met[0]
            assert reception.rng is not None
            reception.used = [1]
            reception.close_leg()
            through = bool(reception.rng.random() >= self._failing(flight, ledger, stretch))
            if flight.broadcast:
                ledger.fates.append(through)
            else:
                over = self._count(ledger, through, stretch.heard_snr)
                over = over or len(ledger.fates) == flight.packets
        if over:
            self._over(flight)
        else:
            self._attempt(flight, leg, at_ns)

    def _count(self, ledger: _Ledger, through: bool, snr: float) -> bool:
        """Note an attempt at the packet in turn; whether the message is given up."""
        arq = self._radio.arq
        ledger.tried += 1
        ledger.energy += snr
        if not through and ledger.tried != arq.limit:
            return False
        ledger.fates.append(through)
        ledger.tried, ledger.energy = 0, 0.0
        return bool(arq.gives_up and not through)

    def _failing(self, flight: Flight, ledger: _Ledger, stretch: Stretch) -> float:
        """Probability that an attempt fails, given that those that it is combined with did."""
        if not self._radio.arq.combines or flight.broadcast:
            return stretch.per
        before = self._channel.error(ledger.energy, flight.packet_bits) if ledger.energy else 1.0
        after = self._channel.error(ledger.energy + stretch.heard_snr, flight.packet_bits)
        given = after / before if before > 0.0 else 0.0
        return stretch.ruined + (1.0 - stretch.ruined) * given
