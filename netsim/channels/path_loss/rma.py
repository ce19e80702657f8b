"""The country after 3GPP TR 38.901, RMa (tables 7.4.1-1, 7.4.2-1, 7.5-6).

With f in GHz, d the distance between the antennas, h the mean height of buildings and W the width
of streets, LOS up to the breakpoint 2 pi hBS hUT f/c, c = 3.0e8 m/s:

20 log10(40 pi d f/3) + min(.03 h^1.72, 10) log10 d - min(.044 h^1.72, 14.77) + .002 log10(h) d,

from there on that at the breakpoint and 40 log10(d/dBP). NLOS: at least that, and 161.04 -
7.1 log10 W + 7.5 log10 h - (24.37 - 3.7 (h/hBS)^2) log10 hBS + (43.42 - 3.1 log10 hBS)(log10 d - 3)
+ 20 log10 f - (3.2 (log10 11.75 hUT)^2 - 4.97). LOS with probability exp(-(d - 10)/1000) beyond
10 m.
"""

import math
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from netsim.channels.path_loss import NEAREST_M, OwnShadowing
from netsim.channels.path_loss._sighted import C_M_PER_S, BaseAndDevice, Sight
from netsim.registry import Positive


class RuralMacro(BaseAndDevice):
    """Open country with villages and line of sight drawn once a pair.

    Shadowing in sight has 4 dB, also past the breakpoint, where the standard has 6 dB.

    Attributes
    ----------
    sight : {"drawn", "always", "never"}
        Line of sight: by the standard's probability, everywhere, nowhere. Each pair has one uniform
        draw, so that it keeps its line of sight as it comes closer.
    base_height_m : float
        hBS, height of the base station's antenna; one end of every link counts as base station.
    device_height_m : float
        hUT, height of the device's antenna.
    building_height_m : float
        h, mean height of buildings, 5 to 50 m.
    street_width_m : float
        W, width of streets, 5 to 50 m.
    """

    kind: Literal["rma"] = "rma"
    sight: Sight = "drawn"
    base_height_m: Positive = 35.0
    device_height_m: Positive = 1.5
    building_height_m: Annotated[float, Field(ge=5, le=50)] = 5.0
    street_width_m: Annotated[float, Field(ge=5, le=50)] = 20.0
    least_height_m: ClassVar[float] = 0.0
    own_shadowing = (OwnShadowing(4.0, 37.0), OwnShadowing(8.0, 120.0))
    fitted_hz: ClassVar[tuple[float, float] | None] = (0.5e9, 30e9)
    fitted_ends_m: ClassVar[tuple[tuple[float, float], tuple[float, float]] | None] = (
        (10.0, 150.0),
        (1.0, 10.0),
    )
    assumes: ClassVar[str | None] = (
        "path_loss rma (TR 38.901) is measured between a base station at 10 to 150 m and a device "
        "at 1 to 10 m, over 10 m to 10 km (without sight 5 km), up to 7 GHz; elsewhere, as between "
        "two devices, it is an extrapolation"
    )

    def losses_db(
        self, ground_m: Any, base_m: Any, device_m: Any, carrier_hz: float
    ) -> tuple[Any, Any]:
        ground_m = np.maximum(ground_m, NEAREST_M)
        d_m, f_ghz = np.hypot(ground_m, base_m - device_m), carrier_hz / 1e9
        breakpoint_m = 2.0 * math.pi * base_m * device_m * carrier_hz / C_M_PER_S
        breakpoint_m = np.maximum(breakpoint_m, NEAREST_M)
        past_db = 40.0 * np.log10(d_m / breakpoint_m)
        los_db = np.where(
            ground_m <= breakpoint_m,
            self._near_db(d_m, f_ghz),
            self._near_db(breakpoint_m, f_ghz) + past_db,
        )
        h_m, log_base = self.building_height_m, np.log10(base_m)
        nlos_db = 161.04 - 7.1 * math.log10(self.street_width_m) + 7.5 * math.log10(h_m)
        nlos_db = nlos_db - (24.37 - 3.7 * (h_m / base_m) ** 2) * log_base
        nlos_db = nlos_db + (43.42 - 3.1 * log_base) * (np.log10(d_m) - 3.0)
        nlos_db = nlos_db + 20.0 * math.log10(f_ghz)
        return los_db, nlos_db - (3.2 * np.log10(11.75 * device_m) ** 2 - 4.97)

    def _near_db(self, d_m: Any, f_ghz: float) -> Any:
        rough = self.building_height_m**1.72
        loss_db = 20.0 * np.log10(40.0 * math.pi * d_m * f_ghz / 3.0)
        loss_db = loss_db + min(0.03 * rough, 10.0) * np.log10(d_m) - min(0.044 * rough, 14.77)
        return loss_db + 0.002 * math.log10(self.building_height_m) * d_m

    def sight_drawn(self, distance_m: Any) -> Any:
        """exp(-(d - 10)/1000) beyond 10 m, else 1."""
        return np.exp(-(np.maximum(distance_m, 10.0) - 10.0) / 1000.0)
