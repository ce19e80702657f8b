"""The stacked backend: many nodes in one call, with the numbers of one node after another.

Jobs of one level that have the same signature run together. Jobs that can't share a call run alone,
by the sequential backend, and fill the same cells.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from netsim.backends.dispatch import Routes
from netsim.backends.grouping import GroupedExecution
from netsim.backends.parameter_store import ParameterStore
from netsim.backends.sequential import Sequential
from netsim.backends.spilling import Spill
from netsim.backends.stacked.inference import padded_size
from netsim.backends.stacked.resources import Resources
from netsim.learning.architecture import Architecture
from netsim.learning.jobs import Job
from netsim.learning.minibatches import Rows
from netsim.learning.refs import Ref
from netsim.learning.shards import Shards
from netsim.rng import Streams


class Stacked:
    """Runs jobs of one signature in one call.

    Parameters
    ----------
    shards : Shards
    streams : Streams
    routes : Routes
        Which model's jobs are worth stacking on this device.
    device : torch.device
    dtype : torch.dtype
        Of every value.
    threads : int
        For jobs that are not stacked; bits do not depend on it.

    Attributes
    ----------
    store : ParameterStore
        Where long values lie.
    one_by_one : dict of str to str
        What could not be stacked, and why.
    resources : Resources
        What its kernels use.
    ways : Ways
        How jobs were computed.
    """

    name = "stacked"

    def __init__(
        self,
        shards: Shards,
        streams: Streams,
        routes: Routes,
        device: torch.device,
        dtype: torch.dtype,
        threads: int = 1,
        spill: Spill | None = None,
    ) -> None:
        self.store = ParameterStore(device, dtype, len(shards.held), spill)
        self.one_by_one: dict[str, str] = {}
        self._sequential = Sequential(shards, streams, threads)
        self.divergences, self.ways = self._sequential.divergences, self._sequential.ways
        self.resources = Resources(
            shards, streams, routes, self.store, self.divergences, self.one_by_one
        )
        self._groups = GroupedExecution(
            *(self.name, self.resources, routes, self._sequential.execute, self._sequential),
            self.one_by_one,
            lambda *of: self.in_double(*of)._groups,
            self.ways,
        )

    @property
    def sequential(self) -> Sequential:
        """Backend that runs jobs one by one."""
        return self._sequential

    @property
    def splits(self) -> int:
        """Number of calls that ran out of memory and were halved."""
        return self._groups.splits

    def in_double(self, like: Architecture, architecture: Architecture, shards: Shards) -> Stacked:
        """The same backend in double precision.

        Parameters
        ----------
        like, architecture, shards
            As for `netsim.backends.sequential.Sequential.in_double`.
        """
        routes = self.resources.routes.of_double(like, architecture)
        return Stacked(shards, self.resources.streams, routes, architecture.device, torch.float64)

    def execute(self, jobs: Sequence[Job[Any]]) -> int:
        """Run jobs of one level; see `netsim.learning.scheduler.Backend`."""
        calls = self._groups.execute(jobs)
        self.store.spill_outputs(jobs)
        return calls

    def predictions(self, asked: Sequence[tuple[Ref, Rows]]) -> list[Tensor]:
        """Outputs of models in evaluation mode; see `netsim.learning.scheduler.Backend`."""
        self.store.settle([ref.cell for ref, _ in asked if ref.cell.recipe is not None])
        groups: dict[tuple[Architecture, int] | None, list[int]] = {}
        for i, (ref, rows) in enumerate(asked):
            architecture = ref.architecture
            assert architecture is not None
            stacks = (
                self.resources.routes.is_stacked(architecture, "infer")
                and self.resources.stacked_module_of(ref) is not None
            )
            key = (architecture, padded_size(len(rows))) if stacks else None
            groups.setdefault(key, []).append(i)
        found: dict[int, Tensor] = {}
        for key, numbers in groups.items():
            some = [asked[i] for i in numbers]
            if key is None:
                results = self._sequential.predictions(some)
            else:
                results = self.resources.inference(some[0][0]).predictions(some)
            found.update(zip(numbers, results, strict=True))
        return [found[i] for i in range(len(asked))]
