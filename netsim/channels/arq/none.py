"""No retransmission: every packet is sent once, as by UDP, and nothing is acknowledged."""

from collections.abc import Iterable
from typing import ClassVar, Literal

import numpy as np

from netsim.channels.arq import Arq, Segment, Transfer


class NoArq(Arq):
    """Losses are Binomial(M, per)."""

    kind: Literal["none"] = "none"
    acknowledged: ClassVar[bool] = False

    def transfer(
        self,
        rng: np.random.Generator,
        packets: int,
        segments: Iterable[Segment],
        want_mask: bool = False,
    ) -> Transfer:
        """Send each packet once; complete if all of them arrived."""
        attempts: list[int] = []
        losses: list[int] = []
        left = packets
        for room, per in segments:
            n = left if room is None else min(left, room)
            if per == 0.0:
                losses.append(0)
            elif per == 1.0:
                losses.append(n)
            else:
                losses.append(int(rng.binomial(n, per)))
            attempts.append(n)
            left -= n
            if left == 0:
                break
        lost = sum(losses)
        delivered = packets - left - lost
        arrived = None
        if want_mask:
            arrived = np.zeros(packets, dtype=np.bool_)
            at = 0
            for n, missing in zip(attempts, losses, strict=True):
                # given how many were lost, every choice of them is equally likely
                through = rng.permutation(n)[missing:] if 0 < missing < n else np.arange(missing, n)
                arrived[at + through] = True
                at += n
        return Transfer(attempts, delivered, lost, delivered == packets, arrived)
