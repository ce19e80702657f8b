"""Learning rates that change as training goes on. One kind a file.

`[training] learning_rate_schedule = { kind = "cosine", over = 500 }` is that of every method: all
of its local training goes by it, whatever rate it is told. A method whose own rule needs one has it
among its Params (`rate: api.LearningRate = api.ConstantRate()`) and tells it to training, beside
that of the scenario:

    node.train(theta, steps=5, learning_rate=params.rate.at(node))

What it starts from is the scenario's `learning_rate` (of the method, if it has its own). Progress
is counted in local steps of the node or in seconds of virtual time; within one call of `node.train`
the rate is what it was when the call began.
"""

from collections.abc import Callable
from typing import ClassVar, Literal

from netsim.node.node import Node
from netsim.registry import Component


class Rate(Component):
    """Base of the schedules.

    Attributes
    ----------
    by
        Unit of progress: local steps of the node, or seconds of virtual time.
    """

    is_constant: ClassVar[bool] = False
    by: Literal["steps", "time"] = "steps"

    def at(self, node: Node) -> float:
        """The learning rate of training that a node begins now."""
        return node.learning_rate * self.factor_at(node.local_steps, lambda: node.now_s)

    def factor_at(self, local_steps: int, now_s: Callable[[], float]) -> float:
        """Factor on the first rate for training that begins now.

        Parameters
        ----------
        local_steps : int
            Those that the node has begun.
        now_s : callable
            () -> virtual time [s].
        """
        return self.factor(float(local_steps) if self.by == "steps" else now_s())

    def factor(self, progress: float) -> float:
        """Return the factor of the first rate after so many steps or seconds."""
        raise NotImplementedError
