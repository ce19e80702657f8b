"""Every packet of a broadcast is sent a fixed number of times."""

from typing import Literal

from netsim.channels.broadcast import Broadcast
from netsim.registry import Count


class Starting(Broadcast):
    """Rounds without feedback.

    Attributes
    ----------
    times : int
        Greatest number of times that a packet is sent.
    """

    kind: Literal["starting"] = "starting"
    times: Count = 2

    @property
    def rounds(self) -> int:
        """`times`."""
        return self.times
