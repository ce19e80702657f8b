"""What simultaneous flights do to each other: interference, and contention for the medium."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable
from typing import NamedTuple

from netsim.channels.mac import Mac
from netsim.links.radio.channel import RadioChannel
from netsim.links.radio.flight import Flight

NEGLIGIBLE = 1e-6
"""Relative change of interference plus noise up to which no flight is interrupted."""


class Interference:
    """Keeps the `medium` of each flight and reception up to date.

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
    """

    def __init__(
        self,
        mac: Mac,
        channel: RadioChannel,
        nodes: int,
        distance_m: Callable[[int, int, int], float] | None,
    ) -> None:
        self._mac, self._channel, self._nodes = mac, channel, nodes
        self._distance_m = distance_m if mac.range_m is not None else None

    def join(self, flight: Flight, others: Iterable[Flight], now_ns: int) -> Changed:
        """Add a flight that begins.

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
        flight.contenders = {}
        for reception in flight.receptions:
            reception.interferers = {}
        others = list(others)
        for other in others:
            if self._mac.contends and self._in_range(flight, other, now_ns):
                flight.contenders[other] = other.contenders[flight] = None
            elif self._mac.interferes:
                self._add_interferer(flight, other, now_ns)
                self._add_interferer(other, flight, now_ns)
        self._set_contention((flight, *flight.contenders))
        _set_noise_rise(flight)
        return _changed(others, flight.contenders)

    def leave(self, flight: Flight, others: Iterable[Flight]) -> Changed:
        """Remove a flight that has ended; which of the others meet other conditions from now on."""
        others = list(others)
        if self._mac.contends:
            for other in flight.contenders:
                del other.contenders[flight]
            self._set_contention(flight.contenders)
        for other in others:
            for reception in other.receptions:
                reception.interferers.pop(flight, None)
        return _changed(others, flight.contenders)

    def _add_interferer(self, at: Flight, flight: Flight, now_ns: int) -> None:
        """Add a flight to the interferers at the receivers of another, `at`."""
        for reception in at.receptions:
            if reception.tx.dst != flight.src:
                inr = self._channel.snr(flight.src, reception.tx.dst, now_ns)
                reception.interferers[flight] = inr

    def _in_range(self, one: Flight, other: Flight, now_ns: int) -> bool:
        if self._distance_m is None:
            return True
        assert self._mac.range_m is not None
        return self._distance_m(one.src, other.src, now_ns) <= self._mac.range_m

    def _set_contention(self, flights: Iterable[Flight]) -> None:
        """Set the medium of some flights by how many others each contends with."""
        if not self._mac.contends:
            return
        for flight in flights:
            contenders = 1 + len(flight.contenders)
            flight.medium = self._mac.medium(contenders, self._nodes)
            flight.medium_share = 1.0 / contenders
            for reception in flight.receptions:
                rise = reception.medium.noise_rise
                reception.medium = flight.medium._replace(noise_rise=rise)


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


def _changed(others: Iterable[Flight], contending: Container[Flight]) -> Changed:
    """Set the noise rises anew; which flights have another one now, or other contenders."""
    changed = Changed([], [])
    for other in others:
        rises = _set_noise_rise(other)
        if other in contending or rises > 0:
            changed.at_once.append(other)
        elif rises < 0:
            changed.after.append(other)
    return changed


def _set_noise_rise(flight: Flight) -> int:
    """Set the noise rise at each receiver of a flight from its interferers.

    Returns 1 if it has grown at some receiver, else -1 if it has fallen at some, else 0.
    """
    changes = 0
    for reception in flight.receptions:
        rise = 1.0 + sum(inr * other.medium_share for other, inr in reception.interferers.items())
        before = reception.medium.noise_rise
        if abs(rise - before) > NEGLIGIBLE * rise:
            reception.medium = reception.medium._replace(noise_rise=rise)
            changes = 1 if rise > before or changes > 0 else -1
    return changes
