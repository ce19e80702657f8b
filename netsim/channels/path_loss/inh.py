"""Offices after 3GPP TR 38.901, InH - Office (tables 7.4.1-1, 7.4.2-1, 7.5-6).

With f in GHz and d the distance between the antennas, LOS: 32.4 + 17.3 log10 d + 20 log10 f.
NLOS: at least that, and 17.3 + 38.3 log10 d + 24.9 log10 f. LOS in a mixed office: always up to
1.2 m, exp(-(d - 1.2) / 4.7) up to 6.5 m, then 0.32 exp(-(d - 6.5) / 32.6). Measured over 1 to
150 m, between an access point under the ceiling and a device.
"""

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

import numpy as np

from netsim.channels.path_loss import NEAREST_M, OwnShadowing, PathLoss
from netsim.channels.path_loss._sighted import BaseAndDevice, Sight
from netsim.registry import Positive


class IndoorOffice(BaseAndDevice):
    """A mixed office with line of sight drawn once a pair.

    Attributes
    ----------
    sight : {"drawn", "always", "never"}
        Line of sight: by the standard's probability, everywhere, nowhere. Each pair has one uniform
        draw, so that it keeps its line of sight as it comes closer.
    base_height_m : float
        Height of the access point's antenna.
    device_height_m : float
        Height of the device's antenna.
    """

    kind: Literal["inh"] = "inh"
    sight: Sight = "drawn"
    base_height_m: Positive = 3.0
    device_height_m: Positive = 1.0
    own_shadowing = (OwnShadowing(3.0, 10.0), OwnShadowing(8.03, 6.0))
    fitted_hz: ClassVar[tuple[float, float] | None] = (0.5e9, 100e9)

    def losses_db(
        self, ground_m: Any, base_m: Any, device_m: Any, carrier_hz: float
    ) -> tuple[Any, Any]:
        log_d = np.log10(np.hypot(np.maximum(ground_m, NEAREST_M), base_m - device_m))
        log_f = np.log10(carrier_hz / 1e9)
        los_db = 32.4 + 17.3 * log_d + 20.0 * log_f
        return los_db, 17.3 + 38.3 * log_d + 24.9 * log_f

    def of_farthest(self, heights_m: Sequence[float]) -> PathLoss:
        return self.model_copy(update={"device_height_m": self.base_height_m})  # one level

    def sight_drawn(self, distance_m: Any) -> Any:
        """In a mixed office: exp(-(d - 1.2) / 4.7) up to 6.5 m, .32 exp(-(d - 6.5) / 32.6) then."""
        near = np.exp(-(np.maximum(distance_m, 1.2) - 1.2) / 4.7)
        far = 0.32 * np.exp(-(np.maximum(distance_m, 6.5) - 6.5) / 32.6)
        return np.where(distance_m <= 6.5, near, far)[()]
