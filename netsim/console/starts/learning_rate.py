"""A learning rate that rises evenly to its full value, and stays there."""

from typing import Literal

from netsim.protocols.learning_rates import Rate
from netsim.registry import Positive


class Starting(Rate):
    """A warm-up.

    Attributes
    ----------
    over : float
        Steps or seconds after which the rate is the full one.
    """

    kind: Literal["starting"] = "starting"
    over: Positive = 100.0

    def factor(self, progress: float) -> float:
        """Factor of the full rate after so many steps or seconds."""
        return min(1.0, progress / self.over)
