"""Limited retransmission that gives up: the first packet that fails too often ends the message."""

from collections.abc import Iterable
from typing import ClassVar, Literal

import numpy as np

from netsim.channels.arq import Arq, Segment, Transfer
from netsim.channels.arq._limited import send
from netsim.registry import Count


class Abort(Arq):
    """A message of M packets arrives with probability (1 - per^max_attempts)^M.

    Attributes
    ----------
    max_attempts : int
        Attempts at one packet, the first included (802.11: 7).
    """

    kind: Literal["abort"] = "abort"
    acknowledged: ClassVar[bool] = True
    max_attempts: Count = 7

    def transfer(
        self,
        rng: np.random.Generator,
        packets: int,
        segments: Iterable[Segment],
        want_mask: bool = False,
    ) -> Transfer:
        """Send packets until all are through or one is lost."""
        return send(rng, packets, segments, self.max_attempts, True, want_mask)
