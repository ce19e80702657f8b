"""A medium that senders share evenly, with a little lost to whoever arranges it."""

from typing import ClassVar, Literal

from netsim.channels.mac import Mac, Medium
from netsim.registry import NonNegative


class Starting(Mac):
    """With n senders each attempt takes n (1 + overhead) times as long.

    Attributes
    ----------
    overhead : float
        Time lost a sender, relative to an attempt's.
    """

    kind: Literal["starting"] = "starting"
    overhead: NonNegative = 0.05
    exclusive: ClassVar[bool] = False
    contends: ClassVar[bool] = True

    def medium(self, contenders: int, nodes: int) -> Medium:
        """Return the effect of `contenders` senders in range on each attempt of a sender."""
        return Medium(slowdown=contenders * (1.0 + self.overhead))
