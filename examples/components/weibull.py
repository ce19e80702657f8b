"""Weibull fading: amplitudes of a Weibull distribution, a fit to measured indoor links.

Source: Sagias and Karagiannidis, "Gaussian class multivariate Weibull distributions", IEEE Trans.
Inf. Theory 2005, eq. (1): the power gain is (-ln(1 - u))^(2 / beta) / Gamma(1 + 2 / beta).
"""

import math
from typing import Literal

import numpy as np

from netsim.channels import Real
from netsim.channels.fading import Fading
from netsim.registry import Positive


class Weibull(Fading):
    """Deeper fades than Rayleigh below shape 2, shallower ones above; 2 is Rayleigh.

    Attributes
    ----------
    shape : float
        beta.
    """

    kind: Literal["weibull"] = "weibull"
    shape: Positive = 3.0

    def power_gain(self, u: Real) -> Real:
        """Linear gain of mean 1, increasing in the uniform `u`."""
        power = 2.0 / self.shape
        gain: Real = (-np.log1p(-u)) ** power / math.gamma(1.0 + power)
        return gain
