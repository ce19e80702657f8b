"""No relaying: a message reaches those whom its sender's radio reaches."""

import math
from typing import ClassVar, Literal

from netsim.channels.routing import LinkQuality, Routing


class NoRouting(Routing):
    """Every message is sent by its sender alone; the other keys mean nothing then."""

    kind: Literal["none"] = "none"
    relays: ClassVar[bool] = False

    def cost(self, link: LinkQuality) -> float:
        """Infinite."""
        return math.inf
