"""Fading with a power gain that is uniform between two values."""

from typing import Literal

from netsim.channels import Real
from netsim.channels.fading import Fading
from netsim.registry import Fraction


class Starting(Fading):
    """A gain of mean 1, uniform in 1 - depth to 1 + depth.

    Attributes
    ----------
    depth : float
        In [0, 1].
    """

    kind: Literal["starting"] = "starting"
    depth: Fraction = 0.5

    def power_gain(self, u: Real) -> Real:
        """Linear gain of mean 1, increasing in the uniform `u`: a number or an array."""
        gain: Real = 1.0 - self.depth + 2.0 * self.depth * u
        return gain
