"""A learning rate that stays."""

from typing import Literal

from netsim.protocols.learning_rates import Rate


class ConstantRate(Rate):
    """The scenario's learning rate."""

    kind: Literal["constant"] = "constant"
    is_constant = True

    def factor(self, progress: float) -> float:
        """1."""
        return 1.0
