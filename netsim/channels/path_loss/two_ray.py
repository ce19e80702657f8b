"""Two rays: the direct one and the one reflected by flat ground (Rappaport 2002, 4.6).

With d1 and d2 the lengths of the two rays, k = 2 pi f / c and G the ground's reflection:

L = 20 log10(4 pi f / c) - 20 log10 |1/d1 + G exp(-j k (d2 - d1)) / d2|.

G = -1 for perfect ground; for ground of relative permittivity e under the grazing angle t
G = (sin t - Z) / (sin t + Z), Z = sqrt(e - cos^2 t), over e with vertical polarisation. Near by the
two add and cancel in turn, the last time they add at about 4 h1 h2 f / c; far beyond
L = 40 log10 d - 20 log10(h1 h2), whatever the carrier.
"""

import math
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from netsim.channels import Real
from netsim.channels.path_loss import NEAREST_M, PathLoss
from netsim.registry import Positive
from netsim.units import SPEED_OF_LIGHT_M_PER_S


class TwoRay(PathLoss):
    """Flat ground without obstacles.

    Attributes
    ----------
    antenna_height_m : float
        Height of both antennas, where nodes have none.
    relative_permittivity : float or None
        Relative permittivity of the ground, 15 for average soil. Absent: ground that reflects
        perfectly, as all ground does far away.
    polarisation : {"vertical", "horizontal"}
        Polarisation of the antennas; it has an effect if the ground has a permittivity.
    """

    kind: Literal["two_ray"] = "two_ray"
    antenna_height_m: Positive = 1.5
    relative_permittivity: Annotated[float, Field(ge=1, allow_inf_nan=False)] | None = None
    polarisation: Literal["vertical", "horizontal"] = "vertical"
    instead_of_heights: ClassVar[tuple[str, ...]] = ("antenna_height_m",)
    least_height_m: ClassVar[float] = 0.0

    def unread_keys(self) -> Mapping[str, str]:
        if self.relative_permittivity is not None:
            return {}
        return {"polarisation": "it is read with relative_permittivity"}

    def loss_db(self, distance_m: Real, carrier_hz: float, u: Real | float = 0.0) -> Real:
        heights_m = self.antenna_height_m, self.antenna_height_m
        loss_db: Real = self._loss_db(distance_m, *heights_m, carrier_hz)
        return loss_db

    def loss_between_db(
        self,
        ground_m: NDArray[np.float64],
        one_m: NDArray[np.float64],
        other_m: NDArray[np.float64],
        carrier_hz: float,
        u: NDArray[np.float64] | float = 0.0,
    ) -> NDArray[np.float64]:
        """Path loss [dB] of antennas with heights of their own."""
        return np.asarray(self._loss_db(ground_m, one_m, other_m, carrier_hz))

    def least_beyond_db(self, distance_m: Real, carrier_hz: float, u: Real | float = 0.0) -> Real:
        """Both rays in phase, and, farther away, no farther apart than their paths and G allow."""
        h_m, k = self.antenna_height_m, 2.0 * math.pi * carrier_hz / SPEED_OF_LIGHT_M_PER_S
        d1_m, d2_m, reflection = self._rays(distance_m, h_m, h_m)
        later_m = 4.0 * h_m * h_m / (d1_m + d2_m)  # d2 - d1, to all digits
        apart = k * later_m + (1.0 + reflection) + later_m / d2_m
        least_db: Real = 20.0 * np.log10(2.0 * k * d1_m / np.minimum(apart, 2.0))
        return least_db

    def of_farthest(self, heights_m: Any) -> PathLoss:
        return self.model_copy(update={"antenna_height_m": max(heights_m)})

    def _loss_db(self, distance_m: Any, one_m: Any, other_m: Any, carrier_hz: float) -> Any:
        d1_m, d2_m, reflection = self._rays(distance_m, one_m, other_m)
        k = 2.0 * math.pi * carrier_hz / SPEED_OF_LIGHT_M_PER_S
        # hypotenuses differ by far less than they are long
        later_m = 4.0 * one_m * other_m / (d1_m + d2_m)
        field = 1.0 / d1_m + reflection * np.exp(-1j * k * later_m) / d2_m
        return 20.0 * np.log10(2.0 * k) - 20.0 * np.log10(np.maximum(np.abs(field), 1e-30))

    def _rays(self, distance_m: Any, one_m: Any, other_m: Any) -> tuple[Any, Any, Any]:
        """Lengths [m] of the two rays, and G."""
        ground_m = np.maximum(distance_m, NEAREST_M)
        d1_m, d2_m = np.hypot(ground_m, one_m - other_m), np.hypot(ground_m, one_m + other_m)
        if self.relative_permittivity is None:
            return d1_m, d2_m, -1.0
        sine, e = (one_m + other_m) / d2_m, self.relative_permittivity
        z = np.sqrt(e - (ground_m / d2_m) ** 2) / (e if self.polarisation == "vertical" else 1.0)
        return d1_m, d2_m, (sine - z) / (sine + z)
