"""A link costs the square of the attempts at a packet: bad ones are avoided all the more."""

import math
from typing import Literal

from netsim.channels.routing import LinkQuality, Routing


class Starting(Routing):
    """Cost (1 / d)^power a link.

    Attributes
    ----------
    power : int
        Of the mean number of attempts.
    """

    kind: Literal["starting"] = "starting"
    power: int = 2

    def cost(self, link: LinkQuality) -> float:
        """Mean number of attempts until one gets through, to the power."""
        return link.delivery**-self.power if link.delivery > 0.0 else math.inf
