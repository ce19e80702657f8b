"""Every local step takes the same time."""

from typing import Annotated, Literal

from netsim.devices.speed import Speed
from netsim.registry import NonNegative, Plausible
from netsim.rng import Streams


class Fixed(Speed):
    """A constant time a local step, divided by the node's speed.

    Attributes
    ----------
    step_s
        Virtual time of a local step on a node of speed 1.
    """

    kind: Literal["fixed"] = "fixed"
    step_s: Annotated[NonNegative, Plausible(in_run=True)] = 0.0

    def mean_step_s(self) -> float:
        return self.step_s

    def train_s(self, steps: int, factor: float, streams: Streams, node: int, job: int) -> float:
        return steps * self.step_s / factor
