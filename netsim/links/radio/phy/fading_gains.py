"""The fading of every pair of nodes as a function of time.

Nothing here has a state that advances. The gain of a pair at an instant is a draw keyed by the pair
and by the coherence block of that instant (or a sum of sinusoids keyed by the pair), so it is the
same however often and in whatever order it is asked for, and whoever asks: the pair as a link, or a
receiver to which one of the two is an interferer.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from netsim.channels.fading.frequency_selective import FrequencySelective
from netsim.links.radio.phy.resource_blocks import ResourceBlocks
from netsim.links.radio.table import Radio
from netsim.rng import Streams
from netsim.units import NS_PER_S, to_ns

SAMPLES = 64
"""A sum of sinusoids is evaluated for so many coherence blocks at once."""


class FadingGains:
    """Power gains of all pairs, the same both ways.

    Parameters
    ----------
    radio : Radio
    last_wakeup : callable
        (node, time in ns) -> (time in ns, number) of its last wake-up: under `hold = "exchange"`
        a pair's fading lasts from the last wake-up of either end to the next.
    streams : Streams

    Attributes
    ----------
    per_exchange : bool
        Whether gains last from one wake-up to the next.
    in_time : bool
        Whether gains change from one coherence block to the next.
    blocks : ResourceBlocks or None
        Of fading that is frequency-selective: then pairs have `of_blocks` in place of `pair_gain`.
    """

    def __init__(
        self, radio: Radio, last_wakeup: Callable[[int, int], tuple[int, int]], streams: Streams
    ) -> None:
        fading = self._fading = radio.fading
        self._last_wakeup, self._streams = last_wakeup, streams
        self._none = fading.kind == "none"
        self.per_exchange = fading.hold == "exchange"
        self.in_time = not self.per_exchange and not self._none
        self._coherence_ns = max(1, to_ns(fading.constant_s(radio.carrier_hz)))
        self._doppler_hz = fading.doppler(radio.carrier_hz)
        self._continuous = fading.continuous
        # A pair talks several times while its fade lasts: request, reply, broadcast.
        draw = self._sample if self._continuous else self._draw_gain
        self._gain = lru_cache(maxsize=1 << 14)(draw)
        self._run = lru_cache(maxsize=512)(self._samples)
        self.blocks: ResourceBlocks | None = None
        if isinstance(fading, FrequencySelective):
            self.blocks = ResourceBlocks(fading, radio.rate, radio.bandwidth_hz, streams)
            self._in_blocks = lru_cache(maxsize=1 << 14)(self.blocks.gains)

    def pair_gain(self, i: int, j: int, time_ns: int) -> float:
        """Power gain of a pair at an instant.

        Parameters
        ----------
        i, j : int
            The nodes, in either order.
        time_ns : int
        """
        if self._none:
            return 1.0
        low, high = (i, j) if i < j else (j, i)
        return self._gain(low, high, *self._key(low, high, time_ns))

    def of_blocks(self, i: int, j: int, time_ns: int) -> NDArray[np.float64]:
        """Power gains of a pair's resource blocks at an instant: (K,).

        Parameters
        ----------
        i, j : int
            The nodes, in either order.
        time_ns : int
        """
        low, high = (i, j) if i < j else (j, i)
        return self._in_blocks(low, high, *self._key(low, high, time_ns))

    def gains_to(self, node: int, others: Sequence[int], time_ns: int) -> NDArray[np.float64]:
        """Power gains between one node and others at an instant.

        Parameters
        ----------
        node : int
        others : sequence of int
        time_ns : int

        Returns
        -------
        ndarray, shape (len(others),) or (len(others), K)
            K resource blocks where fading is frequency-selective.
        """
        if self._none:
            return np.ones(len(others))
        low, high = np.minimum(node, others), np.maximum(node, others)
        if self._continuous:
            return self._sums(low, high, np.array([time_ns // self._coherence_ns])).ravel()
        keys = np.array(self._keys(node, others, time_ns))
        if self.blocks is not None:
            return self.blocks.gains_of(low, high, *keys.T)
        u = self._streams.uniform_array("fading", low, high, *keys.T)
        return np.asarray(self._fading.power_gain(u))

    def block_gains(
        self, node: int, others: Sequence[int], block: int, count: int
    ) -> NDArray[np.float64]:
        """Power gains between one node and others in coherence blocks in a row; where `in_time`.

        Parameters
        ----------
        node : int
        others : sequence of int
        block : int
            Number of the first block: see `block_number`.
        count : int
            How many blocks.

        Returns
        -------
        (count, len(others)) float64
        """
        low, high = np.minimum(node, others), np.maximum(node, others)
        blocks = np.arange(block, block + count)
        if self._continuous:
            return self._sums(low, high, blocks).T
        u = self._streams.uniform_table("fading", low, high, counters=blocks)
        return np.asarray(self._fading.power_gain(u)).T

    def block_number(self, time_ns: int) -> int:
        """Number of the coherence block that holds an instant."""
        return time_ns // self._coherence_ns

    def holds_until_ns(self, time_ns: int) -> int:
        """End [ns] of the coherence block that holds an instant."""
        return time_ns - time_ns % self._coherence_ns + self._coherence_ns

    def _key(self, low: int, high: int, time_ns: int) -> tuple[int, ...]:
        """Key of the draw that holds for a pair at an instant."""
        if not self.per_exchange:
            return (time_ns // self._coherence_ns,)
        return _wakeup_key(
            low, self._last_wakeup(low, time_ns), high, self._last_wakeup(high, time_ns)
        )

    def _keys(self, node: int, others: Sequence[int], time_ns: int) -> list[tuple[int, ...]]:
        """Keys of the draws that hold for the pairs of one node."""
        if not self.per_exchange:
            return [(time_ns // self._coherence_ns,)] * len(others)
        last_wakeup = self._last_wakeup
        keys: list[tuple[int, ...]] = []
        mine_ns, mine = last_wakeup(node, time_ns)
        for j in others:  # as `_wakeup_key` has it, without a call for each
            j_ns, number = last_wakeup(j, time_ns)
            is_theirs = j_ns > mine_ns or (j_ns == mine_ns and j < node)
            keys.append((j, number) if is_theirs else (node, mine))
        return keys

    def _draw_gain(self, low: int, high: int, *key: int) -> float:
        u = self._streams.uniform("fading", low, high, *key)
        return float(self._fading.power_gain(u))

    def _sample(self, low: int, high: int, *key: int) -> float:
        return float(self._run(low, high, key[0] // SAMPLES)[key[0] % SAMPLES])

    def _samples(self, low: int, high: int, run: int) -> NDArray[np.float64]:
        """Power gains of `SAMPLES` coherence blocks in a row: (SAMPLES,)."""
        steps = run * SAMPLES + np.arange(SAMPLES)
        return self._sums(np.array([low]), np.array([high]), steps).ravel()

    def _sums(
        self, low: NDArray[np.int64], high: NDArray[np.int64], steps: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        fading = self._fading
        counters = np.arange(fading.tone_draws)
        u = self._streams.uniform_table("fading tones", low, high, counters=counters)
        times_s = steps * (self._coherence_ns / NS_PER_S)
        gains: NDArray[np.float64] = fading.gain_at(u, self._doppler_hz, times_s)
        return gains


def _wakeup_key(i: int, of_i: tuple[int, int], j: int, of_j: tuple[int, int]) -> tuple[int, ...]:
    """Key of a fade that lasts since the last wake-up of either end: that node and its number."""
    (i_ns, i_number), (j_ns, j_number) = of_i, of_j
    # Both at one instant, or neither yet: the lower id counts.
    return (i, i_number) if i_ns > j_ns or (i_ns == j_ns and i < j) else (j, j_number)
