"""Weighted sums of like values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from netsim.backends.job_type import Call, GroupKernel, Signature, register
from netsim.backends.plain import Plain, keep_whole
from netsim.backends.stacked import mixing
from netsim.backends.stacked.resources import LONG_VALUE, Resources
from netsim.learning.jobs import Job
from netsim.learning.refs import Ref


@dataclass(frozen=True)
class Mix:
    """Weighted sum of rows: inputs the rows, then the weights if they are lazy.

    Parameters
    ----------
    weights : tuple of float or None
        One per row; None: the last input holds them.
    """

    weights: tuple[float, ...] | None

    def describe(self) -> str:
        return "mix"


def _run_one(job: Job[Mix], _: Plain) -> Sequence[Tensor]:
    """Row after row."""
    if job.work.weights is not None:
        weights: Sequence[float] = job.work.weights
        rows = [r.tensor() for r in job.inputs]
    else:
        *rows, lazy = (r.tensor() for r in job.inputs)
        weights = lazy.tolist()
    total = torch.zeros_like(rows[0])
    for row, weight in zip(rows, weights, strict=True):
        if weight:  # a zero weight keeps out a diverged model: 0 * nan is nan
            total.add_(row, alpha=weight)
    counting = [r for r, w in zip(job.inputs, weights, strict=False) if w]
    keep_whole(total, counting[:1])
    return [total]


def _signature(job: Job[Mix], _: Resources) -> Signature | None:
    """Whole values of one length, which lie in one slab."""
    length = job.inputs[0].num_values
    rows = job.inputs if job.work.weights is not None else job.inputs[:-1]
    if length < LONG_VALUE or any([r.ranges is not None for r in rows]):
        return None
    architecture = rows[0].architecture
    if architecture is not None and architecture.whole_columns:
        return None
    return (length,)


def _prepare(_: Signature, jobs: Sequence[Job[Mix]], resources: Resources) -> Call:
    """Prepare sums over the rows of one slab, or a recipe for a sum of few rows."""

    def run(some: Sequence[Job[Mix]], _: int) -> None:
        mixtures = [_mixture(job, resources) for job in some]
        mixing.mix(resources.store, mixtures, [job.outputs[0] for job in some])

    return Call(run, len(jobs))


def _mixture(job: Job[Mix], resources: Resources) -> mixing.Mixture:
    weights: tuple[float, ...] | Ref | None = job.work.weights
    if weights is None:
        return mixing.Mixture(resources.store, job.inputs[:-1], job.inputs[-1])
    return mixing.Mixture(resources.store, job.inputs, weights)


register(Mix, _run_one, calls_model=False, stacked=GroupKernel(_signature, _prepare))
