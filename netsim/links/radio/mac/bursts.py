"""Senders that spoil no packet alone, but do when several of them are on the air at once.

Each interferer k is on the air during a part of a packet with a probability q_k, by itself; then
its power over noise is added to what the receiver meets. The packet is lost with the mean of its
error over who is there. With few strong interferers and packet errors that rise within 2 dB from
hardly any to all this is far from the error at their mean power. The acknowledgement meets them at
the packet's sender, at one instant.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from netsim.channels.mac.csma import ACK_BITS, basic_rate_bps
from netsim.links.radio.mac.flight import Flight, sending_rate_bps
from netsim.links.radio.phy.channel import RadioChannel
from netsim.units import db_to_linear

Floats = NDArray[np.float64]

MOST = 4
"""So many interferers come and go, the strongest ones; others count with their mean power."""
CERTAIN = 1.0 / 32.0
"""A loss so near to none, or to all, is taken for it."""
STEP = db_to_linear(0.1)
"""Noise rises by this from one point of a curve of losses to the next."""
_TOGETHER = (np.arange(1 << MOST)[:, None] >> np.arange(MOST) & 1).astype(float)
"""Combinations of `MOST` senders on the air, a row for each."""
_ARE_ON = _TOGETHER > 0.0
_MOMENT_S = 1e-300
LOUDEST = 1e6
"""Noise over noise beyond which nothing is asked for."""
_FARTHEST = round(math.log(LOUDEST) / math.log(STEP))


class Curve(NamedTuple):
    """Losses of a packet over noise.

    Attributes
    ----------
    noise : ndarray, shape (n,)
        Interference and noise over noise, linear, ascending: from where next to nothing is lost to
        it to where next to everything is.
    lost : ndarray, shape (n,)
        Probability of losing the packet to it, if not to noise alone; below the first point it is
        0, above the last one 1.
    """

    noise: Floats
    lost: Floats


NONE = Curve(np.array([np.inf]), np.zeros(1))
"""Of packets that are not lost to others."""


def loss_curve(error: Callable[[float], float], snr: float) -> Curve:
    """Losses of a packet over noise; `NONE`: it is lost without interference, too.

    Parameters
    ----------
    error : callable
        SNR, linear -> packet error; falls with it. Asked for powers of `STEP`, the same ones for
        all packets, beside `snr` itself.
    snr : float
        Of the packet, linear.
    """
    alone = error(snr)
    if alone >= 1.0 - CERTAIN:
        return NONE

    def lost(k: int) -> float:
        return (error(STEP**k) - alone) / (1.0 - alone)

    quiet = math.floor(math.log(snr) / math.log(STEP)) + 1
    loud = quiet - _FARTHEST
    if lost(loud) <= CERTAIN:
        return Curve(np.array([LOUDEST]), np.zeros(1))
    while quiet - loud > 1:
        middle = (quiet + loud) // 2
        if lost(middle) <= CERTAIN:
            quiet = middle
        else:
            loud = middle
    noises, losses = [max(1.0, snr / STEP**quiet)], [0.0]
    while losses[-1] < 1.0 - CERTAIN and noises[-1] < LOUDEST:
        quiet -= 1
        noises.append(snr / STEP**quiet)
        losses.append(lost(quiet))
    return Curve(np.array(noises), np.array(losses))


def lost_to_several(over: Sequence[Curve], power: Floats, there: Floats) -> Floats:
    """Probabilities that packets are lost to interferers that come and go, if not to noise.

    Parameters
    ----------
    over : sequence of Curve
        Of each packet.
    power : (packets, interferers) float64
        Over noise, linear.
    there : (packets, interferers) float64
        Probability of being on the air.

    Returns
    -------
    (packets,) float64
    """
    packets = np.arange(len(over))[:, None]
    strongest = np.lexsort((there, power))[:, : -MOST - 1 : -1]
    of_strongest, chance = power[packets, strongest], there[packets, strongest]
    means = power * there
    means[packets, strongest] = 0.0
    several = strongest.shape[1]
    on, are_on = _TOGETHER[: 1 << several, :several], _ARE_ON[: 1 << several, :several]
    noise = (1.0 + np.add.reduce(means, 1))[:, None] + of_strongest @ on.T
    if not any([most > curve.noise[0] for most, curve in zip(noise.max(1), over, strict=True)]):
        return np.zeros(len(over))  # interferers beyond the strongest count with their means only
    chance = chance[:, None, :]
    weights = np.multiply.reduce(np.where(are_on, chance, 1.0 - chance), 2)
    losses = [
        np.interp(row, curve.noise, curve.lost, right=1.0)
        for row, curve in zip(noise, over, strict=True)
    ]
    return np.asarray(np.minimum(np.add.reduce(weights * np.array(losses), 1), 1.0))


def overlap_probabilities(share: Floats, frame_s: Floats, others_frame_s: Floats) -> Floats:
    """Probabilities that senders are on the air during a part of another one's packet.

    Parameters
    ----------
    share : ndarray
        Of the time that each is on the air, above 0; its packets begin at random while it is not.
    frame_s, others_frame_s : ndarray
        Times of the packet, and of the senders' own [s].
    """
    silent_s = others_frame_s * (1.0 - share) / np.maximum(share, _MOMENT_S)
    silent_s = np.maximum(silent_s, _MOMENT_S)
    return np.asarray(1.0 - (1.0 - share) * np.exp(-frame_s / silent_s))


class Bursts:
    """Effect of several senders together on the packets of flights, where the channel is constant.

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
        self._error = lru_cache(maxsize=1 << 14)(channel.packet_error)

    def _new_curve(self, snr: float, bits: int, rate_bps: float) -> Curve:
        return loss_curve(lambda sinr: self._error(sinr, bits, rate_bps), snr)

    def loss_curves(self, flight: Flight, receiver: int) -> tuple[Curve, Curve]:
        """Losses of a flight's packets, and of what its receiver answers.

        Parameters
        ----------
        flight : Flight
        receiver : int
            One of its receivers.

        Returns
        -------
        packets, answers : Curve
            `NONE`: they are lost anyway, or there are none.
        """
        snr = self._channel.snr(flight.src, receiver, flight.begins_ns) * flight.power_now
        rate_bps = sending_rate_bps(flight, snr, self._channel)
        if rate_bps <= 0.0:
            return NONE, NONE
        packets = self._curve(snr, flight.packet_bits, rate_bps)
        if flight.broadcast or not self._acknowledged:
            return packets, NONE
        answer = self._channel.snr(receiver, flight.src, flight.begins_ns)
        return packets, self._curve(answer, ACK_BITS, basic_rate_bps(rate_bps))
