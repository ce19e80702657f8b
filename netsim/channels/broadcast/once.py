"""A broadcast whose packets are sent once, and that nobody acknowledges."""

from typing import Literal

from netsim.channels.broadcast import Broadcast


class Once(Broadcast):
    """Each receiver gets what it gets."""

    kind: Literal["once"] = "once"

    @property
    def rounds(self) -> int:
        """One."""
        return 1
