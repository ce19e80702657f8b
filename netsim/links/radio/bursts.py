"""Senders that spoil no packet alone, but do when several of them are on the air at once.

Each interferer k is on the air during a part of a packet with a probability q_k, by itself; then
its power over noise is added to what the receiver meets. The packet is lost with the mean of its
error over who is there. With few strong interferers and packet errors that rise within 2 dB from
hardly any to all this is far from the error at their mean power. The acknowledgement meets them at
the packet's sender, at one instant.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from functools import lru_cache
from math import exp, inf
from typing import NamedTuple

from netsim.channels.mac.csma import ACK_BITS, basic_rate_bps
from netsim.links.radio.channel import RadioChannel
from netsim.links.radio.conditions import sending_rate_bps
from netsim.links.radio.flight import Flight
from netsim.units import db_to_linear

MOST = 4
"""So many interferers come and go, the strongest ones; others count with their mean power."""
CERTAIN = 1.0 / 32.0
"""A loss so near to none, or to all, is taken for it."""
STEP = db_to_linear(0.1)
"""Noise rises by this from one point of a curve of losses to the next."""
LOUDEST = 1e6
"""Noise over noise beyond which nothing is asked for."""


class Curve(NamedTuple):
    """Losses of a packet over noise.

    Attributes
    ----------
    noise : list of float
        Interference and noise over noise, linear, ascending: from where next to nothing is lost to
        it to where next to everything is.
    lost : list of float
        Probability of losing the packet to it, if not to noise alone.
    """

    noise: list[float]
    lost: list[float]

    def at(self, noise: float) -> float:
        """The loss at one noise, between the two points around it."""
        i = bisect_left(self.noise, noise)
        if i == 0:
            return 0.0
        if i == len(self.noise):
            return 1.0
        low, high = self.noise[i - 1], self.noise[i]
        part = (noise - low) / (high - low)
        return self.lost[i - 1] + part * (self.lost[i] - self.lost[i - 1])


def curve(error: Callable[[float], float], snr: float) -> Curve | None:
    """Losses of a packet over noise; None: it is lost without interference, too.

    Parameters
    ----------
    error : callable
        SNR, linear -> packet error; falls with it.
    snr : float
        Of the packet, linear.
    """
    alone = error(snr)
    if alone >= 1.0 - CERTAIN:
        return None

    def lost(noise: float) -> float:
        return (error(snr / noise) - alone) / (1.0 - alone)

    quiet, loud = 1.0, LOUDEST
    if lost(loud) <= CERTAIN:
        return Curve([loud], [0.0])
    while loud > STEP * quiet:
        middle = (quiet * loud) ** 0.5
        if lost(middle) <= CERTAIN:
            quiet = middle
        else:
            loud = middle
    noises, losses = [quiet], [0.0]
    while losses[-1] < 1.0 - CERTAIN and noises[-1] < LOUDEST:
        noises.append(noises[-1] * STEP)
        losses.append(lost(noises[-1]))
    return Curve(noises, losses)


def lost_to_several(over: Curve, interferers: Sequence[tuple[float, float]]) -> float:
    """Probability that a packet is lost to interferers that come and go, if not to noise.

    Parameters
    ----------
    over : Curve
        Of the packet.
    interferers : sequence of (float, float)
        Power over noise, linear, and probability of being on the air.
    """
    harmless, loudest = over.noise[0], over.noise[-1]
    left = 1.0 + sum([power for power, _ in interferers])
    if left <= harmless:
        return 0.0
    ranked = sorted(interferers, reverse=True)
    base = 1.0 + sum([power * there for power, there in ranked[MOST:]])
    left = base + sum([power for power, _ in ranked[:MOST]])

    def mean(i: int, noise: float, most: float) -> float:
        """Mean loss over the interferers from the i-th on; with all of them noise is `most`."""
        if most <= harmless:
            return 0.0
        if noise >= loudest:
            return 1.0
        if i == len(ranked) or i == MOST:
            return over.at(noise)
        power, there = ranked[i]
        with_it, without_it = mean(i + 1, noise + power, most), mean(i + 1, noise, most - power)
        return there * with_it + (1.0 - there) * without_it

    return mean(0, base, left)


def overlap(share: float, frame_s: float, others_frame_s: float) -> float:
    """Probability that a sender is on the air during a part of another one's packet.

    Parameters
    ----------
    share : float
        Of the time that it is on the air, above 0; its packets begin at random while it is not.
    frame_s, others_frame_s : float
        Times of the packet, and of the sender's own [s].
    """
    if share >= 1.0:
        return 1.0
    silent_s = others_frame_s * (1.0 - share) / share
    return 1.0 - (1.0 - share) * exp(-frame_s / silent_s)


class Bursts:
    """What several senders together do to the packets of flights, where the channel is constant.

    Parameters
    ----------
    channel : RadioChannel
        One that does not change in time.
    acknowledged : bool
        Whether unicasts are.
    """

    def __init__(self, channel: RadioChannel, acknowledged: bool) -> None:
        self._channel, self._acknowledged = channel, acknowledged
        self._curve = lru_cache(maxsize=1 << 14)(self._new_curve)

    def lost(
        self,
        flight: Flight,
        receiver: int,
        interferers: Sequence[tuple[float, float]],
        at_sender: Sequence[tuple[float, float]],
    ) -> float:
        """Probability of losing a packet, or its acknowledgement, to them.

        Parameters
        ----------
        flight : Flight
        receiver : int
            One of its receivers.
        interferers : sequence of (float, float)
            At the receiver: power over noise, linear, and probability of being on the air during a
            part of a packet.
        at_sender : sequence of (float, float)
            The same at the sender, at one instant.
        """
        over, lost = self._of_packets(flight, receiver), 0.0
        if over is not None:
            lost = lost_to_several(over, interferers)
        if not self.acknowledges(flight):
            return lost
        over = self._of_acknowledgements(flight, receiver)
        if over is None:
            return lost
        return 1.0 - (1.0 - lost) * (1.0 - lost_to_several(over, at_sender))

    def acknowledges(self, flight: Flight) -> bool:
        """Whether the packets of a flight are acknowledged."""
        return self._acknowledged and not flight.broadcast

    def _new_curve(self, snr: float, bits: int, rate_bps: float) -> Curve | None:
        return curve(lambda sinr: self._channel.error(sinr, bits, rate_bps), snr)

    def harmless(self, flight: Flight, receiver: int) -> float:
        """Interference and noise over noise up to which a flight's packets are lost as without it.

        Parameters
        ----------
        flight : Flight
        receiver : int
            One of its receivers.
        """
        over = self._of_packets(flight, receiver)
        return 0.0 if over is None else over.noise[0]

    def harmless_to_acknowledgements(self, flight: Flight, receiver: int) -> float:
        """The same of what a receiver answers, at the sender; infinite where it does not.

        Parameters
        ----------
        flight : Flight
        receiver : int
            One of its receivers.
        """
        if not self.acknowledges(flight):
            return inf
        over = self._of_acknowledgements(flight, receiver)
        return inf if over is None else over.noise[0]

    def _of_packets(self, flight: Flight, receiver: int) -> Curve | None:
        """The losses of a flight's packets at a receiver; None: they are lost anyway."""
        snr = self._snr(flight, receiver)
        rate_bps = sending_rate_bps(flight, snr, self._channel)
        return self._curve(snr, flight.packet_bits, rate_bps) if rate_bps > 0.0 else None

    def _of_acknowledgements(self, flight: Flight, receiver: int) -> Curve | None:
        """The losses of what a receiver sends back; None: they are lost anyway."""
        snr = self._snr(flight, receiver)
        rate_bps = sending_rate_bps(flight, snr, self._channel)
        if rate_bps <= 0.0:
            return None
        answer = self._channel.snr(receiver, flight.src, flight.begins_ns)
        return self._curve(answer, ACK_BITS, basic_rate_bps(rate_bps))

    def _snr(self, flight: Flight, receiver: int) -> float:
        return self._channel.snr(flight.src, receiver, flight.begins_ns) * flight.power_now
