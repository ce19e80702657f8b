"""A learning rate that stays."""

from collections.abc import Mapping
from typing import Literal

from netsim.protocols.learning_rates import Rate


class ConstantRate(Rate):
    """The scenario's learning rate."""

    kind: Literal["constant"] = "constant"
    is_constant = True

    def unread_keys(self) -> Mapping[str, str]:
        return {"by": "the rate stays as it is"}

    def factor(self, progress: float) -> float:
        """Return 1."""
        return 1.0
