"""Retransmission without limit: every packet is repeated until it arrives, as by TCP."""

from collections.abc import Iterable
from typing import ClassVar, Literal

import numpy as np

from netsim.channels.arq import Arq, Segment, Transfer

_NEVER = 2.0**53
"""Expected attempts beyond which a message counts as never arriving (at 1 us each: 285 years)."""


class Unlimited(Arq):
    """Attempts are M + NegativeBinomial(M, 1 - per).

    An endless segment in which no attempt succeeds adds no attempts: the message is reported
    incomplete there, since no number of attempts would be the right one.
    """

    kind: Literal["unlimited"] = "unlimited"
    acknowledged: ClassVar[bool] = True

    def transfer(
        self,
        rng: np.random.Generator,
        packets: int,
        segments: Iterable[Segment],
        want_mask: bool = False,
    ) -> Transfer:
        """Repeat until all has arrived or the segments end."""
        attempts: list[int] = []
        left = packets
        for room, per in segments:
            if room is None and left >= (1.0 - per) * _NEVER:
                attempts.append(0)
                break
            if room is None:
                used, through = left + _failures(rng, left, per), left
            else:
                used, through = _in_room(rng, left, room, per)
            attempts.append(used)
            left -= through
            if left == 0:
                break
        delivered = packets - left
        arrived = np.arange(packets) < delivered if want_mask else None
        return Transfer(attempts, delivered, 0, left == 0, arrived)


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
