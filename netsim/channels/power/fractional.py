"""Fractional power control: the open loop of the LTE and NR uplink.

P = min(Pmax, P0 + alpha PL + 10 log10 M) [dBm] (3GPP TS 36.213, 5.1.1.1, and TS 38.213, 7.1.1,
without the terms for the transport format and the closed loop). With alpha = 1 every sender that
is not at its limit is received with the same power; with alpha < 1 those farther away are received
with less, and disturb others less.
"""

import math
from typing import Literal

from netsim.channels.power import Power
from netsim.registry import Count, Decibels, Fraction


class FractionalPower(Power):
    """Power that compensates a part of the path loss.

    Attributes
    ----------
    p0_dbm : float
        P0, received power per resource block with full compensation of the path loss [dBm].
    alpha : float
        Part of the path loss, in dB, that the power compensates.
    resource_blocks : int
        M, number of resource blocks to which the power belongs.
    """

    kind: Literal["fractional"] = "fractional"
    p0_dbm: Decibels
    alpha: Fraction = 0.8
    resource_blocks: Count = 1

    def dbm(self, loss_db: float, most_dbm: float, noise_dbm: float) -> float:
        blocks_db = 10.0 * math.log10(self.resource_blocks)
        return min(most_dbm, self.p0_dbm + self.alpha * loss_db + blocks_db)
