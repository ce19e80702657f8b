"""A learning rate that falls exponentially."""

from typing import Literal

from netsim.protocols.learning_rates import Rate
from netsim.registry import Positive


class ExponentialRate(Rate):
    """An even fall.

    Attributes
    ----------
    every
        Steps or seconds in the course of which the rate is multiplied by `gamma`, evenly.
    gamma
        Factor of the rate in that time.
    """

    kind: Literal["exponential"] = "exponential"
    every: Positive = 1.0
    gamma: Positive

    def factor(self, progress: float) -> float:
        """gamma^(progress / every)."""
        return float(self.gamma ** (progress / self.every))
