"""Local steps whose time is uniform between two values."""

from typing import Literal

from netsim.devices.speed import Speed
from netsim.registry import Fraction, NonNegative
from netsim.rng import Streams


class Starting(Speed):
    """A mean time a step, and how far a training job may be off it.

    Attributes
    ----------
    step_s : float
        Mean time of a local step on a node of speed 1 [s].
    jitter : float
        Part of it that a job is longer or shorter by at most.
    """

    kind: Literal["starting"] = "starting"
    step_s: NonNegative = 0.01
    jitter: Fraction = 0.2

    def mean_step_s(self) -> float:
        """Mean time [s] of one local step on a node of speed 1."""
        return self.step_s

    def train_s(self, steps: int, factor: float, streams: Streams, node: int, job: int) -> float:
        """Virtual time [s] of a training job; `factor` is the node's speed."""
        off = self.jitter * (2.0 * streams.uniform("speed/starting", node, job) - 1.0)
        return steps * self.step_s * (1.0 + off) / factor
