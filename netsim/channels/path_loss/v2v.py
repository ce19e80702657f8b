"""Vehicles after 3GPP TR 37.885, highway and urban grid (6.2 and table 6.2.1-1).

With f in GHz and d the distance between the antennas:

- in sight: on a highway 32.4 + 20 log10 d + 20 log10 f, in a city 38.77 + 16.7 log10 d +
  18.2 log10 f;
- behind a vehicle (NLOSv): that and a blockage of mean 9 + max(0, 15 log10 d - 41) dB (deviation
  4.5 dB) where both antennas are below the blocker's roof, 5 + max(0, 15 log10 d - 41) dB (4 dB)
  where one is, nothing where both are above it;
- behind a corner (NLOS, in a city): at least that in sight, and 36.85 + 30 log10 d + 18.9 log10 f.

In sight with probability min(1, 2.1013e-6 d^2 - .002 d + 1.0193) on a highway, beyond 475 m
max(0, .54 - .001 (d - 475)); in a city min(1, 1.05 exp(-.0114 d)) within a street. Shadowing has
3 dB, behind a corner 4 dB; the deviation of the blockage is added to it, and the standard's cut of
blockages below 0 left aside (one in 44).
"""

import math
from collections.abc import Mapping
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import model_validator

from netsim.channels import Real
from netsim.channels.path_loss import NEAREST_M, OwnShadowing
from netsim.channels.path_loss._sighted import Sight, Sighted
from netsim.registry import Positive


class VehicleToVehicle(Sighted):
    """Roads between two vehicles, with line of sight drawn once a pair.

    Attributes
    ----------
    scene : {"highway", "urban"}
        The kind of road, which decides losses and line of sight.
    sight : {"drawn", "always", "never"}
        Line of sight: by the standard's probability, everywhere, nowhere. Each pair has one uniform
        draw, so that it keeps its line of sight as it comes closer.
    without_sight : {"vehicle", "corner"}
        The obstacle between a pair that has no sight: a vehicle on the same road (NLOSv), or, in a
        city, the corner of two streets (NLOS).
    antenna_height_m : float
        Height of both antennas, where nodes have none: 1.6 m on a roof, .75 m at a bumper.
    blocker_height_m : float
        Height of the vehicle between: 1.6 m, of a truck 3 m.
    """

    kind: Literal["v2v"] = "v2v"
    scene: Literal["highway", "urban"] = "highway"
    sight: Sight = "drawn"
    without_sight: Literal["vehicle", "corner"] = "vehicle"
    antenna_height_m: Positive = 1.6
    blocker_height_m: Positive = 1.6
    fitted_hz: ClassVar[tuple[float, float] | None] = (0.5e9, 100e9)

    def unread_keys(self) -> Mapping[str, str]:
        if self.sight == "always":
            why = 'with sight = "always" nothing stands between'
            return dict.fromkeys(("without_sight", "blocker_height_m"), why)
        if self.without_sight == "corner":
            return {"blocker_height_m": "what stands between is a corner"}
        return {}

    @model_validator(mode="after")
    def _highways_have_no_corners(self) -> Self:
        if self.scene == "highway" and self.without_sight == "corner":
            raise ValueError('without_sight = "corner": on a highway is none; set scene = "urban"')
        return self

    @property
    def own_shadowing(self) -> tuple[OwnShadowing, OwnShadowing]:  # type: ignore[override]
        """Shadowing (with, without) line of sight, the spread of a blockage included.

        It is that of antennas at `antenna_height_m`; decorrelation after TR 36.885, A.1.4.
        """
        decorrelation_m = 25.0 if self.scene == "highway" else 10.0
        behind_db = 4.0
        if self.without_sight == "vehicle":
            over = self.antenna_height_m - self.blocker_height_m
            behind_db = math.hypot(3.0, 0.0 if over > 0 else 4.5 if over < 0 else 4.0)
        return OwnShadowing(3.0, decorrelation_m), OwnShadowing(behind_db, decorrelation_m)

    def loss_db(self, distance_m: Real, carrier_hz: float, u: Real | float = 0.0) -> Real:
        heights_m = self.antenna_height_m, self.antenna_height_m
        loss_db: Real = self._loss_db(distance_m, *heights_m, carrier_hz, u)
        return loss_db

    def loss_between_db(
        self,
        ground_m: NDArray[np.float64],
        one_m: NDArray[np.float64],
        other_m: NDArray[np.float64],
        carrier_hz: float,
        u: NDArray[np.float64] | float = 0.0,
    ) -> NDArray[np.float64]:
        """Line of sight goes by the distance along the ground, blockage by the two heights."""
        return np.asarray(self._loss_db(ground_m, one_m, other_m, carrier_hz, u))

    def of_farthest(self, heights_m: Any) -> "VehicleToVehicle":
        over_m = max(self.blocker_height_m + 1.0, *heights_m)  # nothing blocks those
        return self.model_copy(update={"antenna_height_m": over_m})

    def sight_drawn(self, distance_m: Any) -> Any:
        d_m = np.maximum(distance_m, NEAREST_M)
        if self.scene == "urban":
            return np.minimum(1.0, 1.05 * np.exp(-0.0114 * d_m))
        near = np.minimum(1.0, 2.1013e-6 * d_m**2 - 0.002 * d_m + 1.0193)
        return np.where(d_m <= 475.0, near, np.maximum(0.0, 0.54 - 0.001 * (d_m - 475.0)))[()]

    def _loss_db(self, distance_m: Any, one_m: Any, other_m: Any, carrier_hz: float, u: Any) -> Any:
        log_d = np.log10(np.hypot(np.maximum(distance_m, NEAREST_M), one_m - other_m))
        log_f = np.log10(carrier_hz / 1e9)
        if self.scene == "highway":
            los_db = 32.4 + 20.0 * log_d + 20.0 * log_f
        else:
            los_db = 38.77 + 16.7 * log_d + 18.2 * log_f
        if self.without_sight == "corner":
            behind_db = np.maximum(los_db, 36.85 + 30.0 * log_d + 18.9 * log_f)
        else:
            mean_db, deviation_db = self._blockage(one_m, other_m)
            farther_db = np.maximum(0.0, 15.0 * log_d - 41.0)
            behind_db = los_db + np.where(deviation_db > 0.0, mean_db + farther_db, 0.0)
        return np.where(u < self.sight_probability(distance_m), los_db, behind_db)[()]

    def _blockage(self, one_m: Any, other_m: Any) -> tuple[Any, Any]:
        """Mean blockage near by, and its deviation [dB]."""
        over = np.minimum(one_m, other_m) > self.blocker_height_m
        below = np.maximum(one_m, other_m) < self.blocker_height_m
        return (
            np.where(over, 0.0, np.where(below, 9.0, 5.0)),
            np.where(over, 0.0, np.where(below, 4.5, 4.0)),
        )
