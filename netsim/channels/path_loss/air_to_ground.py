"""Aircraft and ground: sight by the angle of elevation (Al-Hourani, Kandeepan and Lardner 2014).

A. Al-Hourani, S. Kandeepan, S. Lardner, "Optimal LAP Altitude for Maximum Coverage", IEEE Wireless
Commun. Lett. 2014. With t the elevation of the higher end as the lower one sees it, in degrees:

P(LOS) = 1 / (1 + a exp(-b (t - a))),  L = free space + eta_LOS or eta_NLOS,

a, b fitted to buildings after ITU-R P.1410 and eta for 2 GHz, each by environment. Two ends that
both are over the roofs see each other: free space and eta_LOS.
"""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from netsim.channels import Real
from netsim.channels.path_loss import NEAREST_M, PathLoss
from netsim.channels.path_loss._sighted import Sight, Sighted
from netsim.channels.path_loss.free_space import FreeSpace
from netsim.registry import NonNegative


class _Buildings(NamedTuple):
    a: float
    b: float
    with_sight_db: float
    without_db: float


ENVIRONMENTS = {
    "suburban": _Buildings(4.88, 0.43, 0.1, 21.0),
    "urban": _Buildings(9.61, 0.16, 1.0, 20.0),
    "dense_urban": _Buildings(12.08, 0.11, 1.6, 23.0),
    "highrise_urban": _Buildings(27.23, 0.08, 2.3, 34.0),
}
"""a, b, eta_LOS and eta_NLOS [dB]."""


class AirToGround(Sighted):
    """Between drones and devices on the ground, with line of sight drawn once a pair.

    Attributes
    ----------
    environment : {"suburban", "urban", "dense_urban", "highrise_urban"}
        The buildings below.
    sight : {"drawn", "always", "never"}
        Line of sight: by the probability above, everywhere, nowhere. Each pair has one uniform
        draw, so that it keeps its line of sight as the aircraft rises or comes closer.
    averaged : bool
        Whether a pair has the mean of the two losses, weighted by the probability of sight, in
        place of one of them, as in the coverage of Al-Hourani.
    altitude_m : float
        Height of an aircraft above its device, where nodes have no heights.
    roof_m : float
        Height of the roofs: ends at least so high see each other. 22.5 m is from where on TR 36.777
        counts a vehicle as aerial.
    """

    kind: Literal["air_to_ground"] = "air_to_ground"
    environment: Literal["suburban", "urban", "dense_urban", "highrise_urban"] = "urban"
    sight: Sight = "drawn"
    averaged: bool = False
    altitude_m: NonNegative = 100.0
    roof_m: NonNegative = 22.5
    instead_of_heights: ClassVar[tuple[str, ...]] = ("altitude_m",)
    beside_heights: ClassVar[tuple[str, ...]] = ("roof_m",)
    fitted_hz: ClassVar[tuple[float, float] | None] = (0.7e9, 5.8e9)
    assumes: ClassVar[str | None] = (
        "path_loss air_to_ground is between aircraft and devices on the ground: two devices on "
        "the ground hardly ever have sight of each other in it, however near"
    )

    def unread_keys(self) -> Mapping[str, str]:
        if self.sight == "drawn":
            return {}
        return {"averaged": f'with sight = "{self.sight}" all pairs are alike'}

    def loss_db(self, distance_m: Real, carrier_hz: float, u: Real | float = 0.0) -> Real:
        loss_db: Real = self._loss_db(distance_m, self.altitude_m, False, carrier_hz, u)
        return loss_db

    def loss_between_db(
        self,
        ground_m: NDArray[np.float64],
        one_m: NDArray[np.float64],
        other_m: NDArray[np.float64],
        carrier_hz: float,
        u: NDArray[np.float64] | float = 0.0,
    ) -> NDArray[np.float64]:
        """Path loss [dB] by the angle of elevation from the lower end to the higher one."""
        clear = np.minimum(one_m, other_m) >= self.roof_m
        rise_m = np.abs(np.subtract(one_m, other_m))
        return np.asarray(self._loss_db(ground_m, rise_m, clear, carrier_hz, u))

    def of_farthest(self, heights_m: Any) -> PathLoss:
        return self.model_copy(update={"sight": "always", "altitude_m": 0.0, "averaged": False})

    def sight_drawn(self, distance_m: Any) -> Any:
        return self._sight(distance_m, self.altitude_m)

    def _sight(self, ground_m: Any, rise_m: Any) -> Any:
        """P(LOS) by distance along the ground and height above it [m]."""
        it = ENVIRONMENTS[self.environment]
        elevation_deg = np.degrees(np.arctan2(rise_m, np.maximum(ground_m, NEAREST_M)))
        return 1.0 / (1.0 + it.a * np.exp(-it.b * (elevation_deg - it.a)))

    def _loss_db(self, distance_m: Any, rise_m: Any, clear: Any, carrier_hz: float, u: Any) -> Any:
        it = ENVIRONMENTS[self.environment]
        d_m = np.hypot(np.maximum(distance_m, NEAREST_M), rise_m)
        share = self._sight(distance_m, rise_m)
        if self.sight != "drawn":
            share = 0.0 * share + (1.0 if self.sight == "always" else 0.0)
        share = np.where(clear, 1.0, share)
        mean_db = share * it.with_sight_db + (1.0 - share) * it.without_db
        drawn_db = np.where(u < share, it.with_sight_db, it.without_db)
        more_db = mean_db if self.averaged else drawn_db
        return (FreeSpace().loss_db(d_m, carrier_hz) + more_db)[()]
