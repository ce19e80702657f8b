"""Streets after 3GPP TR 38.901, UMi - Street Canyon (tables 7.4.1-1, 7.4.2-1, 7.5-6, note).

With f in GHz and d the distance between the antennas, LOS: 32.4 + 21 log10 d + 20 log10 f, from
the breakpoint 4 (hBS - 1)(hUT - 1) f/c on, c = 3.0e8 m/s, 32.4 + 40 log10 d + 20 log10 f -
9.5 log10(dBP^2 + (hBS - hUT)^2). NLOS: at least that, and 22.4 + 35.3 log10 d + 21.3 log10 f -
0.3 (hUT - 1.5). LOS with probability 18/d + exp(-d/36) (1 - 18/d) beyond 18 m.

Warning: the model is measured between a base station at 10 m and a device on the ground, over 10
to 5000 m. Between two devices it is an extrapolation.
"""

from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from netsim.channels.path_loss import NEAREST_M, OwnShadowing
from netsim.channels.path_loss._sighted import C_M_PER_S, BaseAndDevice, Sight

Height = Annotated[float, Field(gt=1, le=1e9, allow_inf_nan=False)]
"""An antenna's height [m]; the street's effective level is at 1 m."""


class UrbanMicro(BaseAndDevice):
    """A street canyon with line of sight drawn once a pair.

    Attributes
    ----------
    sight : {"drawn", "always", "never"}
        Line of sight: by the standard's probability, everywhere, nowhere. Each pair has one uniform
        draw, so that it keeps its line of sight as it comes closer.
    base_height_m : float
        hBS, height of the base station's antenna; one end of every link counts as base station.
    device_height_m : float
        hUT, height of the device's antenna.
    """

    kind: Literal["umi"] = "umi"
    sight: Sight = "drawn"
    base_height_m: Height = 10.0
    device_height_m: Height = 1.5
    least_height_m: ClassVar[float] = 1.0
    own_shadowing = (OwnShadowing(4.0, 10.0), OwnShadowing(7.82, 13.0))
    fitted_hz: ClassVar[tuple[float, float] | None] = (0.5e9, 100e9)
    fitted_ends_m: ClassVar[tuple[tuple[float, float], tuple[float, float]] | None] = (
        (10.0, 10.0),
        (1.5, 22.5),
    )
    assumes: ClassVar[str | None] = (
        "path_loss umi (TR 38.901) is measured between a base station at 10 m and a device; "
        "between two devices it is an extrapolation"
    )

    def losses_db(
        self, ground_m: Any, base_m: Any, device_m: Any, carrier_hz: float
    ) -> tuple[Any, Any]:
        ground_m = np.maximum(ground_m, NEAREST_M)
        rise_m = base_m - device_m
        log_d = np.log10(np.hypot(ground_m, rise_m))
        log_f = np.log10(carrier_hz / 1e9)
        heights_m2 = (base_m - 1.0) * (device_m - 1.0)
        breakpoint_m = 4.0 * heights_m2 * carrier_hz / C_M_PER_S
        near_db = 32.4 + 21.0 * log_d + 20.0 * log_f
        far_db = 32.4 + 40.0 * log_d + 20.0 * log_f
        far_db = far_db - 9.5 * np.log10(breakpoint_m**2 + rise_m**2)
        los_db = np.where(ground_m <= breakpoint_m, near_db, far_db)
        return los_db, 22.4 + 35.3 * log_d + 21.3 * log_f - 0.3 * (device_m - 1.5)

    def sight_drawn(self, distance_m: Any) -> Any:
        """18/d + exp(-d/36) (1 - 18/d) beyond 18 m, else 1."""
        near = 18.0 / np.maximum(distance_m, 18.0)
        return near + np.exp(-np.maximum(distance_m, 18.0) / 36.0) * (1.0 - near)
