"""Interference at a receiver as a function of time.

A sender k that transmits a share s_k of the time raises the noise of a receiver j by the factor

    r_j(t) = 1 + sum over k of s_k S_kj(t),    S_kj(t) = mean SNR_kj(t) * gain_kj(t),

where S_kj is the SNR that the link from k to j would have at t: the same path loss, shadowing and
places, and the same draw of fading. What j decodes at t is the wanted SNR over r_j(t). It changes
with every coherence block of an interferer's link and with every step of its movement, and is asked
for at any instant, in any order. A sender whose own link has no rate at t sends nothing then.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from netsim.links.radio.phy.fading_gains import FadingGains
from netsim.links.radio.phy.mean_snr import MeanSnr

FEW = 4
"""Up to so many interferers are summed one by one, more of them as arrays."""
FIRST_BLOCKS, MOST_BLOCKS = 4, 64
"""The fading of many is found for so many coherence blocks at once, for a leg that goes on for more
each time."""


class Interferer(NamedTuple):
    """A sender whose power is noise to a receiver.

    Attributes
    ----------
    src : int
    share : float
        Share of the time for which it transmits, times its power over the node's full one: in
        (0, 1].
    since_ns : int
        Since when it and the wanted sender are both on the air: whose fading counts where a gain is
        held for an exchange.
    dst : int or None
        Whom it sends to, at a rate that follows that link; None: it has one in any case.
    power : float
        Its power over the node's full one.
    """

    src: int
    share: float
    since_ns: int
    dst: int | None = None
    power: float = 1.0


class Background:
    """Interference and noise over noise at one receiver.

    Parameters
    ----------
    mean_snr : MeanSnr
    fading : FadingGains
    dst : int
        The receiver.
    interferers : sequence of Interferer
        At least one.
    has_rate : callable or None
        (sender, receiver, time [ns], power) -> whether a link has a rate; None: all have one.
    """

    def __init__(
        self,
        mean_snr: MeanSnr,
        fading: FadingGains,
        dst: int,
        interferers: Sequence[Interferer],
        has_rate: Callable[[int, int, int, float], bool] | None = None,
    ) -> None:
        self._mean_snr, self._fading, self._dst = mean_snr, fading, dst
        self._has_rate = has_rate
        self._links = [
            (k, i.src, i.dst, i.power) for k, i in enumerate(interferers) if i.dst is not None
        ]
        self._senders = [i.src for i in interferers]
        self._weights = [i.share for i in interferers]
        self._gains: dict[int, list[float]] = {}
        self._blocks = FIRST_BLOCKS
        if fading.per_exchange:
            held = [fading.pair_gain(i.src, dst, i.since_ns) for i in interferers]
            self._weights = [w * gain for w, gain in zip(self._weights, held, strict=True)]
        if not mean_snr.moving:
            self._weights = self._weighted(0)

    def rise(self, time_ns: int) -> float:
        """Interference and noise over noise at an instant, linear."""
        weights = self._weighted(time_ns) if self._mean_snr.moving else self._weights
        if self._fading.in_time:
            if len(weights) <= FEW:
                gains = [self._fading.pair_gain(i, self._dst, time_ns) for i in self._senders]
            else:
                gains = self._gains_of_all(time_ns)
            weights = [w * gain for w, gain in zip(weights, gains, strict=True)]
        if self._has_rate is not None:
            weights = list(weights)
            for k, src, dst, power in self._links:
                if not self._has_rate(src, dst, time_ns, power):
                    weights[k] = 0.0
        return 1.0 + sum(weights)

    def holds_until_ns(self, time_ns: int) -> int | None:
        """Return the next time [ns] at which it may change; None: never."""
        ends = [self._fading.holds_until_ns(time_ns)] if self._fading.in_time else []
        if self._mean_snr.moving:
            pairs = [(src, self._dst) for src in self._senders]
            if self._has_rate is not None:
                pairs += [(src, dst) for _, src, dst, _ in self._links]
            for src, dst in pairs:
                until_ns = self._mean_snr.holds_until_ns(src, dst, time_ns)
                if until_ns is not None:
                    ends.append(until_ns)
        return min(ends, default=None)

    def _gains_of_all(self, time_ns: int) -> list[float]:
        """Fading of each interferer, found for several blocks at once: most legs go on."""
        block = self._fading.block_number(time_ns)
        if block not in self._gains:
            found = self._fading.block_gains(self._dst, self._senders, block, self._blocks)
            blocks = range(block, block + self._blocks)
            self._gains.update(zip(blocks, found.tolist(), strict=True))
            self._blocks = min(2 * self._blocks, MOST_BLOCKS)
        return self._gains[block]

    def _weighted(self, time_ns: int) -> list[float]:
        """Share times mean SNR of each interferer."""
        if len(self._senders) <= FEW:
            means = [self._mean_snr.pair_snr(i, self._dst, time_ns) for i in self._senders]
        else:
            means = self._mean_snr.snr_towards(self._dst, self._senders, time_ns).tolist()
        return [w * mean for w, mean in zip(self._weights, means, strict=True)]
