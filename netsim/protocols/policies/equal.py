"""Equal shares for all."""

from typing import Any, Literal

import numpy as np

from netsim.errors import UnsuitableError
from netsim.node.decisions import Decision, Shares
from netsim.protocols.policies import Policy


class EqualPolicy(Policy):
    """The same share for each."""

    kind: Literal["equal"] = "equal"

    def choose(self, decision: Decision) -> Any:
        """Return an action; see the base class."""
        if not isinstance(decision.action, Shares):
            raise UnsuitableError(
                f'policy kind = "equal": has no shares among {type(decision.action).__name__}; '
                'take "random"'
            )
        return np.ones(decision.action.n)
