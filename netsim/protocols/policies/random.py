"""Uniformly random decisions."""

from typing import Any, Literal

import numpy as np

from netsim.node.decisions import Best, Choice, Choices, Decision, Numbers, Shares, Subset
from netsim.protocols.policies import Policy


class RandomPolicy(Policy):
    """Uniform draws from the actions, from the node's own random numbers.

    Shares are uniform over all divisions of the whole: a flat Dirichlet draw.
    """

    kind: Literal["random"] = "random"

    def choose(self, decision: Decision) -> Any:
        """Return an action; see the base class."""
        space, draw = decision.action, decision.draw
        if isinstance(space, Choice):
            return int(draw(1)[0] * space.n)
        if isinstance(space, Choices):
            draws = draw(len(space.sizes))
            return [int(u * n) for u, n in zip(draws, space.sizes, strict=True)]
        if isinstance(space, Subset):
            return [int(u < 0.5) for u in draw(space.n)]
        if isinstance(space, Best):
            return draw(space.n)
        if isinstance(space, Shares):
            each = -np.log1p(-np.array(draw(space.n)))
            return each / max(each.sum(), 1e-300)
        assert isinstance(space, Numbers)
        drawn = np.array(draw(int(np.prod(space.shape)))).reshape(space.shape)
        return space.low + drawn * (space.high - space.low)
