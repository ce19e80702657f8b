"""Devices with a rate of operations: the time of a step follows from model and batch."""

from collections.abc import Callable, Sequence
from typing import Annotated, Literal

from pydantic import Field

from netsim.devices.speed import Speed
from netsim.devices.speed.fixed import Fixed
from netsim.errors import ScenarioError
from netsim.registry import Plausible, Positive
from netsim.rng import Streams


class Flops(Speed):
    """A local step takes its floating-point operations / (`flops_per_s` x `utilisation`).

    The operations of a step are those of one forward and backward pass over a full minibatch
    (`netsim.learning.flops`).

    Attributes
    ----------
    flops_per_s
        Peak rate of floating-point operations of a node of speed 1.
    utilisation
        Part of the peak that training attains.
    """

    kind: Literal["flops"] = "flops"
    flops_per_s: Annotated[Positive, Plausible(1e5, 1e18, "devices are from Mflop/s to Pflop/s")]
    utilisation: Annotated[float, Field(gt=0, le=1)] = 1.0

    def mean_step_s(self) -> float:
        raise ScenarioError("flops: the time of a step is not known before the models are")

    def train_s(self, steps: int, factor: float, streams: Streams, node: int, job: int) -> float:
        return steps * self.mean_step_s() / factor

    def for_models(
        self, speeds: Sequence[float], step_flops: Callable[[int], float]
    ) -> tuple[Speed, tuple[float, ...]]:
        per_s = self.flops_per_s * self.utilisation
        each_s = [step_flops(i) / (per_s * v) for i, v in enumerate(speeds)]
        mean_s = sum(each_s) / len(each_s)
        return Fixed(step_s=mean_s), tuple(mean_s / own_s for own_s in each_s)
