"""Retransmission without limit: every packet is repeated until it arrives, as by TCP."""

from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from netsim.channels.arq import Arq, Decode, Sending, among_first

_NEVER = 2.0**53
"""Expected attempts beyond which a message counts as never arriving (at 1 us each: 285 years)."""


class Unlimited(Arq):
    """Attempts are M + NegativeBinomial(M, 1 - per).

    An endless block in which no attempt succeeds adds no attempts: the message is reported
    incomplete there.
    """

    kind: Literal["unlimited"] = "unlimited"
    acknowledged: ClassVar[bool] = True

    @property
    def limit(self) -> int | None:
        return None

    def begin(
        self, packets: int, want_mask: bool = False, decode: Decode | None = None
    ) -> "_Sending":
        return _Sending(packets)


class _Sending(Sending):
    """A message whose first packets are through; `_last`: attempts, successes in the last block."""

    __slots__ = ("_last", "_left", "packets")

    lost = 0

    def __init__(self, packets: int) -> None:
        self.packets = packets
        self._left = packets
        self._last = (0, 0)

    @property
    def delivered(self) -> int:
        return self.packets - self._left

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
        left = self._left
        if room is None and left >= (1.0 - per) * _NEVER:
            used, through = 0, 0
        elif room is None:
            used, through = left + _failures(rng, left, per), left
        else:
            used, through = _in_room(rng, left, room, per)
        self._last = (used, through)
        self._left = left - through
        return used

    def rewind(self, rng: np.random.Generator, used: int) -> None:
        attempts, through = self._last
        self._left += through
        if used < attempts:
            # a message that is over ended with a success; the other attempts are in any order
            last = 1 if self._left == through > 0 else 0
            through = among_first(rng, used, attempts - last, through - last)
        self._last = (used, through)
        self._left -= through

    def arrived(self, rng: np.random.Generator) -> NDArray[np.bool_]:
        return np.arange(self.packets) < self.delivered

    def copy(self) -> "_Sending":
        same = _Sending(self.packets)
        same._left, same._last = self._left, self._last
        return same


def _failures(rng: np.random.Generator, packets: int, per: float) -> int:
    """Failed attempts before the last of the packets is through."""
    return int(rng.negative_binomial(packets, 1.0 - per)) if per > 0.0 else 0


def _in_room(rng: np.random.Generator, packets: int, room: int, per: float) -> tuple[int, int]:
    """Attempts used and packets through where there is room for so many attempts.

    How many of all `room` attempts would succeed is binomial. When that is enough, the last
    packet's place among them is negative hypergeometric: a beta mixture of binomials.
    """
    if per == 0.0:
        n = min(packets, room)
        return n, n
    if per == 1.0:
        return room, 0
    successes = int(rng.binomial(room, 1.0 - per))
    if successes < packets:
        return room, successes
    share = rng.beta(packets, successes - packets + 1)
    return packets + int(rng.binomial(room - successes, share)), packets
