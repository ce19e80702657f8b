"""A learning rate that falls in steps, as `torch.optim.lr_scheduler.StepLR` has it."""

from typing import Literal

from netsim.protocols.learning_rates import Rate
from netsim.registry import Positive


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
        return float(self.gamma ** (progress // self.every))
