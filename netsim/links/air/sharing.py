"""What flights at the same time do to each other: interference, or contention for the medium."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from netsim.channels.mac import Mac, Medium
from netsim.links.air.flight import Flight
from netsim.links.propagation import Propagation

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

    def join(self, flight: Flight, others: Iterable[Flight], now_ns: int) -> list[Flight]:
        """Set what a new flight meets; which of the others meet something else from now on."""
        flight.near = {}
        for reception in flight.receptions:
            reception.heard = {}
        if self._mac.interferes:
            changed = []
            for other in others:
                for reception in flight.receptions:
                    if reception.tx.dst != other.src:
                        inr = self._channel.snr(other.src, reception.tx.dst, now_ns)
                        reception.heard[other] = inr
                if self._heard(other, flight, now_ns):
                    changed.append(other)
            _sum_up(flight)
            return changed
        for other in others:
            if self._in_range(flight, other, now_ns):
                flight.near[other] = other.near[flight] = None
                self._count(other)
        self._count(flight)
        return list(flight.near)

    def leave(self, flight: Flight, others: Iterable[Flight]) -> list[Flight]:
        """Which of the others meet something else now that a flight has ended."""
        if self._mac.interferes:
            changed = []
            for other in others:
                known = [r for r in other.receptions if r.heard.pop(flight, 0.0)]
                if known and _sum_up(other):
                    changed.append(other)
            return changed
        for other in flight.near:
            del other.near[flight]
            self._count(other)
        return list(flight.near)

    def _heard(self, at: Flight, flight: Flight, now_ns: int) -> bool:
        """Add a flight to what the receivers of another hear; whether that matters."""
        for reception in at.receptions:
            if reception.tx.dst != flight.src:
                inr = self._channel.snr(flight.src, reception.tx.dst, now_ns)
                reception.heard[flight] = inr
        return _sum_up(at)

    def _in_range(self, one: Flight, other: Flight, now_ns: int) -> bool:
        if self._distance_m is None:
            return True
        assert self._mac.range_m is not None
        return self._distance_m(one.src, other.src, now_ns) <= self._mac.range_m

    def _count(self, flight: Flight) -> None:
        flight.medium = self._mac.medium(1 + len(flight.near), self._nodes)
        for reception in flight.receptions:
            reception.medium = flight.medium


def _sum_up(flight: Flight) -> bool:
    """Set the noise rise at each receiver from what it hears; whether any has changed."""
    changed = False
    for reception in flight.receptions:
        rise = 1.0 + sum(reception.heard.values())
        if abs(rise - reception.medium.noise_rise) > NEGLIGIBLE * rise:
            reception.medium = Medium(noise_rise=rise)
            changed = True
    return changed
