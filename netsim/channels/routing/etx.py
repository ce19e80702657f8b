"""Expected transmission count: the fewest attempts in all, retransmissions included.

De Couto, Aguayo, Bicket and Morris, "A High-Throughput Path Metric for Multi-Hop Wireless Routing",
MobiCom 2003: a link costs ETX = 1 / (d_f d_r) attempts at a packet, d_f and d_r the shares of
packets that get through forwards and of acknowledgements that do backwards; a path the sum of its
links. Acknowledgements are never lost here, so d_r = 1 and

    ETX = 1 / d;    an outage under Rayleigh fading: exp(threshold / mean SNR).

d is the model's own, the mean of the packet error over the fading, not one that probes estimate.
"""

import math
from typing import Literal

from netsim.channels.routing import LinkQuality, Routing


class Etx(Routing):
    """Cost 1 / d a link."""

    kind: Literal["etx"] = "etx"

    def cost(self, link: LinkQuality) -> float:
        """Mean number of attempts until one gets through."""
        return 1.0 / link.delivery if link.delivery > 0.0 else math.inf
