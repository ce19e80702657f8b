"""What flights at the same time do to each other: interference, or contention for the medium."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable
from typing import NamedTuple

from netsim.channels.mac import Mac
from netsim.links.radio.channel import Propagation
from netsim.links.radio.flight import Flight

NEGLIGIBLE = 1e-6
"""Relative change of interference and noise that interrupts nobody."""


class Sharing:
    """Keeps each flight's `medium` up to date.

    Parameters
    ----------
    mac, channel
    nodes : int
    distance_m : callable or None
        (one, other, time in ns) -> how far apart they are; None: no places, all are in range.
    """

    def __init__(
        self,
        mac: Mac,
        channel: Propagation,
        nodes: int,
        distance_m: Callable[[int, int, int], float] | None,
    ) -> None:
        self._mac, self._channel, self._nodes = mac, channel, nodes
        self._distance_m = distance_m if mac.range_m is not None else None

    def join(self, flight: Flight, others: Iterable[Flight], now_ns: int) -> Changed:
        """Set what a new flight meets; which of the others meet something else from now on."""
        flight.near = {}
        for reception in flight.receptions:
            reception.heard = {}
        others = list(others)
        for other in others:
            if self._mac.contends and self._in_range(flight, other, now_ns):
                flight.near[other] = other.near[flight] = None
            elif self._mac.interferes:
                self._hear(flight, other, now_ns)
                self._hear(other, flight, now_ns)
        self._set((flight, *flight.near))
        _sum_up(flight)
        return _changed(others, flight.near)

    def leave(self, flight: Flight, others: Iterable[Flight]) -> Changed:
        """Which of the others meet something else now that a flight has ended."""
        others = list(others)
        if self._mac.contends:
            for other in flight.near:
                del other.near[flight]
            self._set(flight.near)
        for other in others:
            for reception in other.receptions:
                reception.heard.pop(flight, None)
        return _changed(others, flight.near)

    def _hear(self, at: Flight, flight: Flight, now_ns: int) -> None:
        """Add a flight to what the receivers of another hear."""
        for reception in at.receptions:
            if reception.tx.dst != flight.src:
                inr = self._channel.snr(flight.src, reception.tx.dst, now_ns)
                reception.heard[flight] = inr

    def _in_range(self, one: Flight, other: Flight, now_ns: int) -> bool:
        if self._distance_m is None:
            return True
        assert self._mac.range_m is not None
        return self._distance_m(one.src, other.src, now_ns) <= self._mac.range_m

    def _set(self, flights: Iterable[Flight]) -> None:
        """Count with how many others each of some flights contends."""
        if not self._mac.contends:
            return
        for flight in flights:
            contenders = 1 + len(flight.near)
            flight.medium = self._mac.medium(contenders, self._nodes)
            flight.share = 1.0 / contenders
            for reception in flight.receptions:
                rise = reception.medium.noise_rise
                reception.medium = flight.medium._replace(noise_rise=rise)


class Changed(NamedTuple):
    """Flights that meet other conditions.

    Attributes
    ----------
    at_once : list of Flight
        They contend with more or fewer, or hear more: so does an attempt under way.
    after : list of Flight
        They hear less: an attempt under way keeps the worst that it has met.
    """

    at_once: list[Flight]
    after: list[Flight]


def _changed(others: Iterable[Flight], contending: Container[Flight]) -> Changed:
    """Sum up what they hear, and tell whom that or the contention has changed for."""
    changed = Changed([], [])
    for other in others:
        rises = _sum_up(other)
        if other in contending or rises > 0:
            changed.at_once.append(other)
        elif rises < 0:
            changed.after.append(other)
    return changed


def _sum_up(flight: Flight) -> int:
    """Set the noise rise at each receiver from what it hears; 1: some rise, -1: they fall."""
    changes = 0
    for reception in flight.receptions:
        rise = 1.0 + sum(inr * other.share for other, inr in reception.heard.items())
        before = reception.medium.noise_rise
        if abs(rise - before) > NEGLIGIBLE * rise:
            reception.medium = reception.medium._replace(noise_rise=rise)
            changes = 1 if rise > before or changes > 0 else -1
    return changes
