"""HARQ with Chase combining: the receiver keeps undecoded packets, and their SNRs add up.

D. Chase, "Code combining", IEEE Trans. Commun. 1985. After k attempts at a packet it is undecoded
with the probability that the packet error model gives at the sum of their SNRs. With `outage` under
Rayleigh fading that is new in each attempt, a packet is lost with the regularised lower incomplete
gamma function P(L, threshold / mean SNR), L = `max_attempts`.
"""

from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from netsim.channels.arq import Decode
from netsim.channels.arq._limited import Limited, LimitedSending


class HarqChase(Limited):
    """As `hole`, but the receiver combines the attempts at a packet.

    An attempt that is lost in a collision is combined like one that is lost to noise. Where there
    is no SNR (wires, `packet_error = "fixed"`), it is `hole`.

    Attributes
    ----------
    max_attempts : int
        Attempts at one packet, the first included.
    """

    kind: Literal["harq_chase"] = "harq_chase"
    combines: ClassVar[bool] = True

    def begin(
        self, packets: int, want_mask: bool = False, decode: Decode | None = None
    ) -> LimitedSending:
        if decode is None:
            return LimitedSending(packets, self.max_attempts, False, want_mask)
        return _Sending(packets, self.max_attempts, want_mask, decode)


class _Sending(LimitedSending):
    """A message under way; `energy`: summed SNR of the failed attempts at the packet in turn."""

    energy = 0.0
    _energy_before = 0.0
    _snr = 0.0
    _erasure = 0.0

    def __init__(self, packets: int, limit: int, want_mask: bool, decode: Decode) -> None:
        super().__init__(packets, limit, False, want_mask)
        self._decode = decode

    def attempt(
        self,
        rng: np.random.Generator,
        room: int | None,
        per: float,
        snr: float = 0.0,
        erasure: float = 0.0,
        by_attempt: tuple[float, ...] | None = None,
    ) -> int:
        self._energy_before, self._snr, self._erasure = self.energy, snr, erasure
        if per == 1.0 and erasure < 1.0:
            per = 0.5  # combined attempts may succeed; `_failure_probabilities` says how likely
        used = super().attempt(rng, room, per)
        self._sum_energy()
        return used

    def rewind(self, rng: np.random.Generator, used: int) -> None:
        self.energy = self._energy_before
        super().rewind(rng, used)
        self._sum_energy()

    def _sum_energy(self) -> None:
        """Set the sum for the packet in turn, which may have been in turn before the block, too."""
        settled, _, tried = self._before
        if self.settled == settled:
            self.energy = self._energy_before + (self.tried - tried) * self._snr
        else:
            self.energy = self.tried * self._snr

    def _attempts_needed(self, rng: np.random.Generator, per: float) -> int:
        """Attempts that would get the packet in turn through, or one more than the limit."""
        failing = self._failure_probabilities(self._energy_before, self.limit - self.tried)
        return 1 + int((rng.random() < failing).sum())

    def _draw_counts(self, rng: np.random.Generator, n: int, per: float) -> NDArray[np.int64]:
        failing = self._failure_probabilities(0.0, self.limit)
        return rng.multinomial(n, np.append(-np.diff(failing, prepend=1.0), failing[-1]))

    def _failure_probabilities(self, energy: float, attempts: int) -> NDArray[np.float64]:
        """Probabilities that the next 1, 2, ... attempts all fail, after some with `energy`."""
        levels = [self._decode(energy + k * self._snr) for k in range(1, attempts + 1)]
        before = np.array([self._decode(energy) if energy > 0.0 else 1.0, *levels[:-1]])
        given = np.divide(levels, before, out=np.zeros(attempts), where=before > 0.0)
        failing: NDArray[np.float64] = (self._erasure + (1.0 - self._erasure) * given).cumprod()
        return failing
