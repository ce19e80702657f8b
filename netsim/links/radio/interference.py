"""What simultaneous flights do to each other: interference, and contention for the medium.

A flight is told when what it meets changes because another one begins or ends, and is then sampled
anew from there on. Between these moments `background` follows the powers of its interferers as they
fade and move. Not every flight is told of every other one:

- A sender is not heard at a receiver where its mean power is below `NEGLIGIBLE` times the noise
  (mean over fading; where gains are held for an exchange, the gain counts). Each one that is left
  out changes the SINR by .004 dB at most, in the mean. Where nodes move all count, since they may
  come near.
- Where no link changes in time, a flight is not told of interference that leaves its rate alone and
  its packet error rate within `channel.ALIKE`. The mean SNR that is logged follows it all the same.
- Where links fade, it is not told until the mean interference and noise has changed by
  `NEGLIGIBLE`, relative to that with which it was sampled.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

from netsim.channels.mac import Mac
from netsim.links.radio.channel import RadioChannel
from netsim.links.radio.flight import Flight, Reception

NEGLIGIBLE = 1e-3
"""Interference over noise below which a sender is not heard; relative change of both that counts
as none."""

PAIRS = 1 << 16
"""For so many pairs of nodes it is kept whether they are in carrier-sense range."""


class Interference:
    """Keeps the `medium` of each flight and the interferers of each reception up to date.

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
    combines : bool
        Whether attempts at a packet are combined, so that the SNR of each counts.
    """

    def __init__(
        self,
        mac: Mac,
        channel: RadioChannel,
        nodes: int,
        distance_m: Callable[[int, int, int], float] | None,
        combines: bool = False,
    ) -> None:
        self._mac, self._channel, self._nodes = mac, channel, nodes
        self._distance_m = distance_m if mac.range_m is not None else None
        self._least = 0.0 if channel.moving else NEGLIGIBLE
        self._by_error = channel.constant and not combines
        self._near = lru_cache(maxsize=PAIRS)(self._in_range)

    def join(self, flight: Flight, others: Iterable[Flight], now_ns: int) -> Changed:
        """Add a flight that begins.

        Parameters
        ----------
        flight : Flight
        others : iterable of Flight
            Those that are on the air, in the order in which they began.
        now_ns : int

        Returns
        -------
        Changed
            Which of the others meet other conditions from now on.
        """
        others = list(others)
        flight.contenders = {}
        apart = others
        if self._mac.contends:
            when_ns = now_ns if self._channel.moving else 0
            apart = []
            for other in others:
                if self._distance_m is None or self._near(flight.src, other.src, when_ns):
                    flight.contenders[other] = other.contenders[flight] = None
                else:
                    apart.append(other)
            self._set_contention((flight, *flight.contenders), others)
        touched: dict[Flight, None] = {}
        if self._mac.interferes and apart:
            touched = self._add_interferers(flight, apart, now_ns)
        for reception in flight.receptions:
            reception.acted_rise = reception.rise
            reception.alike = (reception.rise, reception.rise)
        return self._changed(others, flight.contenders, touched, now_ns)

    def leave(self, flight: Flight, others: Iterable[Flight], now_ns: int) -> Changed:
        """Remove a flight that has ended.

        Parameters
        ----------
        flight : Flight
        others : iterable of Flight
            Those that are on the air.
        now_ns : int

        Returns
        -------
        Changed
            Which of the others meet other conditions from now on.
        """
        others = list(others)
        touched: dict[Flight, None] = {}
        if self._mac.interferes:
            for other in others:
                for reception in other.receptions:
                    inr = reception.interferers.pop(flight, None)
                    if inr is not None:
                        touched[other] = None
                        rise = reception.rise - inr * flight.medium_share
                        # What is left of no interferers is rounding.
                        reception.rise = rise if reception.interferers else 1.0
        if self._mac.contends:
            for other in flight.contenders:
                del other.contenders[flight]
            self._set_contention(flight.contenders, others)
        return self._changed(others, flight.contenders, touched, now_ns, joined=False)

    # -- contention ------------------------------------------------------------------------------

    def _in_range(self, src: int, other: int, time_ns: int) -> bool:
        assert self._distance_m is not None
        assert self._mac.range_m is not None
        return self._distance_m(src, other, time_ns) <= self._mac.range_m

    def _set_contention(self, flights: Iterable[Flight], everybody: Sequence[Flight]) -> None:
        """Set the medium of some flights by how many others each contends with."""
        for flight in flights:
            contenders = 1 + len(flight.contenders)
            flight.medium = self._mac.medium(contenders, self._nodes)
            for reception in flight.receptions:
                reception.medium = flight.medium
            self._set_share(flight, 1.0 / contenders, everybody)

    def _set_share(self, flight: Flight, share: float, everybody: Sequence[Flight]) -> None:
        """Set the share of the time for which a flight sends, and so interferes."""
        more, flight.medium_share = share - flight.medium_share, share
        if more == 0.0 or not self._mac.interferes:
            return
        for other in everybody:
            for reception in other.receptions:
                inr = reception.interferers.get(flight)
                if inr is not None:
                    reception.rise += inr * more

    # -- interference ----------------------------------------------------------------------------

    def _add_interferers(
        self, flight: Flight, apart: Sequence[Flight], now_ns: int
    ) -> dict[Flight, None]:
        """Let a flight and others interfere at each other's receivers; which others it is heard at.

        Parameters
        ----------
        flight : Flight
        apart : sequence of Flight
            Those that do not contend with it.
        now_ns : int
        """
        senders = [other.src for other in apart]
        for reception in flight.receptions:
            dst = reception.tx.dst
            loudness = self._channel.loudness_at(dst, senders, now_ns)
            for other, inr in zip(apart, loudness, strict=True):
                if inr >= self._least and other.src != dst:
                    _add(reception, other, inr)
        touched: dict[Flight, None] = {}
        src = flight.src
        hearing = [(other, r) for other in apart for r in other.receptions if r.tx.dst != src]
        receivers = [reception.tx.dst for _, reception in hearing]
        loudness = self._channel.loudness_of(src, receivers, now_ns)
        for (other, reception), inr in zip(hearing, loudness, strict=True):
            if inr >= self._least:
                _add(reception, flight, inr)
                touched[other] = None
        return touched

    def _changed(
        self,
        others: Iterable[Flight],
        contending: dict[Flight, None],
        touched: dict[Flight, None],
        now_ns: int,
        joined: bool = True,
    ) -> Changed:
        """Which flights have to be told.

        Parameters
        ----------
        others : iterable of Flight
            In the order in which they are told.
        contending : dict of Flight to None
            Those that contend with another number of flights now.
        touched : dict of Flight to None
            Those of which a reception has one interferer more, or less.
        now_ns : int
        joined : bool
            Whether it is one more.
        """
        changed = Changed([], [])
        if not contending and not touched:
            return changed
        for other in others:
            rises = 0
            if other in touched and self._channel.moving:
                rises = self._told(other, 1 if joined else -1)
            elif contending or other in touched:  # contenders share: any flight may hear them less
                rises = self._rises(other, now_ns)
            if other in contending or rises > 0:
                changed.at_once.append(other)
            elif rises < 0:
                changed.after.append(other)
        return changed

    def _told(self, flight: Flight, rises: int) -> int:
        for reception in flight.receptions:
            reception.acted_rise = reception.rise
        return rises

    def _rises(self, flight: Flight, now_ns: int) -> int:
        """1 if interference has grown at some receiver, else -1 if fallen at some; 0: no matter."""
        found = 0
        for reception in flight.receptions:
            rise, acted = reception.rise, reception.acted_rise
            if self._by_error:
                if self._no_matter(flight, reception):
                    reception.follow(now_ns)
                    continue
            elif abs(rise - acted) <= NEGLIGIBLE * rise:
                continue
            found = 1 if rise > acted or found > 0 else -1
            reception.acted_rise = rise
            reception.alike = (rise, rise)
        return found

    def _no_matter(self, flight: Flight, reception: Reception) -> bool:
        """Whether attempts fare as they did when the flight was told last."""
        rise = reception.rise
        low, high = reception.alike
        if low <= rise <= high:
            return True
        signal = self._channel.snr(flight.src, reception.tx.dst, flight.begins_ns)
        told, now = signal / reception.acted_rise, signal / rise
        if not self._channel.alike(told, now, flight.packet_bits, flight.rate_bps):
            return False
        reception.alike = min(low, rise), max(high, rise)
        return True


class Changed(NamedTuple):
    """Flights whose conditions have changed.

    Attributes
    ----------
    at_once : list of Flight
        More or fewer contend, or interference grows: this holds for an attempt under way, too.
    after : list of Flight
        Interference falls: an attempt under way keeps the worst SNR that it has met.
    """

    at_once: list[Flight]
    after: list[Flight]


def _add(reception: Reception, flight: Flight, inr: float) -> None:
    """Add a flight to the interferers of a reception."""
    reception.interferers[flight] = inr
    reception.rise += inr * flight.medium_share
