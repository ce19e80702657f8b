"""The native backend: each node's work as a whole on one core, in C++, on all cores at once.

What its kernel does not know runs stacked or one by one, as the model's route says.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch import Tensor

from netsim.backends.dispatch import Routes
from netsim.backends.grouping import GroupedExecution
from netsim.backends.job_type import (
    Call,
    Declined,
    GroupKernel,
    Passed,
    Signature,
    job_type,
    offer_kernel,
)
from netsim.backends.job_types.gradient import Gradient
from netsim.backends.job_types.loss import Loss
from netsim.backends.job_types.outputs import Outputs
from netsim.backends.job_types.select import Select
from netsim.backends.job_types.train import Train, in_common
from netsim.backends.native.graph import UnsupportedError
from netsim.backends.native.library import Library
from netsim.backends.native.loss_passes import TWICE
from netsim.backends.native.resources import NativeResources
from netsim.backends.native.row_sums import RowAdder
from netsim.backends.native.training import NativeTraining
from netsim.backends.route import Purpose
from netsim.backends.stacked.backend import Stacked
from netsim.backends.ways import ONE_BY_ONE
from netsim.learning.architecture import Architecture
from netsim.learning.functions import freeze_arguments
from netsim.learning.jobs import Job
from netsim.learning.minibatches import Rows
from netsim.learning.refs import Ref
from netsim.learning.shards import Shards

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
    ways : Ways
        How jobs were computed.
    """

    name = "native"

    def __init__(self, stacked: Stacked, routes: Routes, library: Library, threads: int) -> None:
        self._stacked, self._routes, self._library = stacked, routes, library
        self.store, self.divergences = stacked.store, stacked.divergences
        self.ways = stacked.ways
        self._resources = NativeResources(
            stacked.resources, library, routes.native_variants(), threads, stacked.sequential
        )
        if self.store.spill is None:
            self.store.adder = RowAdder(library.variant(), self._resources.workers)
        self._declined: dict[str, str] = {}
        self._groups = GroupedExecution(
            self.name,
            self._resources,
            routes,
            stacked.execute,
            stacked.sequential,
            self._declined,
            lambda *of: self.in_double(*of)._groups,
            stacked.ways,
            names_missing=False,
        )

    @property
    def one_by_one(self) -> dict[str, str]:
        """Return the jobs that did not run in groups, with reasons; native failures, too."""
        return {**self._declined, **self._stacked.one_by_one}

    def in_double(self, like: Architecture, architecture: Architecture, shards: Shards) -> Native:
        """The same backend in double precision.

        Parameters
        ----------
        like, architecture, shards
            As for `netsim.backends.sequential.Sequential.in_double`.
        """
        stacked = self._stacked.in_double(like, architecture, shards)
        return Native(stacked, stacked.resources.routes, self._library, 1)

    def execute(self, jobs: Sequence[Job[Any]]) -> int:
        """Run jobs of one level; see `netsim.learning.scheduler.Backend`."""
        calls = self._groups.execute(jobs)
        self.store.spill_outputs(jobs)
        return calls

    def predictions(self, asked: Sequence[tuple[Ref, Rows]]) -> list[Tensor]:
        """Outputs of models in evaluation mode; see `netsim.learning.scheduler.Backend`."""
        groups: dict[Architecture | None, list[int]] = {}
        for i, (ref, _) in enumerate(asked):
            architecture = ref.architecture
            assert architecture is not None
            native = self._routes.backend_name(architecture, "infer") == self.name
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


def _signature(job: Job[Train], resources: NativeResources) -> Signature | Declined | Passed:
    """One architecture, optimiser and kind of inputs; one loss with one sort of arguments."""
    work, ref, shards = job.work, job.inputs[0], resources.shards
    architecture = ref.architecture
    assert architecture is not None
    if work.part is not None:
        return Passed("the kernel trains whole models")
    is_default = work.loss is None and not work.learn
    purpose: Purpose = "train" if is_default else "loss"
    if resources.routes.backend_name(architecture, purpose) != "native":
        return Passed(resources.routes.reason(architecture, purpose))
    smallest = min(shards.batch_size, shards.train_size(work.batches.shard))
    if smallest == 1 and architecture.normalises_batches:
        return Passed("a minibatch of one has no variance")  # torch's own error names the node
    common = in_common(job)
    if is_default:
        return common
    own = _own_loss(job, resources)
    by_features = isinstance(own, str) and own != TWICE
    if by_features and resources.routes.unknown_losses(architecture) == "native":
        try:
            resources.feature_training(ref)
        except UnsupportedError as error:
            return Declined(str(error))
    return (
        *common,
        work.loss,
        freeze_arguments(work.given),
        work.learn,
        tuple(r.shape for r in job.inputs),
    )


def _prepare(key: Signature, jobs: Sequence[Job[Train]], resources: NativeResources) -> Call:
    """Many nodes at once, each whole on one core."""
    ref, work = jobs[0].inputs[0], jobs[0].work
    most = resources.store.at_once(ref.num_values, JOBS_AT_ONCE)
    if work.loss is None and not work.learn:
        training = resources.training(ref)
        return Call(lambda some, width: training.run(some, key, width), most)
    plain = resources.cross_entropy_training(jobs[0])
    if plain is not None:
        by_default = plain.run
        return Call(lambda some, width: by_default(some, key, width), most)
    own = _own_loss(jobs[0], resources)
    if not isinstance(own, str):
        run = own.run
        return Call(lambda some, width: run(some, key, width), most)
    architecture, why = ref.architecture, own
    assert architecture is not None
    if why == TWICE or resources.routes.unknown_losses(architecture) == "sequential":
        return Call(lambda some, _: _one_by_one(some, resources), 1, ONE_BY_ONE, why)
    lanes = resources.lanes(ref)
    trainer = resources.feature_training(ref)
    name = f"features by {resources.routes.name(architecture, Native.name)}, the loss by PyTorch"
    return Call(lambda some, _: resources.fill(some, trainer.run(some)), lanes, name, why)


def _own_loss(job: Job[Train], resources: NativeResources) -> NativeTraining | str:
    """Training by the loss of a job, or why the kernel can't do what it does."""
    if job.work.anchor_strength is not None and job.work.learn:
        return "an anchor of a training that learns values beside the model"
    return resources.own_loss_training(job)


def _one_by_one(jobs: Sequence[Job[Train]], resources: NativeResources) -> None:
    resources.plain.execute(jobs)


offer_kernel(Train, Native.name, GroupKernel(_signature, _prepare))
for _work in (Loss, Gradient, Outputs, Select):
    # These need no more than passes over many models, which this backend has, too.
    offer_kernel(_work, Native.name, job_type(_work).kernels["stacked"])
