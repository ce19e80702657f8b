"""A learning rate that falls in steps, as `torch.optim.lr_scheduler.StepLR` has it."""

import math
from typing import Literal

from netsim.protocols.learning_rates import Rate
from netsim.registry import Positive

ROUNDING = 1e-12
"""Share of a step that may be missing to its end: times are decimal fractions, rounded."""


class StepRate(Rate):
    """Sudden falls at equal distances.

    Attributes
    ----------
    every
        Steps or seconds from one fall to the next.
    gamma
        Factor of the rate at each fall.
    """

    kind: Literal["step"] = "step"
    every: Positive
    gamma: Positive = 0.1

    def factor(self, progress: float) -> float:
        """gamma^floor(progress / every)."""
        # 0.3 s are three times 0.1 s, and 0.3 // 0.1 is 2
        return float(self.gamma ** math.floor(progress / self.every * (1 + ROUNDING)))
