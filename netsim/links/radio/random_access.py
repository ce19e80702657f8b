"""Random access among flights: who contends, and which packets overlap on the air.

Short messages are played packet by packet: each waits for a time of its own and is lost if any
other is on the air while it is. So are all messages with `fidelity = "packet"`. Of longer ones the
packets that are lost are drawn as if the others always had one to send, and so they count for short
ones.
"""

from __future__ import annotations

from collections.abc import Iterable

from netsim.channels.mac import Medium
from netsim.links.radio.flight import Flight
from netsim.links.radio.interference import Interference

PLAYED = 32
"""Messages of up to so many packets are played packet by packet."""


class OnAir:
    """Packets on the air, and which of them overlap."""

    def __init__(self) -> None:
        self._spoilt: dict[Flight, bool] = {}

    def begin(self, flight: Flight) -> None:
        """Send a packet of a flight: it and all others that are on the air spoil each other."""
        for other in self._spoilt:
            self._spoilt[other] = True
        self._spoilt[flight] = bool(self._spoilt)

    def end(self, flight: Flight) -> bool:
        """End the packet of a flight that is on the air; whether another one overlapped it."""
        return self._spoilt.pop(flight, False)


class RandomAccess(Interference):
    """As `Interference`, where a flight that is played meets only those that are not as a mean."""

    def _set_contention(self, flights: Iterable[Flight], everybody: Iterable[Flight]) -> None:
        for flight in flights:
            if flight.played:
                sampled = sum(not other.played for other in flight.contenders)
                medium = self._mac.medium(1 + sampled, self._nodes)
                flight.medium = Medium(collision=medium.collision)
            else:
                flight.medium = self._mac.medium(1 + len(flight.contenders), self._nodes)
            for reception in flight.receptions:
                reception.medium = flight.medium
            self._touched[flight] = None
