"""Power of senders at receivers: possible interferers, and their strength."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from netsim.links.radio.phy.background import FEW
from netsim.links.radio.phy.fading_gains import FadingGains
from netsim.links.radio.phy.mean_snr import MeanSnr


class Loudness:
    """SNRs without the fading that changes in time.

    Parameters
    ----------
    mean_snr : MeanSnr
    fading : FadingGains
    """

    def __init__(self, mean_snr: MeanSnr, fading: FadingGains) -> None:
        self._mean_snr, self._fading = mean_snr, fading

    def snr_at(self, dst: int, senders: Sequence[int], time_ns: int) -> list[float]:
        """Return the SNR of senders at a receiver, without fading that changes in time.

        Parameters
        ----------
        dst : int
            The receiver.
        senders : sequence of int
        time_ns : int
            At which gains that are held for an exchange are taken.

        Returns
        -------
        list of float
            Linear, one a sender.
        """
        if len(senders) <= FEW:
            found = [self._mean_snr.pair_snr(i, dst, time_ns) for i in senders]
        else:
            found = self._mean_snr.snr_towards(dst, senders, time_ns).tolist()
        return self._with_held_gains(dst, senders, time_ns, found)

    def snr_of(self, src: int, receivers: Sequence[int], time_ns: int) -> list[float]:
        """Return the SNR of a sender at receivers; the counterpart of `snr_at`.

        Parameters
        ----------
        src : int
            The sender.
        receivers : sequence of int
        time_ns : int
            At which gains that are held for an exchange are taken.

        Returns
        -------
        list of float
            Linear, one a receiver.
        """
        if len(receivers) <= FEW:
            found = [self._mean_snr.pair_snr(src, j, time_ns) for j in receivers]
        else:
            found = self._mean_snr.snr(src, receivers, time_ns).tolist()
        return self._with_held_gains(src, receivers, time_ns, found)

    def at_all(self, dst: int, senders: NDArray[np.int64], time_ns: int) -> NDArray[np.float64]:
        """Evaluate `snr_at` from an array to an array.

        Parameters
        ----------
        dst : int
            The receiver.
        senders : (n,) int array
        time_ns : int

        Returns
        -------
        (n,) float array
        """
        if self._fading.per_exchange or len(senders) <= FEW:
            return np.array(self.snr_at(dst, senders.tolist(), time_ns))
        return self._mean_snr.snr_towards(dst, senders, time_ns)

    def of_all(self, src: int, receivers: NDArray[np.int64], time_ns: int) -> NDArray[np.float64]:
        """Evaluate `snr_of` from an array to an array.

        Parameters
        ----------
        src : int
            The sender.
        receivers : (n,) int array
        time_ns : int

        Returns
        -------
        (n,) float array
        """
        if self._fading.per_exchange or len(receivers) <= FEW:
            return np.array(self.snr_of(src, receivers.tolist(), time_ns))
        return self._mean_snr.snr(src, receivers, time_ns)

    def _with_held_gains(
        self, node: int, others: Sequence[int], time_ns: int, means: list[float]
    ) -> list[float]:
        if not self._fading.per_exchange:
            return means
        return [
            mean * self._fading.pair_gain(node, j, time_ns)
            for j, mean in zip(others, means, strict=True)
        ]
