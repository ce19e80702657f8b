"""The native backend: each node's work as a whole on one core, in C++, on all cores at once.

What its kernel does not know runs stacked or one by one, as the model's route says.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch import Tensor

from netsim.backends.dispatch import Routes
from netsim.backends.grouping import GroupedExecution
from netsim.backends.job_type import Call, GroupKernel, Signature, job_type, offer_kernel
from netsim.backends.job_types.gradient import Gradient
from netsim.backends.job_types.loss import Loss
from netsim.backends.job_types.outputs import Outputs
from netsim.backends.job_types.select import Select
from netsim.backends.job_types.train import Train
from netsim.backends.native.library import Library
from netsim.backends.native.resources import NativeResources
from netsim.backends.stacked.backend import Stacked
from netsim.learning.architecture import Architecture
from netsim.learning.jobs import Job
from netsim.learning.minibatches import Rows
from netsim.learning.refs import Ref

JOBS_AT_ONCE = 512
"""Nodes that train in one call at most: their starting models are copied first."""


class Native:
    """Runs jobs by the native kernel where their model's route says so.

    Parameters
    ----------
    stacked : Stacked
        Runs everything else.
    routes : Routes
    library : Library
    threads : int
        Cores that share a call; bits do not depend on it.

    Attributes
    ----------
    store : ParameterStore
        Where long values lie.
    """

    name = "native"

    def __init__(self, stacked: Stacked, routes: Routes, library: Library, threads: int) -> None:
        self._stacked, self._routes = stacked, routes
        self.store, self.divergences = stacked.store, stacked.divergences
        self._resources = NativeResources(
            stacked.resources, library, routes.native_variants(), threads
        )
        self._declined: dict[str, str] = {}
        self._groups = GroupedExecution(
            self.name,
            self._resources,
            routes,
            stacked.execute,
            self._declined,
            names_missing=False,
        )

    @property
    def one_by_one(self) -> dict[str, str]:
        """What could not be run in groups, and why; what failed natively is named, too."""
        return {**self._declined, **self._stacked.one_by_one}

    def execute(self, jobs: Sequence[Job[Any]]) -> int:
        """Run jobs of one level; see `netsim.learning.scheduler.Backend`."""
        return self._groups.execute(jobs)

    def predictions(self, asked: Sequence[tuple[Ref, Rows]]) -> list[Tensor]:
        """Outputs of models in evaluation mode; see `netsim.learning.scheduler.Backend`."""
        groups: dict[Architecture | None, list[int]] = {}
        for i, (ref, _) in enumerate(asked):
            architecture = ref.architecture
            assert architecture is not None
            native = self._routes.way(architecture, "look") == self.name
            groups.setdefault(architecture if native else None, []).append(i)
        found: dict[int, Tensor] = {}
        for architecture, numbers in groups.items():
            some = [asked[i] for i in numbers]
            if architecture is None:
                results = self._stacked.predictions(some)
            else:
                results = self._resources.inference(some[0][0]).predictions(some)
            found.update(zip(numbers, results, strict=True))
        return [found[i] for i in range(len(asked))]


def _signature(job: Job[Train], resources: NativeResources) -> Signature | None:
    """One architecture, optimiser and kind of inputs; the default loss, and no random layers."""
    work, ref, shards = job.work, job.inputs[0], resources.shards
    architecture = ref.architecture
    assert architecture is not None
    if (
        work.loss is not None
        or work.learn
        or resources.routes.way(architecture, "train") != "native"
    ):
        return None
    smallest = min(shards.batch_size, shards.train_size(work.batches.node))
    if smallest == 1 and architecture.normalises_batches:
        return None  # a batch of one has no variance: torch's own error names the node
    is_anchored = work.anchor_strength is not None
    return (
        id(architecture),
        work.optimizer,
        work.anchor_strength,
        job.inputs[-2 if work.has_state else -1].num_values if is_anchored else 0,
        work.has_state,
    )


def _prepare(key: Signature, jobs: Sequence[Job[Train]], resources: NativeResources) -> Call:
    """Many nodes at once, each whole on one core."""
    training = resources.training(jobs[0].inputs[0])
    return Call(lambda some, width: training.run(some, key, width), JOBS_AT_ONCE)


offer_kernel(Train, Native.name, GroupKernel(_signature, _prepare))
for _work in (Loss, Gradient, Outputs, Select):
    # These need no more than passes over many models, which this backend has, too.
    offer_kernel(_work, Native.name, job_type(_work).kernels["stacked"])
