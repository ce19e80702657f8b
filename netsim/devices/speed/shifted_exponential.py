"""A fixed part and an exponential straggler part (the usual model of a shared device)."""

from typing import Annotated, Literal

from netsim.devices.speed import Speed
from netsim.registry import NonNegative, Plausible
from netsim.rng import Streams


class ShiftedExponential(Speed):
    """A constant time a local step and an exponential delay a training job.

    Attributes
    ----------
    step_s
        Virtual time of a local step on a node of speed 1, without the delay.
    straggle_s
        Mean of the exponential delay of each training job.
    """

    kind: Literal["shifted_exponential"] = "shifted_exponential"
    step_s: Annotated[NonNegative, Plausible(in_run=True)] = 0.0
    straggle_s: Annotated[NonNegative, Plausible(in_run=True)] = 0.0

    def mean_step_s(self) -> float:
        return self.step_s

    def mean_delay_s(self) -> float:
        return self.straggle_s

    def train_s(self, steps: int, factor: float, streams: Streams, node: int, job: int) -> float:
        straggle_s = self.straggle_s * streams.exponential("straggle", node, job)
        return (steps * self.step_s + straggle_s) / factor
