"""Decisions by one observation: the highest, or the lowest, of it are chosen."""

from typing import Any, Literal

import numpy as np

from netsim.errors import UnsuitableError
from netsim.node.decisions import Best, Choice, Decision, Shares, Subset
from netsim.protocols.policies import Policy


class GreedyPolicy(Policy):
    """Those whose observation is best; of a subset, and of shares, the best one alone.

    Attributes
    ----------
    by
        Name of the observation, which has one number for each that can be chosen.
        Example: `"round_trip_s"`
    lowest
        Whether low numbers are the better ones.
    """

    kind: Literal["greedy"] = "greedy"
    by: str
    lowest: bool = False

    def choose(self, decision: Decision) -> Any:
        """Return the action of the best observation; of equals the lower number."""
        space = decision.action
        if not isinstance(space, Choice | Best | Subset | Shares):
            raise UnsuitableError(
                f'policy kind = "greedy": can\'t choose {type(space).__name__}; take "random"'
            )
        if self.by not in decision.observation:
            raise UnsuitableError(
                f'policy by = "{self.by}": must be one of {", ".join(decision.observation)}'
            )
        each = np.asarray(decision.observation[self.by], dtype=np.float64)
        if each.shape != (space.n,):
            raise UnsuitableError(
                f'policy by = "{self.by}": has shape {each.shape}, and {space.n} numbers are needed'
            )
        order = np.argsort(each if self.lowest else -each, kind="stable")
        if isinstance(space, Choice):
            return int(order[0])
        chosen = np.zeros(space.n, dtype=int if isinstance(space, Subset) else float)
        chosen[order[: space.count if isinstance(space, Best) else 1]] = 1
        return chosen
