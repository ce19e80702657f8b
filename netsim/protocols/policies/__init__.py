"""Policies: simple answers to a method's decisions, beside which trained agents are judged."""

from typing import Any

from netsim.node.decisions import Decision
from netsim.registry import Component


class Policy(Component):
    """Base of the kinds."""

    def choose(self, decision: Decision) -> Any:
        """Return an action of `decision.action`.

        Raises
        ------
        UnsuitableError
            If the policy does not know such actions.
        """
        raise NotImplementedError
