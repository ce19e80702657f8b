"""The radio channel as a function of time: instantaneous SNR, reach, channel blocks.

Nothing here has a state that advances. The fading of a pair at an instant is a draw keyed by the
pair and by the coherence block of that instant (or a sum of sinusoids keyed by the pair), so it is
the same however often and in whatever order it is asked for.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from netsim.channels.block import ChannelBlock
from netsim.channels.mac import ALONE, Medium
from netsim.links.radio.budget import LinkBudget
from netsim.links.radio.table import Radio
from netsim.rng import Streams
from netsim.units import NS_PER_S, to_ns

SAMPLES = 64
"""A sum of sinusoids is evaluated for so many coherence blocks at once."""


class RadioChannel:
    """The channels between all nodes.

    Parameters
    ----------
    radio : Radio
    budget : LinkBudget
    last_wakeup : callable
        (node, time in ns) -> (time in ns, number) of its last wake-up: under `hold = "exchange"`
        a pair's fading lasts from the last wake-up of either end to the next.
    streams : Streams
    """

    def __init__(
        self,
        radio: Radio,
        budget: LinkBudget,
        last_wakeup: Callable[[int, int], tuple[int, int]],
        streams: Streams,
    ) -> None:
        self._radio, self._budget, self._streams = radio, budget, streams
        self._mean_snr = budget.mean_snr
        self._last_wakeup = last_wakeup
        fading = radio.fading
        self._coherence_ns = max(1, to_ns(fading.constant_s(radio.carrier_hz)))
        self._per_exchange = fading.hold == "exchange"
        self._fades_in_time = not self._per_exchange and fading.kind != "none"
        self._constant = not (self._fades_in_time or budget.mean_snr.moving)
        self._doppler_hz = fading.doppler(radio.carrier_hz)
        self._continuous = fading.continuous
        self._csi_delay_ns = to_ns(radio.rate.choice_delay_s)
        # A pair talks several times while its fade lasts: request, reply, broadcast.
        draw = self._sample if self._continuous else self._draw_gain
        self._gain = lru_cache(maxsize=4096)(draw)
        self._run = lru_cache(maxsize=512)(self._samples)

    # -- one pair --------------------------------------------------------------------------------

    def snr(self, src: int, dst: int, time_ns: int) -> float:
        """Instantaneous SNR of a link.

        Parameters
        ----------
        src, dst : int
        time_ns : int

        Returns
        -------
        float
            Linear. Fading is the same in both directions.
        """
        return self._mean_snr.pair(src, dst, time_ns) * self._fade(src, dst, time_ns)

    def measured_snr(self, src: int, dst: int, time_ns: int) -> float:
        """The SNR that a sender knows: that of `csi_delay_s` ago.

        Parameters
        ----------
        src, dst : int
        time_ns : int

        Returns
        -------
        float
            Linear.
        """
        return self.snr(src, dst, max(0, time_ns - self._csi_delay_ns))

    def rate_bps(self, snr: float) -> float:
        """Rate [bit/s] that a sender chooses at an SNR (linear); 0 where nothing can be sent."""
        return float(self._radio.rate.bits_per_s(snr, self._radio.bandwidth_hz))

    def error(self, snr: float, packet_bits: int, rate_bps: float | None = None) -> float:
        """Probability that an attempt at a packet fails.

        Parameters
        ----------
        snr : float
            Linear.
        packet_bits : int
            Header included.
        rate_bps : float or None
            The rate in use, on which some error models depend; None: they take the radio's
            threshold.

        Returns
        -------
        float
        """
        rule, threshold = self._radio.packet_error, self._budget.threshold
        if rule.by_rate:
            rule = rule.at_rate(self.rate_bps(snr) if rate_bps is None else rate_bps)
        if rule.per_rate and rate_bps is not None:
            own = self._radio.rate.needed_snr(rate_bps, self._radio.bandwidth_hz)
            threshold = threshold if own is None else own
        return float(rule.probability(snr, packet_bits, threshold))

    def attempt_ns(self, packet_bits: int, rate_bps: float, medium: Medium) -> float:
        """Duration of an attempt in ns; 0 where the rate is 0.

        Parameters
        ----------
        packet_bits : int
            Header included.
        rate_bps : float
        medium : Medium
            What other senders do to the attempt.

        Returns
        -------
        float
        """
        if rate_bps <= 0:
            return 0.0
        alone_ns = self._radio.attempt_overhead_s * NS_PER_S + packet_bits / rate_bps * NS_PER_S
        return alone_ns * medium.slowdown + medium.wait_ns

    def blocks(
        self,
        src: int,
        dst: int,
        time_ns: int,
        packet_bits: int,
        rate_bps: float | None = None,
        medium: Medium = ALONE,
        began_ns: int | None = None,
    ) -> Iterator[ChannelBlock]:
        """The channel that a message meets, block by block.

        Parameters
        ----------
        src, dst : int
        time_ns : int
            When the first block begins.
        packet_bits : int
            Header included.
        rate_bps : float or None
            Fixed rate; None: each block's own, chosen by its SNR.
        medium : Medium
            What other senders do to each attempt.
        began_ns : int or None
            When the message began, whose fading lasts under `hold = "exchange"`; None: at
            `time_ns`.

        Returns
        -------
        iterator of ChannelBlock
            Without end where the channel changes in time; else of one block without end.
        """
        began_ns = time_ns if began_ns is None else began_ns
        while True:
            fade = self._fade(src, dst, began_ns if self._per_exchange else time_ns)
            snr = self._mean_snr.pair(src, dst, time_ns) * fade / medium.noise_rise
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
                if rate > 0:  # an attempt belongs to the block in which it begins
                    attempts = math.ceil(length_ns / attempt_ns)
                    length_ns = math.ceil(attempts * attempt_ns)
            yield ChannelBlock(attempts, per, snr, attempt_ns, length_ns, medium.collision)
            if length_ns is None:
                return
            time_ns += length_ns

    def _holds_until_ns(self, src: int, dst: int, time_ns: int) -> int | None:
        """When SNR or rate of a pair may next change; None: never."""
        until_ns = self._snr_holds_until_ns(src, dst, time_ns)
        if until_ns is None or not self._csi_delay_ns:
            return until_ns
        # The rate is chosen by the SNR of a while ago: a change then is a change now.
        seen_ns = time_ns - self._csi_delay_ns
        seen_until_ns = self._snr_holds_until_ns(src, dst, max(0, seen_ns))
        if seen_until_ns is not None:
            until_ns = min(until_ns, seen_until_ns + self._csi_delay_ns)
        return until_ns

    def _snr_holds_until_ns(self, src: int, dst: int, time_ns: int) -> int | None:
        """When the SNR of a pair may next change; None: never."""
        mean_ns = None
        if self._mean_snr.moving:
            mean_ns = self._mean_snr.holds_until_ns(src, dst, time_ns)
        if not self._fades_in_time or self._mean_snr.pair(src, dst, time_ns) == 0.0:
            return mean_ns  # a pair that is left out has no fading
        block_ns = time_ns - time_ns % self._coherence_ns + self._coherence_ns
        return block_ns if mean_ns is None else min(block_ns, mean_ns)

    def _fade(self, src: int, dst: int, time_ns: int) -> float:
        """Power gain of a pair, the same both ways."""
        low, high = (src, dst) if src < dst else (dst, src)
        return self._gain(low, high, *self._fade_key(low, high, time_ns))

    def _fade_key(self, low: int, high: int, time_ns: int) -> tuple[int, ...]:
        """Key of the fading draw that holds for a pair at an instant."""
        if not self._per_exchange:
            return (time_ns // self._coherence_ns,)
        return _wakeup_key(
            low, self._last_wakeup(low, time_ns), high, self._last_wakeup(high, time_ns)
        )

    def _draw_gain(self, low: int, high: int, *key: int) -> float:
        u = self._streams.uniform("fading", low, high, *key)
        return float(self._radio.fading.power_gain(u))

    def _sample(self, low: int, high: int, *key: int) -> float:
        return float(self._run(low, high, key[0] // SAMPLES)[key[0] % SAMPLES])

    def _samples(self, low: int, high: int, run: int) -> NDArray[np.float64]:
        """Power gains of `SAMPLES` coherence blocks in a row: (SAMPLES,)."""
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
        """Whom a node reaches: those whose instantaneous SNR is at least the threshold.

        Parameters
        ----------
        src : int
        others : sequence of int
            Whom to consider.
        time_ns : int

        Returns
        -------
        list of int
            In O(neighbours within range).
        """
        near = self._mean_snr.near(src, others, time_ns)
        if not near:
            return []
        snr = self._mean_snr.snr(src, near, time_ns) * self._fades(src, near, time_ns)
        return [j for j, ok in zip(near, snr >= self._budget.threshold, strict=True) if ok]

    def _fades(self, src: int, others: Sequence[int], time_ns: int) -> NDArray[np.float64]:
        low, high = np.minimum(src, others), np.maximum(src, others)
        if self._continuous:
            return self._sums(low, high, np.array([time_ns // self._coherence_ns])).ravel()
        keys = np.array(self._fade_keys(src, others, time_ns))
        u = self._streams.uniform_array("fading", low, high, *keys.T)
        return np.asarray(self._radio.fading.power_gain(u))

    def _fade_keys(self, src: int, others: Sequence[int], time_ns: int) -> list[tuple[int, ...]]:
        """Keys of the fading draws that hold for the pairs of one node."""
        if not self._per_exchange:
            return [(time_ns // self._coherence_ns,)] * len(others)
        mine, last_wakeup = self._last_wakeup(src, time_ns), self._last_wakeup
        return [_wakeup_key(src, mine, j, last_wakeup(j, time_ns)) for j in others]


def _wakeup_key(i: int, of_i: tuple[int, int], j: int, of_j: tuple[int, int]) -> tuple[int, ...]:
    """Key of a fade that lasts since the last wake-up of either end: that node and its number."""
    (i_ns, i_number), (j_ns, j_number) = of_i, of_j
    # Both at one instant, or neither yet: the lower id counts.
    return (i, i_number) if i_ns > j_ns or (i_ns == j_ns and i < j) else (j, j_number)
