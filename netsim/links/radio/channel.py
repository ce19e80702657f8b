"""The radio channel as a function of time: instantaneous SNR, reach, stretches of equal channel.

Nothing here has a state that advances: the fading of a pair at an instant is a draw keyed by the
pair and by the block of time that holds it (or a sum of sinusoids keyed by the pair), however often
and in whatever order it is asked for.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from netsim.channels.mac import ALONE, Medium
from netsim.links.radio.mean_snr import Means
from netsim.links.radio.table import Radio
from netsim.rng import Streams
from netsim.units import NS_PER_S, to_ns


@dataclass(frozen=True, slots=True)
class Budget:
    """What is left of a radio once powers and places are known.

    Attributes
    ----------
    means : Means
        Every link's mean SNR.
    threshold : float
        SNR from which a node counts as reachable, linear.
    tx_power_w : tuple of float
        Each node's transmit power.
    range_m : float or None
        Distance beyond which next to nothing is ever decoded (`coverage.range_m`); None where
        links have no places.
    """

    means: Means
    threshold: float
    tx_power_w: tuple[float, ...]
    range_m: float | None = None

    def described(self) -> dict[str, Any]:
        """`range_m` and `pairs_left_out`, for the run's summary."""
        return {"range_m": self.range_m, "pairs_left_out": self.means.pairs_left_out}


@dataclass(slots=True)
class Stretch:
    """One stretch of constant channel as a message meets it.

    Attributes
    ----------
    snr : float
        Linear.
    per : float
        Probability that an attempt at a packet fails.
    ruined : float
        Part of it: the probability that it fails whatever the SNR.
    attempt_ns : float
        Time of one attempt; 0 where the rate is 0.
    length_ns, attempts : int or None
        How long it lasts and how many attempts begin in it; None for one without end. No attempt
        begins where the rate is 0.
    asleep : bool
        Whether the receiver sleeps.
    """

    snr: float
    per: float
    attempt_ns: float
    length_ns: int | None
    attempts: int | None
    ruined: float = 0.0
    asleep: bool = False

    @property
    def heard_snr(self) -> float:
        """The SNR of what reaches the receiver's decoder, linear."""
        return 0.0 if self.asleep else self.snr


SAMPLES = 64
"""A sum of sinusoids is worked out for so many steps at once."""


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
        self._means = budget.means
        self._last_wakeup = last_wakeup
        fading = radio.fading
        self._coherence_ns = max(1, to_ns(fading.constant_s(radio.carrier_hz)))
        self._held = fading.hold == "exchange"
        self._fades_in_time = not self._held and fading.kind != "none"
        self._constant = not (self._fades_in_time or budget.means.moving)
        self._doppler_hz = fading.doppler(radio.carrier_hz)
        self._sinusoids = fading.process == "sum_of_sinusoids"
        self._csi_delay_ns = to_ns(radio.rate.choice_delay_s)
        # A pair talks several times while its fade lasts: request, reply, broadcast.
        draw = self._sample if self._sinusoids else self._draw_gain
        self._gain = lru_cache(maxsize=4096)(draw)
        self._run = lru_cache(maxsize=512)(self._samples)

    # -- one pair --------------------------------------------------------------------------------

    def snr(self, src: int, dst: int, time_ns: int) -> float:
        """Instantaneous SNR from `src` to `dst`, linear; the power gain is reciprocal."""
        return self._means.pair(src, dst, time_ns) * self._fade(src, dst, time_ns)

    def measured_snr(self, src: int, dst: int, time_ns: int) -> float:
        """The SNR that a sender knows of: that of `csi_delay_s` ago."""
        return self.snr(src, dst, max(0, time_ns - self._csi_delay_ns))

    def rate_bps(self, snr: float) -> float:
        """Rate chosen at an SNR; 0 where nothing can be sent."""
        return float(self._radio.rate.bits_per_s(snr, self._radio.bandwidth_hz))

    def error(self, snr: float, packet_bits: int, rate_bps: float | None = None) -> float:
        """Probability that one attempt at a packet fails at an SNR.

        `rate_bps` is the rate in use, by which some rules go; at None all go by the radio's
        threshold.
        """
        rule, threshold = self._radio.packet_error, self._budget.threshold
        if rule.per_rate and rate_bps is not None:
            own = self._radio.rate.needed_snr(rate_bps, self._radio.bandwidth_hz)
            threshold = threshold if own is None else own
        return float(rule.probability(snr, packet_bits, threshold))

    def attempt_ns(self, packet_bits: int, rate_bps: float, medium: Medium) -> float:
        """Time of one attempt; 0 where the rate is 0."""
        if rate_bps <= 0:
            return 0.0
        alone_ns = self._radio.attempt_overhead_s * NS_PER_S + packet_bits / rate_bps * NS_PER_S
        return alone_ns * medium.slowdown + medium.wait_ns

    def stretches(
        self,
        src: int,
        dst: int,
        time_ns: int,
        packet_bits: int,
        rate_bps: float | None = None,
        medium: Medium = ALONE,
        began_ns: int | None = None,
    ) -> Iterator[Stretch]:
        """The channel from `time_ns` on, stretch by stretch; at `rate_bps` if that is given.

        `began_ns` is when the message began, whose fade lasts under `hold = "exchange"`; None: now.
        """
        began_ns = time_ns if began_ns is None else began_ns
        while True:
            fade = self._fade(src, dst, began_ns if self._held else time_ns)
            snr = self._means.pair(src, dst, time_ns) * fade / medium.noise_rise
            rate = rate_bps
            if rate is None:
                known = snr
                if self._csi_delay_ns:
                    known = self.measured_snr(src, dst, time_ns) / medium.noise_rise
                rate = self.rate_bps(known)
            per = self.error(snr, packet_bits, rate) if rate > 0 else 1.0
            per += medium.collision * (1.0 - per)
            length_ns, attempts = None, None if rate > 0 else 0
            attempt_ns = self.attempt_ns(packet_bits, rate, medium)
            until_ns = None if self._constant else self._holds_until_ns(src, dst, time_ns)
            if rate > 0 and attempt_ns == 0.0:  # an infinite rate: it takes no time at all
                until_ns = None
            if until_ns is not None:
                length_ns, attempts = until_ns - time_ns, 0
                if rate > 0:  # an attempt belongs to the stretch in which it begins
                    attempts = math.ceil(length_ns / attempt_ns)
                    length_ns = math.ceil(attempts * attempt_ns)
            yield Stretch(snr, per, attempt_ns, length_ns, attempts, medium.collision)
            if length_ns is None:
                return
            time_ns += length_ns

    def _holds_until_ns(self, src: int, dst: int, time_ns: int) -> int | None:
        """When SNR or rate of a pair may next change; None: never."""
        until_ns = self._snr_holds_until_ns(src, dst, time_ns)
        if until_ns is None or not self._csi_delay_ns:
            return until_ns
        # What changed a while ago changes the choice of the rate now.
        seen_ns = time_ns - self._csi_delay_ns
        seen_until_ns = self._snr_holds_until_ns(src, dst, max(0, seen_ns))
        if seen_until_ns is not None:
            until_ns = min(until_ns, seen_until_ns + self._csi_delay_ns)
        return until_ns

    def _snr_holds_until_ns(self, src: int, dst: int, time_ns: int) -> int | None:
        mean_ns = None
        if self._means.moving:
            mean_ns = self._means.holds_until_ns(src, dst, time_ns)
        if not self._fades_in_time or self._means.pair(src, dst, time_ns) == 0.0:
            return mean_ns  # nothing fades where there is nothing
        block_ns = time_ns - time_ns % self._coherence_ns + self._coherence_ns
        return block_ns if mean_ns is None else min(block_ns, mean_ns)

    def _fade(self, src: int, dst: int, time_ns: int) -> float:
        """Power gain of a pair, the same both ways."""
        low, high = (src, dst) if src < dst else (dst, src)
        return self._gain(low, high, *self._block(low, high, time_ns))

    def _block(self, low: int, high: int, time_ns: int) -> tuple[int, ...]:
        """Key of the fading draw that holds for a pair."""
        if not self._held:
            return (time_ns // self._coherence_ns,)
        return _holder(low, self._last_wakeup(low, time_ns), high, self._last_wakeup(high, time_ns))

    def _draw_gain(self, low: int, high: int, *block: int) -> float:
        u = self._streams.uniform("fading", low, high, *block)
        return float(self._radio.fading.power_gain(u))

    def _sample(self, low: int, high: int, *block: int) -> float:
        return float(self._run(low, high, block[0] // SAMPLES)[block[0] % SAMPLES])

    def _samples(self, low: int, high: int, run: int) -> NDArray[np.float64]:
        """Gains of so many steps in a row, of a sum of sinusoids."""
        steps = run * SAMPLES + np.arange(SAMPLES)
        return self._sums(np.array([low]), np.array([high]), steps).ravel()

    def _sums(
        self, low: NDArray[np.int64], high: NDArray[np.int64], steps: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        fading = self._radio.fading
        counters = np.arange(fading.tone_draws)
        u = self._streams.uniform_table("fading tones", low, high, counters=counters)
        times_s = steps * (self._coherence_ns / NS_PER_S)
        gains: NDArray[np.float64] = fading.gain_at(u, self._doppler_hz, times_s)
        return gains

    # -- all pairs of a node ---------------------------------------------------------------------

    def in_reach(self, src: int, others: Sequence[int], time_ns: int) -> list[int]:
        """Those of `others` whose instantaneous SNR is at or over the threshold, O(neighbours)."""
        near = self._means.near(src, others, time_ns)
        if not near:
            return []
        snr = self._means.snr(src, near, time_ns) * self._fades(src, near, time_ns)
        return [j for j, ok in zip(near, snr >= self._budget.threshold, strict=True) if ok]

    def _fades(self, src: int, others: Sequence[int], time_ns: int) -> NDArray[np.float64]:
        low, high = np.minimum(src, others), np.maximum(src, others)
        if self._sinusoids:
            return self._sums(low, high, np.array([time_ns // self._coherence_ns])).ravel()
        blocks = np.array(self._blocks(src, others, time_ns))
        u = self._streams.uniform_array("fading", low, high, *blocks.T)
        return np.asarray(self._radio.fading.power_gain(u))

    def _blocks(self, src: int, others: Sequence[int], time_ns: int) -> list[tuple[int, ...]]:
        """Keys of the draws that hold for the pairs of one node."""
        if not self._held:
            return [(time_ns // self._coherence_ns,)] * len(others)
        mine, last_wakeup = self._last_wakeup(src, time_ns), self._last_wakeup
        return [_holder(src, mine, j, last_wakeup(j, time_ns)) for j in others]


def _holder(i: int, of_i: tuple[int, int], j: int, of_j: tuple[int, int]) -> tuple[int, ...]:
    """Key of a fade that lasts from the last wake-up of either end: whose it was, its number."""
    (i_ns, i_number), (j_ns, j_number) = of_i, of_j
    # Both at one instant, or neither yet: the lower id counts.
    return (i, i_number) if i_ns > j_ns or (i_ns == j_ns and i < j) else (j, j_number)
