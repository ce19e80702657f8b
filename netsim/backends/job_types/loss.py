"""Mean cross-entropy of a model over one split of a node's samples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch.nn.functional as F
from torch import Tensor

from netsim.backends.inference import InferenceResources
from netsim.backends.job_type import Call, GroupKernel, Signature, register
from netsim.backends.plain import Plain, evaluate, model_of
from netsim.backends.stacked.inference import padded_size
from netsim.learning.jobs import Job


@dataclass(frozen=True)
class Loss:
    """Mean loss of a model over one split: input the model, output a scalar.

    Parameters
    ----------
    node : int
        Whose samples.
    split : {"train", "validation", "test"}
    """

    node: int
    split: str

    def describe(self) -> str:
        return "loss"


def _run_one(job: Job[Loss], plain: Plain) -> Sequence[Tensor]:
    """The loss of one model."""
    batch = plain.shards.split(job.work.node, job.work.split)
    return [F.cross_entropy(evaluate(model_of(job.inputs[0]), batch.x), batch.y)]


def _signature(job: Job[Loss], resources: InferenceResources) -> Signature | None:
    """One architecture, and splits that are padded to one size."""
    if not resources.infers(job.inputs[0]):
        return None
    rows = resources.shards.split_rows(job.work.node, job.work.split)
    return id(job.inputs[0].architecture), padded_size(len(rows))


def _prepare(_: Signature, jobs: Sequence[Job[Loss]], resources: InferenceResources) -> Call:
    """One pass over all models."""
    inference = resources.inference(jobs[0].inputs[0])

    def run(some: Sequence[Job[Loss]], _: int) -> None:
        models = inference.gathered([job.inputs[0] for job in some])
        splits = [(job.work.node, job.work.split) for job in some]
        losses = inference.losses(models, *inference.padded_splits(splits))
        resources.fill(some, [[loss] for loss in losses])

    return Call(run, len(jobs))


register(Loss, _run_one, stacked=GroupKernel(_signature, _prepare, purpose="look"))
