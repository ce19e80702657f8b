"""No shadowing: the path loss follows from distance alone."""

from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from netsim.channels import Real
from netsim.channels.shadowing import Shadowing


class NoShadowing(Shadowing):
    """Zero for every pair."""

    kind: Literal["none"] = "none"
    drawn: ClassVar[bool] = False

    def still(self, u: Real) -> Real:
        """Zeros, shaped as `u`."""
        return 0.0 * u

    def in_motion(
        self,
        u: NDArray[np.float64],
        ends_m: NDArray[np.float64],
        decorrelation_m: NDArray[np.float64],
    ) -> NDArray[np.float64]:
        return np.zeros(len(ends_m))
