"""The resource blocks of all pairs: their gains, and the one SNR and rate that they amount to."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from netsim.channels.effective_snr import capacity
from netsim.channels.fading.frequency_selective import FrequencySelective
from netsim.channels.rate import Rate
from netsim.channels.rate._adaptive import TableRate
from netsim.channels.rate.fixed import FixedRate
from netsim.channels.rate.shannon_gap import ShannonGap
from netsim.rng import Streams
from netsim.units import db_to_linear

Gain = float | NDArray[np.float64]
"""Power gain or SNR of a pair, linear; (K,) over resource blocks where fading has them."""

_ROUNDING = 1.0 - 1e-9


class ResourceBlocks:
    """Frequency-selective fading as a radio meets it.

    Parameters
    ----------
    fading : FrequencySelective
    rate : Rate
    bandwidth_hz : float
    streams : Streams
    """

    def __init__(
        self, fading: FrequencySelective, rate: Rate, bandwidth_hz: float, streams: Streams
    ) -> None:
        self._fading, self._rate, self._bandwidth_hz = fading, rate, bandwidth_hz
        self._streams, self._counters = streams, np.arange(fading.draws(bandwidth_hz))
        self._only_rate_bps = rate.rate_bps if isinstance(rate, FixedRate) else None
        self._gap = db_to_linear(rate.gap_db) if isinstance(rate, ShannonGap) else None

    def gains(self, low: int, high: int, *key: int) -> NDArray[np.float64]:
        """Gains of a pair's blocks: (K,), linear.

        Parameters
        ----------
        low, high : int
            The nodes, the lower number first.
        *key : int
            What else keys the draw, as of other fading: the coherence block.
        """
        row: NDArray[np.float64] = self.gains_of([low], [high], *([k] for k in key))[0]
        row.flags.writeable = False  # it is handed out again
        return row

    def gains_of(
        self, low: ArrayLike, high: ArrayLike, *keys: Sequence[int] | NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Gains of the blocks of several pairs.

        Parameters
        ----------
        low, high : (n,) int
            The two ends.
        *keys : (n,) int
            Columns of the keys of their draws.

        Returns
        -------
        (n, K) float64
            Linear.
        """
        u = self._streams.uniform_table("fading", low, high, *keys, counters=self._counters)
        return self._fading.block_gains(u, self._bandwidth_hz)

    def snr(self, snr: ArrayLike, rate_bps: float | None = None) -> NDArray[np.float64]:
        """Effective SNR of the blocks.

        Parameters
        ----------
        snr : (..., K) float
            Of each block, linear.
        rate_bps : float or None
            The rate in use [bit/s]; None: the radio's fixed one, else its most robust one.

        Returns
        -------
        (...) float64
            Linear.
        """
        blocks = np.atleast_1d(np.asarray(snr, dtype=np.float64))
        if self._gap is not None:
            return capacity(blocks, self._gap)
        rate_bps = rate_bps or self._only_rate_bps
        efficiency = rate_bps / self._bandwidth_hz if rate_bps else None
        return self._fading.effective_snr(blocks, efficiency)

    def rate_bps(self, snr: ArrayLike) -> float:
        """The fastest rate [bit/s] whose own effective SNR is enough for it; 0: there is none."""
        return float(self.rates_bps(np.atleast_1d(np.asarray(snr, dtype=np.float64))[None])[0])

    def rates_bps(self, snr: NDArray[np.float64]) -> NDArray[np.float64]:
        """`rate_bps` of several groups of blocks at once.

        Parameters
        ----------
        snr : (n, K) float64
            Linear.

        Returns
        -------
        (n,) float64
        """
        rate, bandwidth_hz = self._rate, self._bandwidth_hz
        if not isinstance(rate, TableRate):
            return np.array([rate.bits_per_s(float(one), bandwidth_hz) for one in self.snr(snr)])
        found = np.zeros(len(snr))
        for efficiency, least_db in rate.table:
            wanted_bps = efficiency * bandwidth_hz
            enough = self.snr(snr, wanted_bps) >= db_to_linear(least_db) * _ROUNDING
            found[enough] = wanted_bps
        return found
