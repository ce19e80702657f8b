"""Effects of simultaneous flights on each other: interference, and contention for the medium.

A flight is told when what it meets changes because others begin or end, and is then sampled anew
from there on. Between these moments `background` follows the powers of its interferers as they fade
and move. Few flights are told:

- A sender is not heard at a receiver where its mean power is below `NEGLIGIBLE` times the noise
  (mean over fading; where gains are held for an exchange, the gain counts). Each one that is left
  out changes the SINR by .004 dB at most, in the mean. Where nodes move all count, since they may
  come near.
- Where no link changes in time, a flight is not told of interference that leaves its rate alone and
  its packet error rate within `ALIKE`. The mean SNR that is logged follows it all the same.
- Where links fade, it is not told until mean powers have changed by `SLIGHT` in all, relative to
  the interference and noise: .04 dB. Whenever it is sampled anew, all of them count.
- What begins and ends in the same instant is looked at together (`settle`): a sender whose next
  message follows its last one changes nothing for the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from operator import attrgetter
from typing import ClassVar, NamedTuple

from netsim.channels.mac import Mac
from netsim.links.radio.mac.flight import Flight, Reception
from netsim.links.radio.phy.channel import RadioChannel

NEGLIGIBLE = 1e-3
"""Interference over noise below which a sender is not heard."""

SLIGHT = 1e-2
"""Relative change of the mean interference and noise of which a fading link is not told."""

ALIKE = 1e-4
"""Difference of error probabilities up to which two SNRs are alike to a packet."""

PAIRS = 1 << 16
"""For so many pairs of nodes it is kept whether they are in carrier-sense range."""

_ROUNDING = 1e-9
_DROWNED = 1e-9
"""Share of a sum of which less than this is left is summed up anew."""

in_order = attrgetter("order")


class Interference:
    """Interference that keeps each flight's `medium` and each reception's interferers up to date.

    Parameters
    ----------
    mac : Mac
        The medium access rule.
    channel : RadioChannel
        Says how loud an interferer is at a receiver.
    nodes : int
        How many nodes there are.
    distance_m : callable or None
        (node, node, time in ns) -> distance in m; None: nodes have no places, all are in range.
    by_snr : bool
        Whether the SNR of each attempt counts: attempts at a packet are combined, or rates differ.

    Attributes
    ----------
    own_sending_drowns : bool
        Whether the receiver's own power is interference, too; not where it takes turns otherwise.
    """

    own_sending_drowns: ClassVar[bool] = False

    def __init__(
        self,
        mac: Mac,
        channel: RadioChannel,
        nodes: int,
        distance_m: Callable[[int, int, int], float] | None,
        by_snr: bool = False,
    ) -> None:
        self._mac, self._channel, self._nodes = mac, channel, nodes
        self._distance_m = distance_m if mac.range_m is not None else None
        self._least = 0.0 if channel.moving else NEGLIGIBLE
        self._by_error = channel.constant and not by_snr
        self._near = lru_cache(maxsize=PAIRS)(self._in_range)
        self._touched: dict[Flight, None] = {}  # those that may have to be told
        self._joined = 0

    def goes_on_from(self, before: Interference) -> bool:
        """Take over the flights on the air; return False if they must join again."""
        old, new = before._mac, self._mac
        if (old.contends, old.interferes) != (new.contends, new.interferes):
            return False
        self._touched, self._joined = before._touched, before._joined
        return True

    def join(self, flight: Flight, others: Iterable[Flight], now_ns: int) -> None:
        """Add a flight that begins.

        Parameters
        ----------
        flight : Flight
        others : iterable of Flight
            Those that are on the air.
        now_ns : int
        """
        self._joined += 1
        flight.order = self._joined
        others = list(others)
        flight.contenders = {}
        apart = others
        if self._mac.contends:
            src, when_ns = flight.src, now_ns if self._channel.moving else 0
            apart = []
            for other in others:
                pair = (src, other.src) if src < other.src else (other.src, src)
                if self._distance_m is None or self._near(*pair, when_ns):
                    flight.contenders[other] = other.contenders[flight] = None
                else:
                    apart.append(other)
            self._set_contention((flight, *flight.contenders), others)
        if self._mac.interferes and apart:
            self.add(flight, apart, now_ns)
        self._note_known_conditions(flight)

    def leave(self, flight: Flight, others: Iterable[Flight]) -> None:
        """Remove a flight that has ended.

        Parameters
        ----------
        flight : Flight
        others : iterable of Flight
            Those that are on the air.
        """
        if self._mac.interferes:
            self.remove(flight, others)
        self._touched.pop(flight, None)
        if self._mac.contends:
            for other in flight.contenders:
                del other.contenders[flight]
            self._set_contention(flight.contenders, others)

    def settle(self, now_ns: int) -> Changed:
        """Return the flights whose conditions have changed since the last call."""
        changed = Changed([], [])
        if not self._touched:
            return changed
        touched, self._touched = self._touched, {}
        for flight in sorted(touched, key=in_order) if len(touched) > 1 else touched:
            rises, known_medium = self._rise_sign(flight, now_ns), flight.known_medium
            fewer = not self._mac.senses and flight.medium.collision < known_medium.collision
            if fewer and rises <= 0:  # whoever has gone has spoilt the attempt under way, or not
                changed.after.append(flight)
            elif flight.medium != known_medium or rises > 0:
                changed.at_once.append(flight)
            elif rises < 0:
                changed.after.append(flight)
            flight.known_medium = flight.medium
        return changed

    def noticing_nodes(
        self, src: int, others: Sequence[int], time_ns: int, power: float = 1.0
    ) -> list[int]:
        """Return the nodes that notice a sender, within the range of the carrier sense.

        Parameters
        ----------
        src : int
        others : sequence of int
            Whom to consider.
        time_ns : int
        power : float
            Transmit power over the sender's full one.
        """
        found = self._channel.noticing_nodes(src, others, time_ns, power)
        if self._distance_m is None:
            return found
        when_ns = time_ns if self._channel.moving else 0
        return [j for j in found if self._near(min(src, j), max(src, j), when_ns)]

    # -- contention ------------------------------------------------------------------------------

    def _in_range(self, src: int, other: int, time_ns: int) -> bool:
        assert self._distance_m is not None
        assert self._mac.range_m is not None
        return self._distance_m(src, other, time_ns) <= self._mac.range_m

    def _set_contention(self, flights: Iterable[Flight], everybody: Iterable[Flight]) -> None:
        """Set the medium of some flights by how many others each contends with."""
        for flight in flights:
            contenders = 1 + len(flight.contenders)
            flight.medium = self._mac.medium(contenders, self._nodes)
            for reception in flight.receptions:
                reception.medium = flight.medium
            self._touched[flight] = None
            self.set_share(flight, 1.0 / contenders, everybody)

    # -- interference ----------------------------------------------------------------------------

    def add(self, flight: Flight, apart: Sequence[Flight], now_ns: int) -> None:
        """Let a flight and those that do not contend with it interfere at each other's receivers.

        Parameters
        ----------
        flight : Flight
        apart : sequence of Flight
        now_ns : int
        """
        src, senders = flight.src, [other.src for other in apart]
        for reception in flight.receptions:
            dst = reception.tx.dst
            loudness = self._channel.loudness.snr_at(dst, senders, now_ns)
            for other, loud in zip(apart, loudness, strict=True):
                inr = loud * other.power_now
                if inr >= self._least and (other.src != dst or self.own_sending_drowns):
                    reception.interferers[other] = inr
                    reception.rise += inr * other.medium_share
        hearing = [
            (other, r)
            for other in apart
            for r in other.receptions
            if r.tx.dst != src or self.own_sending_drowns
        ]
        receivers = [reception.tx.dst for _, reception in hearing]
        loudness = self._channel.loudness.snr_of(src, receivers, now_ns)
        for (other, reception), loud in zip(hearing, loudness, strict=True):
            inr = loud * flight.power_now
            if inr >= self._least:
                reception.interferers[flight] = inr
                self._shift(other, reception, src, inr, flight.medium_share)

    def remove(self, flight: Flight, others: Iterable[Flight]) -> None:
        """Let a flight that has ended no longer interfere with others.

        Parameters
        ----------
        flight : Flight
        others : iterable of Flight
            Those that are on the air.
        """
        for other in others:
            for reception in other.receptions:
                inr = reception.interferers.pop(flight, None)
                if inr is not None:
                    self._shift(other, reception, flight.src, inr, -flight.medium_share)
                    if not reception.interferers:
                        reception.rise = 1.0  # exactly, whatever was added and taken away

    def set_share(self, flight: Flight, share: float, others: Iterable[Flight]) -> None:
        """Set the share of the time for which a flight is on the air.

        Parameters
        ----------
        flight : Flight
        share : float
            In (0, 1].
        others : iterable of Flight
            Those that may hear it.
        """
        more, flight.medium_share = share - flight.medium_share, share
        if more == 0.0 or not self._mac.interferes:
            return
        for other in others:
            for reception in other.receptions:
                inr = reception.interferers.get(flight)
                if inr is not None:
                    self._shift(other, reception, flight.src, inr, more)

    def _shift(
        self, flight: Flight, reception: Reception, src: int, inr: float, share: float
    ) -> None:
        """Let an interferer be heard for a larger or smaller share of the time.

        Parameters
        ----------
        flight : Flight
        reception : Reception
            One of the flight's.
        src : int
            The interferer.
        inr : float
            Its power over noise, linear.
        share : float
            How much larger the share is.
        """
        more = inr * share
        reception.rise += more
        if reception.rise < -_DROWNED * more:  # what is left was lost in the rounding of the sum
            left = reception.interferers.items()
            reception.rise = 1.0 + sum(power * other.medium_share for other, power in left)
        self._touched[flight] = None
        if not self._by_error:
            weight = share if self._channel.moving else inr * share
            reception.shifts[src] = reception.shifts.get(src, 0.0) + weight

    def _note_known_conditions(self, flight: Flight) -> None:
        """Note that a flight has been sampled with its present interference."""
        self._touched.pop(flight, None)
        flight.known_medium = flight.medium
        for reception in flight.receptions:
            reception.known_rise = reception.rise
            reception.equal_rises = _rounding_interval(reception.rise)

    def _rise_sign(self, flight: Flight, now_ns: int) -> int:
        """1 if interference has grown at some receiver, else -1 if fallen at some; 0: no matter."""
        found = 0
        for reception in flight.receptions:
            rise, known_rise = reception.rise, reception.known_rise
            if self._by_error:
                if self._makes_no_difference(flight, reception):
                    reception.follow_rise(now_ns)
                    continue
                grows = rise > known_rise
            else:
                shifts = reception.shifts.values()
                least = _ROUNDING if self._channel.moving else SLIGHT * rise
                if sum(map(abs, shifts)) <= least:
                    continue
                grows = sum(shifts) > 0.0
                reception.shifts = {}
            found = 1 if grows or found > 0 else -1
            reception.known_rise = rise
            reception.equal_rises = _rounding_interval(rise)
        return found

    def _makes_no_difference(self, flight: Flight, reception: Reception) -> bool:
        """Return whether attempts fare as they did at the flight's last update."""
        rise = reception.rise
        low, high = reception.equal_rises
        if low <= rise <= high:
            return True
        full = self._channel.snr(flight.src, reception.tx.dst, flight.begins_ns)
        signal = flight.power_now * full
        known, now = signal / reception.known_rise, signal / rise
        if not _fares_alike(self._channel, known, now, flight):
            return False
        reception.equal_rises = min(low, rise), max(high, rise)
        return True


class Changed(NamedTuple):
    """Flights whose conditions have changed, in the order in which they began.

    Attributes
    ----------
    at_once : list of Flight
        More contend, or interference grows: this holds for an attempt under way, too.
    after : list of Flight
        Interference falls, or fewer collide: an attempt under way keeps the worst that it has met.
    """

    at_once: list[Flight]
    after: list[Flight]


def _rounding_interval(rise: float) -> tuple[float, float]:
    """Return the least and the largest number that differ from `rise` by no more than rounding."""
    return rise * (1.0 - _ROUNDING), rise * (1.0 + _ROUNDING)


def _fares_alike(channel: RadioChannel, one: float, other: float, flight: Flight) -> bool:
    """Return whether a flight's attempts at two SNRs have equal rates and chances to fail."""
    rate = channel.rate_bps(one) if flight.rate_bps is None else flight.rate_bps
    if flight.rate_bps is None and rate != channel.rate_bps(other):
        return False
    if rate <= 0.0:
        return True
    errors = [channel.packet_error(snr, flight.packet_bits, rate) for snr in (one, other)]
    return abs(errors[0] - errors[1]) <= ALIKE
