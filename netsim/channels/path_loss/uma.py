"""Cities after 3GPP TR 38.901, UMa: a base station over the roofs (tables 7.4.1-1, 7.4.2-1, 7.5-6).

With f in GHz and d the distance between the antennas, LOS: 28 + 22 log10 d + 20 log10 f, from the
breakpoint 4 (hBS - 1)(hUT - 1) f/c on, c = 3.0e8 m/s, 28 + 40 log10 d + 20 log10 f -
9 log10(dBP^2 + (hBS - hUT)^2). NLOS: at least that, and 13.54 + 39.08 log10 d + 20 log10 f -
0.6 (hUT - 1.5). LOS with probability 18/d + exp(-d/63) (1 - 18/d) beyond 18 m, for devices up to
13 m high.
"""

from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from netsim.channels.path_loss import NEAREST_M, OwnShadowing
from netsim.channels.path_loss._sighted import C_M_PER_S, BaseAndDevice, Sight
from netsim.channels.path_loss.umi import Height


class UrbanMacro(BaseAndDevice):
    """A city under a base station over the roofs, with line of sight drawn once a pair.

    Attributes
    ----------
    sight : {"drawn", "always", "never"}
        Line of sight: by the standard's probability, everywhere, nowhere. Each pair has one uniform
        draw, so that it keeps its line of sight as it comes closer.
    base_height_m : float
        hBS, height of the base station's antenna; one end of every link counts as base station.
    device_height_m : float
        hUT, height of the device's antenna, up to 13 m: higher ones see farther, by a law of
        their own.
    """

    kind: Literal["uma"] = "uma"
    sight: Sight = "drawn"
    base_height_m: Height = 25.0
    device_height_m: Annotated[Height, Field(le=13)] = 1.5
    least_height_m: ClassVar[float] = 1.0
    own_shadowing = (OwnShadowing(4.0, 37.0), OwnShadowing(6.0, 50.0))
    fitted_hz: ClassVar[tuple[float, float] | None] = (0.5e9, 100e9)
    fitted_ends_m: ClassVar[tuple[tuple[float, float], tuple[float, float]] | None] = (
        (25.0, 25.0),
        (1.5, 13.0),
    )
    assumes: ClassVar[str | None] = (
        "path_loss uma (TR 38.901) is measured between a base station at 25 m and a device at 1.5 "
        "to 13 m, over 10 to 5000 m; between two devices it is an extrapolation"
    )

    def losses_db(
        self, ground_m: Any, base_m: Any, device_m: Any, carrier_hz: float
    ) -> tuple[Any, Any]:
        ground_m, rise_m = np.maximum(ground_m, NEAREST_M), base_m - device_m
        log_d = np.log10(np.hypot(ground_m, rise_m))
        log_f = np.log10(carrier_hz / 1e9)
        breakpoint_m = 4.0 * (base_m - 1.0) * (device_m - 1.0) * carrier_hz / C_M_PER_S
        near_db = 28.0 + 22.0 * log_d + 20.0 * log_f
        far_db = 28.0 + 40.0 * log_d + 20.0 * log_f
        far_db = far_db - 9.0 * np.log10(breakpoint_m**2 + rise_m**2)
        los_db = np.where(ground_m <= breakpoint_m, near_db, far_db)
        return los_db, 13.54 + 39.08 * log_d + 20.0 * log_f - 0.6 * (device_m - 1.5)

    def sight_drawn(self, distance_m: Any) -> Any:
        """18/d + exp(-d/63) (1 - 18/d) beyond 18 m, else 1."""
        beyond_m = np.maximum(distance_m, 18.0)
        near = 18.0 / beyond_m
        return near + np.exp(-beyond_m / 63.0) * (1.0 - near)
