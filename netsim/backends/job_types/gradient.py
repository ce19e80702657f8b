"""Gradient of the mean cross-entropy of a model over one split of a node's samples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from netsim.backends.inference import InferenceResources
from netsim.backends.job_type import Call, GroupKernel, Signature, register
from netsim.backends.plain import Plain
from netsim.backends.stacked.inference import padded_size
from netsim.learning.jobs import Job


@dataclass(frozen=True)
class Gradient:
    """Gradient of the mean loss over one split: input the model, output a row like it.

    The columns of the model's buffers are zero.

    Parameters
    ----------
    node : int
        Whose samples.
    split : {"train", "validation", "test"}
    """

    node: int
    split: str

    def describe(self) -> str:
        return "gradient"


def _run_one(job: Job[Gradient], plain: Plain) -> Sequence[Tensor]:
    """The gradient of one model."""
    architecture = job.inputs[0].architecture
    assert architecture is not None
    batch = plain.shards.split(job.work.node, job.work.split)
    row = job.inputs[0].tensor().clone()
    gradient = torch.zeros_like(row)
    model = architecture.bind(row, gradient[: architecture.num_parameters])
    F.cross_entropy(model(batch.x), batch.y).backward()  # type: ignore[no-untyped-call]
    return [gradient]


def _signature(job: Job[Gradient], resources: InferenceResources) -> Signature | None:
    """One architecture, and splits that are padded to one size."""
    if not resources.infers(job.inputs[0]):
        return None
    rows = resources.shards.split_rows(job.work.node, job.work.split)
    return id(job.inputs[0].architecture), padded_size(len(rows))


def _prepare(_: Signature, jobs: Sequence[Job[Gradient]], resources: InferenceResources) -> Call:
    """Forward and backward passes over as many models at once as memory allows."""
    inference = resources.inference(jobs[0].inputs[0])

    def run(some: Sequence[Job[Gradient]], _: int) -> None:
        models = inference.gathered([job.inputs[0] for job in some])
        splits = [(job.work.node, job.work.split) for job in some]
        gradients = inference.gradients(models, *inference.padded_splits(splits))
        resources.fill(some, [[gradient] for gradient in gradients])

    return Call(run, len(jobs))


register(Gradient, _run_one, stacked=GroupKernel(_signature, _prepare, purpose="look"))
