"""The fewest hops, each over a link whose mean SNR is over the threshold.

What Bellman-Ford and most ad-hoc routing (DSDV, AODV, OLSR without extensions) count. Short paths
have long hops: over lossy links `etx` is better (De Couto et al. 2003).
"""

import math
from typing import Literal

from netsim.channels.routing import LinkQuality, Routing


class Hops(Routing):
    """Cost 1 a link."""

    kind: Literal["hops"] = "hops"

    def cost(self, link: LinkQuality) -> float:
        """1, or infinite where the link is not reachable."""
        return 1.0 if link.reachable and link.delivery > 0.0 else math.inf
