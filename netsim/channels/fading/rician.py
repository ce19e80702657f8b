"""Rician: one dominant path beside the scattered ones.

The power gain is |sqrt(K / (K+1)) + CN(0, 1 / (K+1))|^2, that is, 1 / (2 (K+1)) times a
non-central chi-square with 2 degrees of freedom and non-centrality 2 K. Rayleigh is K = 0.

With `process = "sum_of_sinusoids"` the dominant path keeps its phase: it has no Doppler shift of
its own, as if the sender moved at right angles to it. The gain of a node that moves along the path
varies faster.
"""

from typing import Literal

import scipy
from pydantic import Field

from netsim.channels import Real
from netsim.channels.fading import Fading
from netsim.units import db_to_linear


class Rician(Fading):
    """Line of sight with scatter.

    Attributes
    ----------
    k_factor_db : float
        K, power of the dominant path over that of all others [dB]; 9 dB is the mean of TR 38.901
        for streets with line of sight. At most 60; above that the gain varies by less than 1 %, as
        with `none`.
    """

    kind: Literal["rician"] = "rician"
    k_factor_db: float = Field(default=9.0, ge=-1000.0, le=60.0, allow_inf_nan=False)

    @property
    def dominant(self) -> float:
        """K, linear."""
        return db_to_linear(self.k_factor_db)

    def power_gain(self, u: Real) -> Real:
        """Quantile of the non-central chi-square, scaled to mean 1."""
        k = self.dominant
        gain: Real = scipy.special.chndtrix(u, 2.0, 2.0 * k) / (2.0 * (k + 1.0))
        return gain
