"""Nakagami: the power gain is Gamma(m, 1/m); milder than Rayleigh for m > 1, harsher below."""

from typing import Literal

import scipy
from pydantic import Field

from netsim.channels import Real
from netsim.channels.fading import Fading


class Nakagami(Fading):
    """Fading of adjustable depth.

    Attributes
    ----------
    shape : float
        m, at least 1/2; Rayleigh is m = 1.
    """

    kind: Literal["nakagami"] = "nakagami"
    shape: float = Field(default=2.0, ge=0.5, allow_inf_nan=False)

    def power_gain(self, u: Real) -> Real:
        """Quantile of the gamma distribution with mean 1."""
        gain: Real = scipy.special.gammaincinv(self.shape, u) / self.shape
        return gain
