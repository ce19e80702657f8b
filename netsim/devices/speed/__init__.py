"""Virtual compute time: how long a device takes; one law a file, its name is its `kind`."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path

from netsim.registry import Component
from netsim.rng import Streams

LISTED_AS = "compute.speed"
"""What `netsim list` calls this family: the scenario table that chooses from it."""


class Speed(Component):
    """Virtual seconds of local training.

    Every node has a speed relative to a nominal device, whose local step takes `mean_step_s`.
    """

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

    def relative(
        self, given: Sequence[float], streams: Streams, folder: Path | None
    ) -> tuple[float, ...]:
        """Every node's speed relative to the nominal device.

        Parameters
        ----------
        given : sequence of float
            What the nodes' groups say.
        streams : Streams
        folder : Path or None
            The data folder, where files may lie.

        Raises
        ------
        ScenarioError
            If a file is not there or not what it should be.
        """
        return tuple(given)

    def for_models(
        self, speeds: Sequence[float], step_flops: Callable[[int], float]
    ) -> tuple[Speed, tuple[float, ...]]:
        """The law and the speeds once it is known what the nodes train.

        Parameters
        ----------
        speeds : sequence of float
            From `relative`.
        step_flops : callable
            node -> floating-point operations of its local step (`netsim.learning.flops`).
        """
        return self, tuple(speeds)
