"""No retransmission: every packet is sent once, as by UDP, and nothing is acknowledged."""

from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from netsim.channels.arq import Arq, Decode, Sending, among_first


class NoArq(Arq):
    """Losses are Binomial(M, per)."""

    kind: Literal["none"] = "none"
    acknowledged: ClassVar[bool] = False

    @property
    def limit(self) -> int | None:
        return 1

    def begin(
        self, packets: int, want_mask: bool = False, decode: Decode | None = None
    ) -> "_Sending":
        return _Sending(packets)


class _Sending(Sending):
    """A message whose packets are sent once; `_blocks` has (sent, lost) of each block."""

    __slots__ = ("_blocks", "_left", "packets")

    def __init__(self, packets: int) -> None:
        self.packets = packets
        self._left = packets
        self._blocks: list[tuple[int, int]] = []

    @property
    def delivered(self) -> int:
        return self.packets - self._left - self.lost

    @property
    def lost(self) -> int:
        return sum(lost for _, lost in self._blocks)

    @property
    def is_done(self) -> bool:
        return self._left == 0

    def attempt(
        self,
        rng: np.random.Generator,
        room: int | None,
        per: float,
        snr: float = 0.0,
        erasure: float = 0.0,
        by_attempt: tuple[float, ...] | None = None,
    ) -> int:
        n = self._left if room is None else min(self._left, room)
        lost = int(rng.binomial(n, per)) if 0.0 < per < 1.0 else n * int(per)
        self._blocks.append((n, lost))
        self._left -= n
        return n

    def rewind(self, rng: np.random.Generator, used: int) -> None:
        n, lost = self._blocks.pop()
        self._blocks.append((used, among_first(rng, used, n, lost)))
        self._left += n - used

    def arrived(self, rng: np.random.Generator) -> NDArray[np.bool_]:
        arrived = np.zeros(self.packets, dtype=np.bool_)
        at = 0
        for n, lost in self._blocks:
            # given how many were lost, every choice of them is equally likely
            through = rng.permutation(n)[lost:] if 0 < lost < n else np.arange(lost, n)
            arrived[at + through] = True
            at += n
        return arrived

    def copy(self) -> "_Sending":
        same = _Sending(self.packets)
        same._left, same._blocks = self._left, self._blocks.copy()
        return same
