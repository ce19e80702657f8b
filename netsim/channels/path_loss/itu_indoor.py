"""Indoors after ITU-R P.1238: 20 log10(f / MHz) + N log10(d) + Lf - 28, eq. (1) up to P.1238-9."""

import math
from typing import ClassVar, Literal

import numpy as np

from netsim.channels import Real
from netsim.channels.path_loss import NEAREST_M, PathLoss
from netsim.registry import Loss, Positive


class ItuIndoor(PathLoss):
    """Offices, shops and homes, by one coefficient.

    Attributes
    ----------
    power_loss_coefficient : float
        N [dB per decade]: 30 in an office around 2 GHz, 28 in a home, 22 in a shop.
    floor_loss_db : float
        Lf, loss through the floors between the ends [dB].
    """

    kind: Literal["itu_indoor"] = "itu_indoor"
    power_loss_coefficient: Positive = 30.0
    floor_loss_db: Loss = 0.0
    fitted_hz: ClassVar[tuple[float, float] | None] = (0.3e9, 450e9)

    @property
    def power_law(self) -> float:
        """N / 10."""
        return self.power_loss_coefficient / 10.0

    def loss_db(self, distance_m: Real, carrier_hz: float, u: Real | float = 0.0) -> Real:
        at_1_m_db = 20.0 * math.log10(carrier_hz / 1e6) + self.floor_loss_db - 28.0
        decades = np.log10(np.maximum(distance_m, NEAREST_M))
        loss_db: Real = at_1_m_db + self.power_loss_coefficient * decades
        return loss_db
