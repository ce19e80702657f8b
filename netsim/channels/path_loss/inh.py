"""Offices after 3GPP TR 38.901, InH - Office (tables 7.4.1-1, 7.4.2-1, 7.5-6).

With f in GHz and d the distance between the antennas, LOS: 32.4 + 17.3 log10 d + 20 log10 f.
NLOS: at least that, and 17.3 + 38.3 log10 d + 24.9 log10 f. LOS in a mixed office: always up to
1.2 m, exp(-(d - 1.2) / 4.7) up to 6.5 m, then 0.32 exp(-(d - 6.5) / 32.6). Measured over 1 to
150 m, between an access point under the ceiling and a device.
"""

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from netsim.channels import Real
from netsim.channels.path_loss import NEAREST_M, OwnShadowing, PathLoss
from netsim.registry import Positive


class IndoorOffice(PathLoss):
    """A mixed office with line of sight drawn once a pair.

    Attributes
    ----------
    sight : {"drawn", "always", "never"}
        Line of sight: by the standard's probability, everywhere, nowhere. A pair is drawn one
        uniform: it gains sight as it comes closer and keeps it.
    base_height_m : float
        Height of the access point's antenna.
    device_height_m : float
        Height of the device's antenna.
    """

    kind: Literal["inh"] = "inh"
    sight: Literal["drawn", "always", "never"] = "drawn"
    base_height_m: Positive = 3.0
    device_height_m: Positive = 1.0
    sighted: ClassVar[bool] = True
    own_shadowing = (OwnShadowing(3.0, 10.0), OwnShadowing(8.03, 6.0))

    def loss_db(self, distance_m: Real, carrier_hz: float, u: Real | float = 0.0) -> Real:
        loss_db: Real = self._loss_db(
            distance_m, self.base_height_m - self.device_height_m, carrier_hz, u
        )
        return loss_db

    def loss_between_db(
        self,
        ground_m: NDArray[np.float64],
        one_m: NDArray[np.float64],
        other_m: NDArray[np.float64],
        carrier_hz: float,
        u: NDArray[np.float64] | float = 0.0,
    ) -> NDArray[np.float64]:
        """Line of sight goes by the distance along the ground, the loss by that in space."""
        return np.asarray(self._loss_db(ground_m, one_m - other_m, carrier_hz, u))

    def of_farthest(self, heights_m: Sequence[float]) -> PathLoss:
        return self.model_copy(update={"device_height_m": self.base_height_m})  # one level

    def _loss_db(self, distance_m: Any, rise_m: Any, carrier_hz: float, u: Any) -> Any:
        log_d = np.log10(np.hypot(np.maximum(distance_m, NEAREST_M), rise_m))
        log_f = np.log10(carrier_hz / 1e9)
        los_db = 32.4 + 17.3 * log_d + 20.0 * log_f
        nlos_db = np.maximum(los_db, 17.3 + 38.3 * log_d + 24.9 * log_f)
        in_sight = u < self.sight_probability(distance_m)
        return np.where(in_sight, los_db, nlos_db)[()]

    def sight_probability(self, distance_m: Real) -> Real:
        """Probability of line of sight in a mixed office; 1 or 0 if `sight` is not "drawn"."""
        if self.sight != "drawn":
            return 0.0 * distance_m + (1.0 if self.sight == "always" else 0.0)
        near = np.exp(-(np.maximum(distance_m, 1.2) - 1.2) / 4.7)
        far = 0.32 * np.exp(-(np.maximum(distance_m, 6.5) - 6.5) / 32.6)
        found: Real = np.where(distance_m <= 6.5, near, far)[()]
        return found
