"""A function of the algorithm's, of one node's values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from netsim.backends.job_type import Call, GroupKernel, Signature, register
from netsim.backends.plain import Plain, checked_results, keep_whole
from netsim.backends.stacked import functional
from netsim.backends.stacked.resources import Resources
from netsim.learning.functions import (
    fill_slots,
    freeze_arguments,
    require_unchanged,
    tensor_versions,
)
from netsim.learning.jobs import Job


@dataclass(frozen=True)
class Apply:
    """A pure function of values: inputs the values, outputs the function's results.

    Parameters
    ----------
    function : callable
    args : tuple
        Its arguments, with `Slot(i)` in place of input i.
    """

    function: Callable[..., Any]
    args: tuple[Any, ...]

    def describe(self) -> str:
        return f"apply {self.function.__qualname__}"


def _run_one(job: Job[Apply], _: Plain) -> Sequence[Tensor]:
    """The function of one node's values."""
    function, values = job.work.function, [r.tensor() for r in job.inputs]
    before = tensor_versions(values)
    result = function(*fill_slots(job.work.args, values))
    require_unchanged(function, values, before)
    results = checked_results(result, function, job)
    for cell, value in zip(job.outputs, results, strict=True):
        if cell is not None and cell.architecture is not None:
            keep_whole(value, [r for r in job.inputs if r.architecture is cell.architecture])
    return results


def _signature(job: Job[Apply], resources: Resources) -> Signature | None:
    """One function, marked `@batched`, with inputs of one shape."""
    function = job.work.function
    if not (resources.routes.functions and getattr(function, "is_batched", False)):
        return None
    models = [cell.architecture for cell in job.outputs if cell is not None]
    if any(a is not None and a.whole_columns for a in models):
        return None
    return function, freeze_arguments(job.work.args), tuple(r.shape for r in job.inputs)


def _prepare(_: Signature, jobs: Sequence[Job[Apply]], resources: Resources) -> Call:
    """The function under `vmap`."""
    work = jobs[0].work

    def run(some: Sequence[Job[Apply]], _: int) -> None:
        inputs = [
            torch.stack([job.inputs[i].tensor() for job in some])
            for i in range(len(some[0].inputs))
        ]
        results = functional.call_with_vmap(work.function, work.args, inputs)
        resources.fill(some, functional.unstack_results(results, len(some)))

    return Call(run, len(jobs))


register(
    Apply, _run_one, names_model=False, calls_model=False, stacked=GroupKernel(_signature, _prepare)
)
