"""The mean SNR of links whose gains a file states."""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from netsim.links.radio.mean_snr import MeanSnr, Nodes
from netsim.links.radio.table import Radio
from netsim.traces.gains import Gains


class GivenMeanSnr(MeanSnr):
    """Of nodes whose gains are known pair by pair, wherever they are.

    Parameters
    ----------
    radio : Radio
    powers_dbm : tuple of float
        Transmit power of each node [dBm].
    gains : Gains
    """

    def __init__(self, radio: Radio, powers_dbm: tuple[float, ...], gains: Gains) -> None:
        self._gains = gains
        self._sent_over_noise_db = tuple(p - radio.noise_dbm for p in powers_dbm)
        self.moving = gains.moving
        heard = np.isfinite(gains.gain_db).any(axis=0)
        self.pairs_left_out = int(np.triu(~(heard | heard.T), k=1).sum())
        self._pair = lru_cache(maxsize=1 << 16)(self._of_pair)

    def snr(self, src: int, others: Nodes, time_ns: int) -> NDArray[np.float64]:
        return self._of_some(self._gains.step(time_ns), src, others)

    def pair(self, src: int, dst: int, time_ns: int) -> float:
        return self._pair(self._gains.step(time_ns), src, dst)

    def holds_until_ns(self, src: int, dst: int, time_ns: int) -> int | None:
        return self._gains.holds_until_ns(time_ns)

    def step_ends_ns(self, time_ns: int) -> int | None:
        return self._gains.holds_until_ns(time_ns)

    def _of_pair(self, step: int, src: int, dst: int) -> float:
        return float(self._of_some(step, src, (dst,))[0])

    def _of_some(self, step: int, src: int, others: Nodes) -> NDArray[np.float64]:
        snr_db = self._gains.at(step, src, others) + self._sent_over_noise_db[src]
        return np.asarray(10.0 ** (snr_db / 10.0))
