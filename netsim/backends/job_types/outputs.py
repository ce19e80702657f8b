"""Outputs of models on one minibatch, as distillation needs them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from netsim.backends.inference import InferenceResources
from netsim.backends.job_type import Call, GroupKernel, Signature, register
from netsim.backends.plain import Plain, evaluate
from netsim.learning.jobs import BatchKey, Job


@dataclass(frozen=True)
class Outputs:
    """Outputs of m models on one minibatch of n samples: inputs m models, output (m, n, L).

    Parameters
    ----------
    batch : BatchKey
    """

    batch: BatchKey

    def describe(self) -> str:
        return "outputs"


def _run_one(job: Job[Outputs], plain: Plain) -> Sequence[Tensor]:
    """One model after another."""
    (batch,) = plain.shards.batches([job.work.batch])
    models = [(ref.architecture, ref.tensor()) for ref in job.inputs]
    return [torch.stack([evaluate(*model, batch.x) for model in models])]


def _signature(job: Job[Outputs], resources: InferenceResources) -> Signature | None:
    """One architecture of all models, and minibatches of one size."""
    architecture = job.inputs[0].architecture
    if not resources.supports_inference(job.inputs[0]):
        return None
    if any(r.architecture is not architecture for r in job.inputs):
        return None
    return id(architecture), len(resources.shards.batch_rows(job.work.batch))


def _prepare(_: Signature, jobs: Sequence[Job[Outputs]], resources: InferenceResources) -> Call:
    """One pass over all models of all jobs."""
    inference = resources.inference(jobs[0].inputs[0])

    def run(some: Sequence[Job[Outputs]], _: int) -> None:
        models = inference.gather([ref for job in some for ref in job.inputs])
        samples = []
        for job in some:
            samples += [resources.shards.batch_rows(job.work.batch)] * len(job.inputs)
        outputs = inference.outputs(models, samples)
        results = torch.split(outputs, [len(job.inputs) for job in some])
        resources.fill(some, [[one] for one in results])

    return Call(run, len(jobs))


register(Outputs, _run_one, stacked=GroupKernel(_signature, _prepare, purpose="infer"))
