"""Free space: loss = 20 log10(4 pi d f / c) (Friis, Proc. IRE 1946)."""

import math
from typing import Literal

import numpy as np

from netsim.channels import Real
from netsim.channels.path_loss import NEAREST_M, PathLoss
from netsim.registry import Decibels
from netsim.units import SPEED_OF_LIGHT_M_PER_S


class FreeSpace(PathLoss):
    """A line of sight without reflections.

    Attributes
    ----------
    antennas_db
        Gains of both antennas together, in dBi; the loss is lower by so much.
    """

    kind: Literal["free_space"] = "free_space"
    antennas_db: Decibels = 0.0

    @property
    def power_law(self) -> float:
        """2."""
        return 2.0

    def loss_db(self, distance_m: Real, carrier_hz: float, u: Real | float = 0.0) -> Real:
        per_m = 4.0 * math.pi * carrier_hz / SPEED_OF_LIGHT_M_PER_S
        loss_db: Real = 20.0 * np.log10(per_m * np.maximum(distance_m, NEAREST_M))
        if self.antennas_db:
            loss_db = loss_db - self.antennas_db
        return loss_db
