"""No fading: the received power is its mean."""

from typing import Literal

from netsim.channels import Real
from netsim.channels.fading import Fading


class NoFading(Fading):
    """A constant gain of 1."""

    kind: Literal["none"] = "none"

    def power_gain(self, u: Real) -> Real:
        """Ones, shaped as `u`."""
        return 0.0 * u + 1.0
