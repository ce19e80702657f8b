"""Full weight up to an age, and a hyperbola from there.

Source: Xie, Koyejo and Gupta 2019 (FedAsync, arXiv:1903.03934), Section 5.2, "hinge".
"""

from typing import Literal

from netsim.protocols.staleness import Staleness
from netsim.registry import NonNegative


class HingeStaleness(Staleness):
    """A weight that begins to fall at an age.

    Attributes
    ----------
    a
        Rate of its fall, one over versions or seconds. Source: Xie et al. 2019; 10 in its
        experiments.
    b
        Age up to which a message counts in full, in versions or seconds. Source: Xie et al. 2019;
        4 in its experiments.
    """

    kind: Literal["hinge"] = "hinge"
    a: NonNegative = 10.0
    b: NonNegative = 4.0

    def factor(self, age: float) -> float:
        """1 up to b, then 1 / (a (age - b) + 1)."""
        return 1.0 if age <= self.b else 1.0 / (self.a * (age - self.b) + 1.0)
