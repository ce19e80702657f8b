"""A function of the algorithm's, of a model and one split of a node's samples."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from netsim.backends.job_type import Call, GroupKernel, Signature, register
from netsim.backends.plain import Plain, checked_results, seeded_inference
from netsim.backends.stacked import functional
from netsim.backends.stacked.resources import Resources
from netsim.learning.functions import (
    fill_slots,
    freeze_arguments,
    require_unchanged,
    tensor_versions,
)
from netsim.learning.hidden_state import FirstCalls
from netsim.learning.jobs import Job
from netsim.learning.shards import Batch
from netsim.learning.transfer import to_device


@dataclass(frozen=True)
class Measure:
    """A pure function of a model and a split: inputs the model, given...; output a tensor.

    Parameters
    ----------
    function : callable
        function(model, batch, *given)
    shard : int
        Whose samples.
    split : {"train", "validation", "test"}
    given : tuple
        The function's further arguments, with `Slot(i)` in place of the i-th Ref among them.
    """

    function: Callable[..., Any]
    shard: int
    split: str
    given: tuple[Any, ...]

    def describe(self) -> str:
        return f"measure {self.function.__qualname__}"


@torch.no_grad()
def _run_one(job: Job[Measure], plain: Plain) -> Sequence[Tensor]:
    """Evaluate the function on one model."""
    architecture = job.inputs[0].architecture
    assert architecture is not None

    def evaluated() -> Sequence[Tensor]:
        return _evaluate(job, plain)

    with plain.first_calls.looked_at(job.work.function, architecture.module, evaluated):
        return evaluated()


def _evaluate(job: Job[Measure], plain: Plain) -> Sequence[Tensor]:
    work = job.work
    model, *given = job.inputs
    values = [r.tensor() for r in given]
    arguments = fill_slots(work.given, values)
    batch = plain.shards.split(work.shard, work.split)
    seen = [*values, batch.x, batch.y]
    before = tensor_versions(seen)
    assert model.architecture is not None
    own = model.tensor().clone()  # which the function may adapt
    with seeded_inference(model.architecture):
        result = work.function(model.architecture.bind(own), batch, *arguments)
    require_unchanged(work.function, seen, before)
    return checked_results(result, work.function, job)


def _signature(job: Job[Measure], resources: Resources) -> Signature:
    """One function of one architecture, with splits of one size and arguments of one shape."""
    work = job.work
    size = len(resources.shards.split_rows(work.shard, work.split))
    shapes = tuple(r.shape for r in job.inputs)
    architecture = job.inputs[0].architecture
    return id(architecture), work.function, freeze_arguments(work.given), size, shapes


def _prepare(_: Signature, jobs: Sequence[Job[Measure]], resources: Resources) -> Call:
    """The function under `vmap`."""
    work, architecture = jobs[0].work, jobs[0].inputs[0].architecture
    assert architecture is not None
    first = resources.made_once(FirstCalls, FirstCalls)

    def run(some: Sequence[Job[Measure]], _: int) -> None:
        shards = resources.shards
        each = [shards.split_rows(job.work.shard, job.work.split) for job in some]
        index = to_device(np.stack(each), shards.x.device)
        samples = Batch(shards.x[index], shards.y[index], None, shards.scale, shards.task)
        inputs = [
            torch.stack([job.inputs[i].tensor() for job in some])
            for i in range(len(some[0].inputs))
        ]

        def measured() -> Sequence[Tensor]:
            return functional.measure(architecture, work.function, work.given, samples, inputs)

        with first.looked_at(work.function, architecture.module, measured):
            values = measured()
        resources.fill(some, [[value] for value in values])

    return Call(run, len(jobs))


register(Measure, _run_one, stacked=GroupKernel(_signature, _prepare, purpose="infer"))
