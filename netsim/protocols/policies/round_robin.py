"""Decisions in turn: nobody is chosen again before all others have been."""

from typing import Any, Literal

import numpy as np

from netsim.errors import UnsuitableError
from netsim.node.decisions import Best, Choice, Decision, Shares, Subset
from netsim.protocols.policies import Policy


class RoundRobinPolicy(Policy):
    """The next in turn; of a subset one at a time, of shares the whole for one at a time."""

    kind: Literal["round_robin"] = "round_robin"

    def choose(self, decision: Decision) -> Any:
        """Return an action; see the base class."""
        space, count = decision.action, decision.count
        if isinstance(space, Choice):
            return count % space.n
        if isinstance(space, Best | Subset | Shares):
            many = space.count if isinstance(space, Best) else 1
            chosen = np.zeros(space.n, dtype=int if isinstance(space, Subset) else float)
            chosen[(count * many + np.arange(many)) % space.n] = 1
            return chosen
        raise UnsuitableError(
            f'policy kind = "round_robin": has no turns among {type(space).__name__}; take "random"'
        )
