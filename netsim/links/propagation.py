"""The radio channel as a function of time: instantaneous SNR, reach, stretches of equal channel.

Nothing here has a state that advances: the fading of a pair at an instant is a draw keyed by the
pair and by the block of time that holds it, however often and in whatever order it is asked for.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from netsim.channels.mac import ALONE, Medium
from netsim.links.radio import Radio
from netsim.rng import Streams
from netsim.units import NS_PER_S, to_ns


@dataclass(frozen=True, slots=True)
class Budget:
    """Every link's mean: what is left of a radio once positions are known.

    Attributes
    ----------
    mean_snr : callable
        src -> (N,) mean SNR at every other node, linear.
    threshold : float
        SNR from which a node counts as reachable, linear.
    tx_power_w : tuple of float
        Each node's transmit power.
    """

    mean_snr: Callable[[int], NDArray[np.float64]]
    threshold: float
    tx_power_w: tuple[float, ...]


@dataclass(slots=True)
class Stretch:
    """One stretch of constant channel as a message meets it.

    Attributes
    ----------
    snr : float
        Linear.
    per : float
        Probability that an attempt at a packet fails.
    attempt_ns : float
        Time of one attempt; 0 where the rate is 0.
    length_ns, attempts : int or None
        How long it lasts and how many attempts begin in it; None for one without end.
    """

    snr: float
    per: float
    attempt_ns: float
    length_ns: int | None
    attempts: int | None


class Propagation:
    """The channels between all nodes.

    Parameters
    ----------
    radio : Radio
    budget : Budget
    last_wakeup : callable
        (node, time_ns) -> (time_ns, number) of its last wake-up: under `hold = "exchange"` a
        pair's fading lasts from the last wake-up of either end to the next.
    streams : Streams
    """

    def __init__(
        self,
        radio: Radio,
        budget: Budget,
        last_wakeup: Callable[[int, int], tuple[int, int]],
        streams: Streams,
    ) -> None:
        self._radio, self._budget, self._streams = radio, budget, streams
        self._last_wakeup = last_wakeup
        self._coherence_ns = to_ns(radio.fading.coherence_s)
        # A pair talks several times while its fade lasts: request, reply, broadcast.
        self._gain = lru_cache(maxsize=4096)(self._draw_gain)

    def snr(self, src: int, dst: int, time_ns: int) -> float:
        """Instantaneous SNR from `src` to `dst`, linear; the power gain is reciprocal."""
        low, high = (src, dst) if src < dst else (dst, src)
        gain = self._gain(low, high, *self._block(low, high, time_ns))
        return float(self._budget.mean_snr(src)[dst]) * gain

    def _draw_gain(self, low: int, high: int, *block: int) -> float:
        u = self._streams.uniform("fading", low, high, *block)
        return float(self._radio.fading.power_gain(u))

    def in_reach(self, src: int, others: Sequence[int], time_ns: int) -> list[int]:
        """Those of `others` whose instantaneous SNR is at or over the threshold."""
        low, high = np.minimum(src, others), np.maximum(src, others)
        blocks = np.array(self._blocks(src, others, time_ns))
        u = self._streams.uniform_array("fading", low, high, *blocks.T)
        snr = self._budget.mean_snr(src)[list(others)] * self._radio.fading.power_gain(u)
        return [j for j, ok in zip(others, snr >= self._budget.threshold, strict=True) if ok]

    def _block(self, low: int, high: int, time_ns: int) -> tuple[int, ...]:
        """Key of the fading draw that holds for a pair."""
        if self._radio.fading.hold == "coherence":
            return (time_ns // self._coherence_ns,)
        return _fade(low, self._last_wakeup(low, time_ns), high, self._last_wakeup(high, time_ns))

    def _blocks(self, src: int, others: Sequence[int], time_ns: int) -> list[tuple[int, ...]]:
        """The same for the pairs of one node."""
        if self._radio.fading.hold == "coherence":
            return [(time_ns // self._coherence_ns,)] * len(others)
        mine, last_wakeup = self._last_wakeup(src, time_ns), self._last_wakeup
        return [_fade(src, mine, j, last_wakeup(j, time_ns)) for j in others]

    def rate_bps(self, snr: float) -> float:
        """Rate at an SNR; 0 where nothing can be sent."""
        return float(self._radio.rate.bits_per_s(snr, self._radio.bandwidth_hz))

    def error(self, snr: float, packet_bits: int) -> float:
        """Probability that one attempt at a packet fails at an SNR."""
        threshold = self._budget.threshold
        return float(self._radio.packet_error.probability(snr, packet_bits, threshold))

    def stretches(
        self,
        src: int,
        dst: int,
        time_ns: int,
        packet_bits: int,
        rate_bps: float | None = None,
        medium: Medium = ALONE,
    ) -> Iterator[Stretch]:
        """The channel from `time_ns` on, block by block; at `rate_bps` if that is given."""
        radio = self._radio
        overhead_ns = radio.attempt_overhead_s * NS_PER_S
        while True:
            snr = self.snr(src, dst, time_ns) / medium.noise_rise
            rate = self.rate_bps(snr) if rate_bps is None else rate_bps
            per = self.error(snr, packet_bits)
            per += medium.collision * (1.0 - per)
            length_ns, attempts = None, None
            attempt_ns = overhead_ns + packet_bits / rate * NS_PER_S if rate > 0 else 0.0
            attempt_ns = attempt_ns * medium.slowdown + medium.wait_ns if rate > 0 else 0.0
            if radio.fading.hold == "coherence" and radio.fading.kind != "none":
                length_ns, attempts = self._coherence_ns - time_ns % self._coherence_ns, 0
            if rate <= 0:
                per = 1.0
            elif length_ns is not None:  # an attempt belongs to the block in which it begins
                attempts = math.ceil(length_ns / attempt_ns)
                length_ns = math.ceil(attempts * attempt_ns)
            yield Stretch(snr, per, attempt_ns, length_ns, attempts)
            if length_ns is None:
                return
            time_ns += length_ns


def _fade(i: int, of_i: tuple[int, int], j: int, of_j: tuple[int, int]) -> tuple[int, ...]:
    """Key of a fade that lasts from the last wake-up of either end: whose it was, its number."""
    (i_ns, i_number), (j_ns, j_number) = of_i, of_j
    # Both at one instant, or neither yet: the lower id counts.
    return (i, i_number) if i_ns > j_ns or (i_ns == j_ns and i < j) else (j, j_number)
