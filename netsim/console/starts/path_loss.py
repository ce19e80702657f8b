"""Two slopes: a power law up to a breakpoint, a steeper one beyond it."""

from typing import Literal

import numpy as np

from netsim.channels import Real
from netsim.channels.path_loss import NEAREST_M, PathLoss
from netsim.registry import Finite, Positive


class Starting(PathLoss):
    """Loss in dB at 1 m, and two exponents.

    Attributes
    ----------
    reference_db : float
        Loss at 1 m [dB].
    near, far : float
        Exponents before and beyond the breakpoint.
    breakpoint_m : float
        In m.
    """

    kind: Literal["starting"] = "starting"
    reference_db: Finite = 40.0
    near: Positive = 2.0
    far: Positive = 4.0
    breakpoint_m: Positive = 50.0

    def loss_db(self, distance_m: Real, carrier_hz: float, u: Real | float = 0.0) -> Real:
        """Mean loss [dB] at a distance [m]; `u` is read by models with and without sight."""
        distance = np.maximum(distance_m, NEAREST_M)
        slow = 10.0 * self.near * np.log10(np.minimum(distance, self.breakpoint_m))
        steep = 10.0 * self.far * np.log10(np.maximum(distance / self.breakpoint_m, 1.0))
        loss_db: Real = self.reference_db + slow + steep
        return loss_db
