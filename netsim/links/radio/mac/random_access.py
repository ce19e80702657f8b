"""Random access among flights: who contends, and which packets overlap on the air.

Short messages are played packet by packet: each waits for a time of its own and is lost if any
other is on the air while it is. So are all messages with `fidelity = "packet"`. Of longer ones the
packets that are lost are drawn as if the others always had one to send, and so they count for short
ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from netsim.channels.mac import ALONE, Hearing, Mac, Medium, Reservations
from netsim.channels.mac.orthogonal import Orthogonal
from netsim.links.link import Transmission
from netsim.links.radio.mac.flight import Flight
from netsim.links.radio.mac.interference import Interference
from netsim.links.radio.phy.channel import RadioChannel
from netsim.rng import Streams

PLAYED = 32
"""Messages of up to so many packets are played packet by packet."""


class Overlap(NamedTuple):
    """A packet that was on the air at the same time as another one.

    Attributes
    ----------
    src : int
        Its sender.
    power : float
        Over the sender's full one.
    beside : bool
        Whether it was in another sub-channel.
    """

    src: int
    power: float
    beside: bool


class OnAir:
    """Packets on the air, their overlaps, and the times from which senders may send again."""

    def __init__(self) -> None:
        self.reservations: Reservations | None = None
        self._mac: Mac = Orthogonal()  # which sends no packets here
        self._met: dict[Flight, list[Overlap]] = {}
        self._channels: dict[Flight, int] = {}
        self._silent_until_ns: dict[int, float] = {}

    def set_mac(self, mac: Mac, nodes: int, streams: Streams, hearing: Hearing) -> None:
        """Set the rule by which nodes send from now on; the same one goes on with what is reserved.

        Parameters
        ----------
        mac : Mac
        nodes : int
        streams : Streams
        hearing : callable
            Who hears whom how well.
        """
        self._hearing = hearing
        if mac != self._mac:
            self._mac = mac
            self.reservations = mac.reservations(nodes, streams, self._heard_dbm)

    def _heard_dbm(self, src: int, time_ns: int) -> NDArray[np.float64]:
        """Powers at which each node hears a sender, by the links of now [dBm]."""
        return self._hearing(src, time_ns)

    def begins_ns(self, src: int, ready_ns: float, packet_ns: float, draw: float) -> float:
        """Time at which a node sends a packet.

        Parameters
        ----------
        src : int
        ready_ns : float
            From when on it could be.
        packet_ns : float
            Its time on the air.
        draw : float
            Uniform on [0, 1).
        """
        if self.reservations is not None:
            return self.reservations.begins_ns(src, ready_ns, packet_ns)
        ready_ns = max(ready_ns, self._silent_until_ns.get(src, 0.0))
        return self._mac.begins_ns(ready_ns, packet_ns, draw)

    def first_slot_ns(
        self,
        channel: RadioChannel,
        group: Sequence[Transmission],
        packet_bits: int,
        ready_ns: int,
    ) -> int:
        """Start of a message whose packets are not played one by one: now, or in a slot [ns].

        Parameters
        ----------
        channel : RadioChannel
        group : sequence of Transmission
            One for each receiver of the message.
        packet_bits : int
            Header included.
        ready_ns : int
            From when on it could be sent.
        """
        rates_bps = [channel.mean_rate_bps(tx.src, tx.dst, ready_ns) for tx in group]
        rate_bps = min((rate for rate in rates_bps if rate > 0), default=0.0)
        if not rate_bps:
            return ready_ns
        packet_ns = channel.attempt_ns(packet_bits, rate_bps, ALONE)
        return round(self._mac.begins_ns(ready_ns, packet_ns, 0.0))

    def begin(self, flight: Flight, at_ns: float, packet_ns: float) -> None:
        """Send a packet of a flight, which meets all others that are on the air.

        Parameters
        ----------
        flight : Flight
        at_ns : float
            Now, not rounded.
        packet_ns : float
            Its time on the air.
        """
        silence_ns, channel = self._mac.silence_ns(packet_ns), 0
        if silence_ns:
            self._silent_until_ns[flight.src] = at_ns + packet_ns + silence_ns
        if self.reservations is not None:
            channel = self.reservations.begun(flight.src, round(at_ns))
        here = []
        for other, met in self._met.items():
            beside = self._channels[other] != channel
            met.append(Overlap(flight.src, flight.power_now, beside))
            here.append(Overlap(other.src, other.power_now, beside))
        self._met[flight], self._channels[flight] = here, channel

    def end(self, flight: Flight) -> Sequence[Overlap]:
        """End the packet of a flight, if it is on the air; returns what it has met there."""
        self._channels.pop(flight, None)
        return self._met.pop(flight, ())


class RandomAccess(Interference):
    """Interference in which a flight that is played meets the others on average only."""

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
