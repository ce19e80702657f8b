"""Log-distance: loss = PL0 + 10 n log10(d / d0) (Rappaport, Wireless Communications, 2002, 4.9)."""

from functools import lru_cache
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from netsim.channels import Real
from netsim.channels.path_loss import NEAREST_M, PathLoss
from netsim.channels.path_loss.free_space import FreeSpace
from netsim.registry import Decibels, Positive


class LogDistance(PathLoss):
    """A power law fitted to a place.

    Attributes
    ----------
    exponent : float
        n: 2 in free space, about 3 in a city, 4 over flat ground.
    reference_m : float
        d0, the distance of PL0.
    reference_db : float, optional
        PL0, the loss at d0. Absent: that of free space at the carrier.
    """

    kind: Literal["log_distance"] = "log_distance"
    exponent: Annotated[Positive, Field(le=100)] = 3.0
    reference_m: Positive = 1.0
    reference_db: Decibels | None = None

    @property
    def power_law(self) -> float:
        """The exponent."""
        return self.exponent

    def loss_db(self, distance_m: Real, carrier_hz: float, u: Real | float = 0.0) -> Real:
        reference_db = self.reference_db
        if reference_db is None:
            reference_db = _in_free_space_db(self.reference_m, carrier_hz)
        ratio = np.maximum(distance_m, NEAREST_M) / self.reference_m
        loss_db: Real = reference_db + 10.0 * self.exponent * np.log10(ratio)
        return loss_db


@lru_cache(maxsize=256)
def _in_free_space_db(distance_m: float, carrier_hz: float) -> float:
    return float(FreeSpace().loss_db(np.float64(distance_m), carrier_hz))
