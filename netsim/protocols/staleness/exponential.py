"""A weight that falls exponentially with the age."""

import math
from typing import Literal

from netsim.protocols.staleness import Staleness
from netsim.registry import NonNegative


class ExponentialStaleness(Staleness):
    """An even fall.

    Attributes
    ----------
    a
        Rate of its fall, one over versions or seconds: at an age of 1 / a a message counts 1 / e.
    """

    kind: Literal["exponential"] = "exponential"
    a: NonNegative

    def factor(self, age: float) -> float:
        """exp(-a age)."""
        return math.exp(-self.a * age)

    def log_factor(self, age: float) -> float:
        """Return -a age."""
        return -self.a * age
