"""Gradient of the mean loss of a model over one minibatch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from netsim.backends.inference import InferenceResources
from netsim.backends.job_type import Call, GroupKernel, Signature, register
from netsim.backends.job_types.gradient import gradient_of
from netsim.backends.plain import Plain
from netsim.learning.jobs import BatchKey, Job
from netsim.learning.transfer import to_device


@dataclass(frozen=True)
class BatchGradient:
    """Gradient of the mean loss over one minibatch: input the model, output a row like it.

    The columns of the model's buffers are zero.

    Parameters
    ----------
    batch : BatchKey
    """

    batch: BatchKey

    def describe(self) -> str:
        return "gradient of a minibatch"


def _run_one(job: Job[BatchGradient], plain: Plain) -> Sequence[Tensor]:
    """The gradient of one model."""
    (batch,) = plain.shards.batches([job.work.batch])
    return [gradient_of(job.inputs[0], batch)]


def _signature(job: Job[BatchGradient], resources: InferenceResources) -> Signature | None:
    """One architecture, and minibatches of one size."""
    if not resources.supports_inference(job.inputs[0]):
        return None
    return id(job.inputs[0].architecture), len(resources.shards.batch_rows(job.work.batch))


def _prepare(
    key: Signature, jobs: Sequence[Job[BatchGradient]], resources: InferenceResources
) -> Call:
    """One pass over many models."""
    inference = resources.inference(jobs[0].inputs[0])

    def run(some: Sequence[Job[BatchGradient]], _: int) -> None:
        models = inference.gather([job.inputs[0] for job in some])
        rows = np.stack([resources.shards.batch_rows(job.work.batch) for job in some])
        index = to_device(rows, models.device)
        share = torch.full(rows.shape, 1.0 / key[1], device=models.device, dtype=models.dtype)
        resources.fill(some, [[found] for found in inference.gradients(models, index, share)])

    return Call(run, len(jobs))


register(BatchGradient, _run_one, stacked=GroupKernel(_signature, _prepare, purpose="infer"))
