"""Rayleigh: many scattered paths without a dominant one; the power gain is Exp(1)."""

import math
from typing import Literal

import numpy as np

from netsim.channels import Real
from netsim.channels.fading import Fading


class Rayleigh(Fading):
    """Outage, the probability of an SNR below theta, is 1 - exp(-theta / mean SNR)."""

    kind: Literal["rayleigh"] = "rayleigh"

    @property
    def dominant(self) -> float:
        """No path dominates."""
        return 0.0

    def power_gain(self, u: Real) -> Real:
        """Exponential gain: -ln(1 - u)."""
        if isinstance(u, float):  # the common case: ten times as fast as NumPy
            return -math.log1p(-u)
        return -np.log1p(-u)
