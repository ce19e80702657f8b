"""A learning rate that falls exponentially."""

from typing import Literal

from netsim.protocols.learning_rates import Rate
from netsim.registry import Positive


class ExponentialRate(Rate):
    """Multiplied by `gamma` in the course of every `every` steps or seconds, evenly."""

    kind: Literal["exponential"] = "exponential"
    every: Positive = 1.0
    gamma: Positive

    def factor(self, progress: float) -> float:
        """gamma^(progress / every)."""
        return float(self.gamma ** (progress / self.every))
