"""Virtual compute time: how long a device takes; one model a file, its name is its `kind`."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Collection, Sequence
from pathlib import Path

from netsim.registry import Component
from netsim.rng import Streams

LISTED_AS = "compute.speed"
"""Name of this family in `netsim list`: the scenario table that chooses from it."""


class Speed(Component):
    """Virtual duration of local training: base of the models.

    Every node has a speed relative to a nominal device, whose local step takes `mean_step_s`.
    """

    @abstractmethod
    def mean_step_s(self) -> float:
        """Mean duration [s] of one local step on a node of speed 1."""

    def mean_delay_s(self) -> float:
        """Mean duration [s] of a training job on a node of speed 1, beside that of its steps."""
        return 0.0

    @abstractmethod
    def train_s(self, steps: int, factor: float, streams: Streams, node: int, job: int) -> float:
        """Virtual duration of one training job.

        Parameters
        ----------
        steps : int
            Local steps.
        factor : float
            The node's speed relative to the nominal device.
        streams : Streams
            For models with random durations.
        node : int
        job : int
            How many training jobs the node had before: keys the draw.

        Returns
        -------
        float
            In s.
        """

    def relative(
        self, given: Sequence[float], streams: Streams, folder: Path | None
    ) -> tuple[float, ...]:
        """Every node's speed relative to the nominal device.

        Parameters
        ----------
        given : sequence of float
            Speed of each node that its group states; 1 by default.
        streams : Streams
        folder : Path or None
            The data folder, where files may lie.

        Returns
        -------
        tuple of float
            One for each node.

        Raises
        ------
        ScenarioError
            If a file is not there or not what it should be.
        """
        return tuple(given)

    def of_nodes(
        self,
        given: Sequence[float],
        learners: Collection[int],
        streams: Streams,
        folder: Path | None,
    ) -> tuple[float, ...]:
        """`relative` where some nodes are servers; a model of shares of the nodes extends it.

        Parameters
        ----------
        given : sequence of float
        learners : collection of int
            Nodes that train: all but servers.
        streams : Streams
        folder : Path or None
        """
        return self.relative(given, streams, folder)

    def for_models(
        self, speeds: Sequence[float], step_flops: Callable[[int], float]
    ) -> tuple[Speed, tuple[float, ...]]:
        """The model and the speeds for the models that nodes train.

        Parameters
        ----------
        speeds : sequence of float
            From `of_nodes`.
        step_flops : callable
            node -> floating-point operations of its local step (`netsim.learning.flops`).

        Returns
        -------
        (Speed, tuple of float)
            The speed model, and each node's speed relative to its nominal device.
        """
        return self, tuple(speeds)
