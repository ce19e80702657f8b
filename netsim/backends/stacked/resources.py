"""Resources that the stacked kernels of job types share during a run."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, TypeVar

from torch import Tensor

from netsim.backends.dispatch import Routes
from netsim.backends.parameter_store import ParameterStore
from netsim.backends.stacked.equivalence_check import build
from netsim.backends.stacked.inference import StackedInference
from netsim.backends.stacked.stacked_module import StackedModule, UnstackableError
from netsim.learning.architecture import Architecture
from netsim.learning.divergence import Divergences
from netsim.learning.jobs import Job
from netsim.learning.refs import Ref
from netsim.learning.shards import Shards
from netsim.rng import Streams

LONG_VALUE = 1024
"""Entries from which on a value lies in a slab."""

T = TypeVar("T")


class Resources:
    """Services that a job type's kernel may use to run groups of jobs.

    Parameters
    ----------
    shards : Shards
        The samples of all nodes.
    streams : Streams
        Seeds the masks of random layers.
    routes : Routes
        Which model's jobs run in groups, and how many nodes train in one call.
    store : ParameterStore
        Where long values lie.
    divergences : Divergences
        To be told of every training.
    one_by_one : dict of str to str
        What could not be stacked, and why.
    """

    def __init__(
        self,
        shards: Shards,
        streams: Streams,
        routes: Routes,
        store: ParameterStore,
        divergences: Divergences,
        one_by_one: dict[str, str],
    ) -> None:
        self.shards, self.streams, self.routes = shards, streams, routes
        self.store, self.divergences = store, divergences
        self._one_by_one = one_by_one
        self._modules: dict[Architecture, StackedModule | None] = {}
        self._made: dict[Hashable, Any] = {}

    def stacked_module_of(self, ref: Ref) -> StackedModule | None:
        """The stacked form of a model's architecture; None if it has none."""
        architecture = ref.architecture
        assert architecture is not None
        if architecture not in self._modules:
            try:
                self._modules[architecture] = build(architecture, self.shards.x[:8])
            except UnstackableError as reason:
                self._modules[architecture] = None
                self._one_by_one.setdefault(f"the model {architecture.name}", str(reason))
        return self._modules[architecture]

    def supports_inference(self, ref: Ref) -> bool:
        """Return whether models of this architecture have a stacked form, and so an `inference`."""
        return self.stacked_module_of(ref) is not None

    def inference(self, ref: Ref) -> StackedInference:
        """Passes in evaluation mode over models of one architecture, which has a stacked form."""
        module = self.stacked_module_of(ref)
        assert module is not None
        return self.made_once(
            (StackedInference, id(module)),
            lambda: StackedInference(module, self.shards, self.store),
        )

    def made_once(self, key: Hashable, make: Callable[[], T]) -> T:
        """An object that a kernel makes at its first use and keeps for the run.

        Parameters
        ----------
        key : hashable
            Unique to the kernel and to what the object depends on.
        make : callable
            Makes the object.
        """
        if key not in self._made:
            self._made[key] = make()
        found: T = self._made[key]
        return found

    def fill(self, jobs: Sequence[Job[Any]], results: Sequence[Sequence[Tensor]]) -> None:
        """Fill the cells that still exist; long rows go to a slab.

        Parameters
        ----------
        jobs : sequence of Job
        results : sequence of sequence of torch.Tensor
            The results of each job.

        Raises
        ------
        ValueError
            If a result's shape is not the one announced.
        """
        for job, values in zip(jobs, results, strict=True):
            for value, shape in zip(values, job.shapes, strict=True):
                if tuple(value.shape) != shape:
                    raise ValueError(f"gave shape {tuple(value.shape)}, announced was {shape}")
        for job, values in zip(jobs, results, strict=True):
            for cell, value in zip(job.outputs, values, strict=True):
                if cell is None:
                    continue
                # A row of a batch would keep the whole batch alive.
                cell.fill(value.detach().clone().to(self.store.device))
                if len(cell.shape) == 1 and cell.shape[0] >= LONG_VALUE:
                    self.store.adopt(cell)
