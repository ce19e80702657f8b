"""Log-normal shadowing: normal in dB, correlated in space.

Correlation falls exponentially along motion (Gudmundson, Electronics Letters 1991). Where both ends
of a link move, the correlation between two states of it is the product of those for the motion of
each end, exp(-Da / d) exp(-Db / d), as in Wang, Tameh and Nix, "Joint
shadowing process in urban peer-to-peer radio channels" (IEEE Trans. Veh. Technol. 2008).

Each pair has a field over the places of its two ends: a sum of plane waves whose wave vectors have
the spectrum of that correlation (for exp(-r) in the plane the bivariate Cauchy density) and whose
amplitudes are complex normal. At any point the sum is exactly normal, between any two points the
correlation is exact on average over pairs, and no value depends on when, how often or along which
path it is asked for. A recursion X' = r X + sqrt(1 - r^2) Z along a path has this correlation, too,
on a straight line, but forgets a place to which a node returns.
"""

import math
from typing import ClassVar, Literal

import numpy as np
import scipy
from numpy.typing import NDArray

from netsim.channels import Real
from netsim.channels.shadowing import Shadowing
from netsim.registry import Loss, Positive

WAVES = 32
"""Plane waves of a pair: with more of them the average of one pair over space varies less."""
_HALF_STEP = 2.0**-54
"""Added to uniforms, so that 0 does not become minus infinity."""


class LogNormal(Shadowing):
    """Normal in dB.

    Attributes
    ----------
    sigma_db : float or None
        Standard deviation. Absent: that of the path loss model.
    decorrelation_m : float or None
        Motion over which the correlation falls to 1/e; of no effect while no node moves. Absent:
        that of the path loss model.
    """

    kind: Literal["log_normal"] = "log_normal"
    sigma_db: Loss | None = None
    decorrelation_m: Positive | None = None
    draws_in_motion: ClassVar[int] = 6 * WAVES

    def still(self, u: Real) -> Real:
        """Normal quantile of `u`."""
        found: Real = scipy.special.ndtri(u + _HALF_STEP)
        return found

    def in_motion(
        self,
        u: NDArray[np.float64],
        ends_m: NDArray[np.float64],
        decorrelation_m: NDArray[np.float64],
    ) -> NDArray[np.float64]:
        waves = 1.0 - u.reshape(len(u), 6, WAVES)  # in (0, 1]
        # radius of a bivariate Cauchy vector: P(K > k) = (1 + k^2)^(-1/2)
        per_m = np.sqrt(waves[:, :2] ** -2.0 - 1.0) / decorrelation_m[:, None, None]
        angle = 2.0 * math.pi * waves[:, 2:4]
        x, y = ends_m[:, 0::2, None], ends_m[:, 1::2, None]
        phase = (per_m * (x * np.cos(angle) + y * np.sin(angle))).sum(axis=1)
        phase += 2.0 * math.pi * waves[:, 5]
        amplitude = np.sqrt(-2.0 * np.log(waves[:, 4]))
        found: NDArray[np.float64] = (amplitude * np.cos(phase)).sum(axis=1) / math.sqrt(WAVES)
        return found
