"""Flights as whole messages: a draw per stretch of constant channel, one event at the end.

Conditions change when somebody else starts or stops to send. Then what was drawn up to that moment
stands, exactly as if every attempt had been drawn in turn (`Sending.rewind`), and the rest is drawn
anew. An attempt belongs to the stretch in which it begins. The one under way when interference
grows meets the new conditions, when it falls the old ones: each the worst that it meets (but one
that met a fall does not meet a later rise, unless it is the last, and counts as made should the
time to live end first). Where others slow an attempt down, what was done of it stays done.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from math import ceil
from typing import NamedTuple

import numpy as np

from netsim.channels.arq import Sending
from netsim.channels.arq.none import NoArq
from netsim.clock import Clock
from netsim.links.link import Report
from netsim.links.radio.channel import Propagation, Stretch
from netsim.links.radio.flight import Flight, Reception, on_air
from netsim.links.radio.receivers import slept_through
from netsim.links.radio.table import Radio
from netsim.rng import Streams

MAX_SEGMENTS = 100_000
"""After so many channel blocks in a row in which nothing gets through a message is given up."""

HOPELESS = 1.0 - 1e-9
"""Where more attempts than this fail, repeating is of no use unless something changes."""

UNREPEATED = NoArq()


class _Place(NamedTuple):
    """How far a leg has come: attempts done in which stretch, and of the one under way."""

    stretch: int
    done: int
    share: float
    attempt_ns: float


class Whole:
    """Draws flights to their ends.

    Parameters
    ----------
    radio, channel, env, streams
    over : callable
        Told of a flight when it has ended.
    """

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

    def begin(self, flight: Flight) -> None:
        """Draw a leg, from `flight.from_ns` on, and plan its end."""
        flight.drawn_under = flight.medium
        for reception in flight.receptions:
            reception.drawn_under = reception.medium
        if flight.rate_bps is not None:
            ends_ns = flight.from_ns + self._draw_broadcast(flight, flight.rate_bps)
        else:
            ends_ns = flight.from_ns + self._draw_unicast(flight, flight.receptions[0])
        if flight.deadline_ns is not None and (flight.expired or ends_ns > flight.deadline_ns):
            flight.expired = True
            ends_ns = flight.deadline_ns
        now = self._env.now
        flight.ends_ns = ends_ns if ends_ns > now else now
        self._env.after(flight.ends_ns - now, self._end, flight, flight.leg)

    def change(self, flight: Flight, worse: bool) -> None:
        """Go on under other conditions; `worse`: an attempt under way meets them, too."""
        now = self._env.now
        if now >= flight.ends_ns or (worse and _met_worse(flight)):
            return
        if now > flight.from_ns:
            place = self._place(flight, now)
            if not worse and place.share > 0.0:
                place = place._replace(done=place.done + 1, share=place.share - 1.0)
            if self._completes(flight, place):
                return
            for reception in flight.receptions:
                self._credit(flight, reception, place)
            flight.left -= place.done
            old, new = flight.drawn_under, flight.medium
            alone_ns = (place.attempt_ns - old.wait_ns) / old.slowdown
            flight.from_ns = now - round(place.share * (alone_ns * new.slowdown + new.wait_ns))
        else:
            for reception in flight.receptions:
                reception.met, reception.used = [], []
        flight.expired = False
        flight.leg += 1
        self.begin(flight)

    def report(self, flight: Flight, reception: Reception, cut: bool) -> Report:
        """What became of a flight that ends now at a receiver; `cut`: before its planned end."""
        under_way, arrived = 0, None
        if cut or flight.expired:
            now = self._env.now
            if now > flight.from_ns:
                place = self._place(flight, now)
                under_way = 1 if place.share > 0.0 else 0
                self._credit(flight, reception, place)
            else:
                reception.met, reception.used = [], []
                reception.sending = self._begun(flight, reception)
        reception.close_leg()
        sending = reception.sending
        assert sending is not None
        assert reception.rng is not None
        if reception.tx.message.accepts_partial and sending.delivered:
            arrived = sending.arrived(reception.rng)
        limit = self._radio.arq.limit
        return reception.report(flight, under_way, sending, arrived, self._channel, limit)

    def _end(self, flight: Flight, leg: int) -> None:
        if leg == flight.leg:
            self._over(flight)

    # -- drawing -----------------------------------------------------------------------------------

    def _draw_unicast(self, flight: Flight, reception: Reception) -> int:
        """Draw a leg; how long it takes in nanoseconds, what is left of the time to live apart."""
        sending = reception.sending = self._begun(flight, reception)
        rng = reception.rng = self._rng(flight, reception)
        met, used = reception.met, reception.used
        left_ns = None
        if flight.deadline_ns is not None:
            left_ns = max(0, flight.deadline_ns - flight.from_ns)
        passed_ns, barren, silent = 0, 0, []
        for stretch in self._stretches(flight, reception):
            if reception.in_vain:
                stretch.per = stretch.ruined = 1.0
            if stretch.per > HOPELESS and left_ns is not None:
                _bound(stretch, left_ns)
            met.append(stretch)
            used.append(_attempt(sending, rng, stretch))
            barren = barren + 1 if stretch.per > HOPELESS else 0
            if sending.over or stretch.length_ns is None or barren == MAX_SEGMENTS:
                break
            if stretch.attempt_ns == 0.0:
                begins_ns = flight.from_ns + passed_ns
                silent.append((begins_ns, begins_ns + stretch.length_ns))
            passed_ns += stretch.length_ns
            if left_ns is not None and passed_ns > left_ns:
                flight.expired = True
                break
        flight.silent = silent
        flight.on_air = on_air(
            flight.medium, next((s.attempt_ns for s in met if s.attempt_ns), 0.0)
        )
        duration_ns = sum(s.length_ns or 0 for s in met[:-1]) if len(met) > 1 else 0
        return duration_ns + round(used[-1] * met[-1].attempt_ns)

    def _draw_broadcast(self, flight: Flight, rate_bps: float) -> int:
        """The same for all that listen: one airtime, one draw each, no repetition."""
        if rate_bps <= 0.0:
            return 0
        flight.attempt_ns = self._channel.attempt_ns(flight.packet_bits, rate_bps, flight.medium)
        flight.on_air = on_air(flight.medium, flight.attempt_ns)
        for reception in flight.receptions:
            if reception.fixed is not None:
                continue
            sending = reception.sending = self._begun(flight, reception)
            rng = reception.rng = self._rng(flight, reception)
            for stretch in self._stretches(flight, reception, rate_bps):
                reception.met.append(stretch)
                reception.used.append(_attempt(sending, rng, stretch))
                if sending.over:
                    break
        return round(flight.left * flight.attempt_ns)

    def _stretches(
        self, flight: Flight, reception: Reception, rate_bps: float | None = None
    ) -> Iterator[Stretch]:
        """The channel that a leg meets."""
        src, dst = flight.src, reception.tx.dst
        found = self._channel.stretches(
            src,
            dst,
            max(0, flight.from_ns),
            flight.packet_bits,
            rate_bps,
            medium=reception.medium,
            began_ns=flight.begins_ns,
        )
        if reception.wakes_ns > flight.from_ns:
            found = slept_through(found, reception.wakes_ns - max(0, flight.from_ns))
        bursts = self._radio.bursts
        if bursts is None:
            return found
        rng = self._streams.generator("bursts", src, dst, reception.serial)
        return bursts.within(found, rng, reception.attempts)

    def _begun(self, flight: Flight, reception: Reception) -> Sending:
        """The message as it is where the leg begins."""
        if reception.base is not None:
            return reception.base.copy()
        arq = UNREPEATED if flight.broadcast else self._radio.arq
        decode = (
            partial(self._channel.error, packet_bits=flight.packet_bits) if arq.combines else None
        )
        return arq.begin(flight.packets, reception.tx.message.accepts_partial, decode)

    def _rng(self, flight: Flight, reception: Reception) -> np.random.Generator:
        """The stream of a leg, from its beginning."""
        tx = reception.tx
        if flight.leg == 0:
            return self._streams.lazy_generator("packets", tx.src, tx.dst, reception.serial)
        key = (tx.src, tx.dst, reception.serial, flight.leg)
        return self._streams.lazy_generator("packets", *key)

    # -- interruption ------------------------------------------------------------------------------

    def _place(self, flight: Flight, time_ns: int) -> _Place:
        """How far a leg has come at a time after its beginning."""
        elapsed_ns = time_ns - flight.from_ns
        if flight.broadcast:
            return _within(0, elapsed_ns, flight.attempt_ns, flight.left)
        met, used = flight.receptions[0].met, flight.receptions[0].used
        at = 0
        while at < len(met) - 1 and elapsed_ns >= (met[at].length_ns or 0):
            elapsed_ns -= met[at].length_ns or 0
            at += 1
        return _within(at, elapsed_ns, met[at].attempt_ns, used[at])

    def _completes(self, flight: Flight, place: _Place) -> bool:
        """Whether a flight has made its last attempt and is as good as over."""
        if flight.broadcast:
            return place.done >= flight.left
        first = flight.receptions[0]
        assert first.sending is not None
        at_last = place.stretch == len(first.used) - 1 and place.done >= first.used[-1]
        return at_last and first.sending.over

    def _credit(self, flight: Flight, reception: Reception, place: _Place) -> None:
        """Keep what was done up to a place in the leg, forget the rest; closes the leg."""
        if reception.fixed is not None:
            return
        at, done, used = place.stretch, place.done, reception.used
        if flight.broadcast:
            while at < len(used) - 1 and done >= used[at]:
                done -= used[at]
                at += 1
        sending, rng = self._begun(flight, reception), self._rng(flight, reception)
        for stretch in reception.met[: at + 1]:
            _attempt(sending, rng, stretch)
        if done < used[at]:
            sending.rewind(rng, done)
        reception.met, reception.used = reception.met[: at + 1], [*used[:at], done]
        reception.base = reception.sending = sending
        reception.rng = rng
        reception.close_leg()


def _met_worse(flight: Flight) -> bool:
    """Whether the attempt under way met more noise than there is now: it is the last one."""
    heard = [(r.medium, r.drawn_under) for r in flight.receptions]
    return bool(heard) and all(
        now.noise_rise < met.noise_rise and now == met._replace(noise_rise=now.noise_rise)
        for now, met in heard
    )


def _within(stretch: int, elapsed_ns: int, attempt_ns: float, attempts: int) -> _Place:
    """A place within a stretch of so many attempts; times were rounded to nanoseconds."""
    if attempt_ns <= 0.0:
        return _Place(stretch, 0, 0.0, 0.0)
    done = int((elapsed_ns + 0.5) / attempt_ns)
    share = elapsed_ns / attempt_ns - done
    if done >= attempts or share * attempt_ns < 0.5:
        return _Place(stretch, min(done, attempts), 0.0, attempt_ns)
    return _Place(stretch, done, share, attempt_ns)


def _attempt(sending: Sending, rng: np.random.Generator, stretch: Stretch) -> int:
    """Attempts of a message in a stretch."""
    room, snr = stretch.attempts, stretch.heard_snr
    return sending.attempt(rng, room, stretch.per, snr, stretch.ruined)


def _bound(stretch: Stretch, left_ns: int) -> None:
    """End a stretch without end soon after the time to live."""
    if stretch.attempts is None and stretch.attempt_ns > 0.0:
        stretch.attempts = ceil(left_ns / stretch.attempt_ns) + 1
        stretch.length_ns = ceil(stretch.attempts * stretch.attempt_ns)
