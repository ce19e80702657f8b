"""A weight that falls with a power of the age.

Source: Xie, Koyejo and Gupta 2019 (FedAsync, arXiv:1903.03934), Section 5.2, "polynomial".
"""

import math
from typing import Literal

from netsim.protocols.staleness import Staleness
from netsim.registry import NonNegative


class PolynomialStaleness(Staleness):
    """A power of 1 + age.

    Attributes
    ----------
    a
        The power; 0 leaves weights as they are. Source: Xie et al. 2019; 0.5 in its experiments.
    """

    kind: Literal["polynomial"] = "polynomial"
    a: NonNegative = 0.5

    def factor(self, age: float) -> float:
        """Return (1 + age)^-a."""
        return float((1.0 + age) ** -self.a)

    def log_factor(self, age: float) -> float:
        """Return -a log(1 + age)."""
        return -self.a * math.log1p(age)
