"""A learning rate that falls along half a cosine.

Source: Loshchilov and Hutter 2017, "SGDR: Stochastic Gradient Descent with Warm Restarts", Eq. (5),
without restarts.
"""

import math
from typing import Literal

from netsim.protocols.learning_rates import Rate
from netsim.registry import Fraction, Positive


class CosineRate(Rate):
    """Along half a cosine from the first rate to a part of it; constant after that.

    Attributes
    ----------
    over
        Steps or seconds until the rate stays.
    final
        Part of the first rate that is left in the end.
    """

    kind: Literal["cosine"] = "cosine"
    over: Positive
    final: Fraction = 0.0

    def factor(self, progress: float) -> float:
        """Final + (1 - final) (1 + cos(pi progress / over)) / 2."""
        share = min(progress / self.over, 1.0)
        return self.final + (1.0 - self.final) * (1.0 + math.cos(math.pi * share)) / 2.0
