"""Limited retransmission that goes on: a packet that fails too often leaves a hole."""

from collections.abc import Iterable
from typing import ClassVar, Literal

import numpy as np

from netsim.channels.arq import Arq, Segment, Transfer
from netsim.channels.arq._limited import send
from netsim.registry import Count


class Hole(Arq):
    """The message loses the packets that fail `max_attempts` times, and keeps the others.

    Attributes
    ----------
    max_attempts : int
        Attempts at one packet, the first included (802.11: 7).
    """

    kind: Literal["hole"] = "hole"
    acknowledged: ClassVar[bool] = True
    max_attempts: Count = 7

    def transfer(
        self,
        rng: np.random.Generator,
        packets: int,
        segments: Iterable[Segment],
        want_mask: bool = False,
    ) -> Transfer:
        """Send every packet; complete if none was lost."""
        return send(rng, packets, segments, self.max_attempts, False, want_mask)
