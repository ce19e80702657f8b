"""Virtual compute time: how long a device takes; one law a file, its name is its `kind`."""

from abc import abstractmethod

from netsim.registry import Component
from netsim.rng import Streams


class Speed(Component):
    """Virtual seconds of local training."""

    @abstractmethod
    def mean_step_s(self) -> float:
        """Mean duration of one local step on a node of speed 1."""

    @abstractmethod
    def train_s(self, steps: int, factor: float, streams: Streams, node: int, job: int) -> float:
        """Duration of one training job.

        Parameters
        ----------
        steps : int
            Local steps.
        factor : float
            The node's speed relative to the nominal device.
        job : int
            How many training jobs the node had before: keys the draw.
        """
