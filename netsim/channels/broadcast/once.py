"""A broadcast whose packets are sent once and not acknowledged."""

from typing import Literal

from netsim.channels.broadcast import Broadcast


class Once(Broadcast):
    """Each receiver keeps the packets that it decodes."""

    kind: Literal["once"] = "once"

    @property
    def rounds(self) -> int:
        """One."""
        return 1
