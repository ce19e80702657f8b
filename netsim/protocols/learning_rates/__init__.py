"""Learning rates that change as training goes on. One kind a file.

A method's Params take one (`rate: api.LearningRate = api.ConstantRate()`), a scenario chooses it
(`rate = { kind = "cosine", over = 500 }`), and training is told it:

    node.train(theta, steps=5, learning_rate=params.rate.at(node))

What it starts from is the scenario's `learning_rate` (of the method, if it has its own). Progress
is counted in local steps of the node or in seconds of virtual time; within one call of `node.train`
the rate is what it was when the call began.
"""

from typing import Literal

from netsim.node.node import Node
from netsim.registry import Component


class Rate(Component):
    """Base of the schedules.

    Attributes
    ----------
    by
        What progress is counted in: local steps of the node, or seconds of virtual time.
    """

    by: Literal["steps", "time"] = "steps"

    def at(self, node: Node) -> float:
        """The learning rate of training that a node begins now."""
        progress = float(node.local_steps) if self.by == "steps" else node.now_s
        return node.learning_rate * self.factor(progress)

    def factor(self, progress: float) -> float:
        """What the first rate is multiplied by after so many steps or seconds."""
        raise NotImplementedError
