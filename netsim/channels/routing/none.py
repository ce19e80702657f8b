"""No relaying: a message goes directly from its sender to its receivers."""

import math
from typing import ClassVar, Literal

from netsim.channels.routing import LinkQuality, Routing


class NoRouting(Routing):
    """Messages are not relayed."""

    kind: Literal["none"] = "none"
    relays: ClassVar[bool] = False

    def cost(self, link: LinkQuality) -> float:
        """Infinite."""
        return math.inf
