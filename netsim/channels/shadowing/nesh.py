"""Network shadowing (NeSh): the loss that a link gathers along its way through a field.

Agrawal and Patwari, "Correlated link shadow fading in multi-hop wireless networks" (IEEE Trans.
Wireless Commun. 2009): with a Gaussian field p(x) of loss whose covariance is proportional to
exp(-distance / d), the shadowing of the link from a to b is

    X_ab = |b - a|^(-1/2) integral of p along the straight line from a to b.

Links that pass the same places are correlated, whether they share an end or not. Its variance
rises with the length l, towards its limit for l >> d:  with q = l / d it is in proportion to
1 - (1 - exp(-q)) / q. Here each X is divided by its standard deviation, so that every link has
`sigma_db`. The correlation of two links is that of the means of a field of variance 1 along them:
the mean over both ways of exp(-|x - y| / d), over sqrt(v_1 v_2), where v = 2 (q - 1 + exp(-q)) /
q^2 is the variance of such a mean. The integral of a plane wave along a line has a closed form.
"""

import math
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from netsim.channels.shadowing._field import FieldShadowing, Waves

_SHORT = 1e-4
"""Links shorter than this, over the decorrelation distance, have v = 1 - q / 3 to the last digit
that counts."""


class NetworkShadowing(FieldShadowing):
    """Normal in dB; obstacles shadow all links that pass through them."""

    kind: Literal["nesh"] = "nesh"

    def of_links(
        self, waves: Waves, one_m: NDArray[np.float64], other_m: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        middle_m, along_m = 0.5 * (one_m + other_m), other_m - one_m
        phase = middle_m[:, :1] * waves.per_m_x + middle_m[:, 1:] * waves.per_m_y + waves.phase
        turns = along_m[:, :1] * waves.per_m_x + along_m[:, 1:] * waves.per_m_y
        smoothed = np.sinc(turns / (2.0 * math.pi)) * np.cos(phase)
        of_field = (waves.amplitude * smoothed).sum(axis=1)
        found: NDArray[np.float64] = of_field / np.sqrt(
            variance_of_mean(np.hypot(*along_m.T) / self.decorrelation_m)
        )
        return found


def variance_of_mean(length: NDArray[np.float64]) -> NDArray[np.float64]:
    """Variance of the mean of the field along ways of these lengths, in decorrelation distances."""
    q = np.maximum(length, _SHORT)
    return np.where(length < _SHORT, 1.0 - length / 3.0, 2.0 * (q + np.expm1(-q)) / q**2)
