"""Expected transmission time: the least time on the air in all.

Draves, Padhye and Zill, "Routing in Multi-Radio, Multi-Hop Wireless Mesh Networks", MobiCom 2004: a
link costs ETT = ETX S / B seconds, S the bits of a packet and B the link's rate. Here S / B is the
time of an attempt at a full packet, header and `attempt_overhead_s` included, at the rate of the
mean SNR. Queues and other senders are not counted.
"""

import math
from typing import Literal

from netsim.channels.routing import LinkQuality, Routing


class Latency(Routing):
    """Cost ETX times the time of an attempt, a link."""

    kind: Literal["latency"] = "latency"

    def cost(self, link: LinkQuality) -> float:
        """Mean time until an attempt gets through [s]."""
        if link.delivery <= 0.0 or link.attempt_s <= 0.0:
            return math.inf
        return link.attempt_s / link.delivery
