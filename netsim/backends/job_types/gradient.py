"""Gradient of the mean loss of a model over one split of a node's samples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from netsim.backends.inference import over_splits
from netsim.backends.job_type import register
from netsim.backends.plain import Plain, seeded_inference
from netsim.learning.jobs import Job
from netsim.learning.refs import Ref
from netsim.learning.shards import Batch


@dataclass(frozen=True)
class Gradient:
    """Gradient of the mean loss over one split: input the model, output a row like it.

    The columns of the model's buffers are zero.

    Parameters
    ----------
    shard : int
        Whose samples.
    split : {"train", "validation", "test"}
    """

    shard: int
    split: str

    def describe(self) -> str:
        return "gradient"


def _run_one(job: Job[Gradient], plain: Plain) -> Sequence[Tensor]:
    """The gradient of one model."""
    return [gradient_of(job.inputs[0], plain.shards.split(job.work.shard, job.work.split))]


def gradient_of(ref: Ref, batch: Batch) -> Tensor:
    """The gradient of a model's mean loss on some samples, zero in the columns of buffers."""
    architecture = ref.architecture
    assert architecture is not None
    row = ref.tensor().clone()
    gradient = torch.zeros_like(row)
    model = architecture.bind(row, gradient[: architecture.num_parameters])
    with seeded_inference(architecture):
        batch.loss(model(batch.x)).backward()  # type: ignore[no-untyped-call]
    return gradient


register(
    Gradient,
    _run_one,
    stacked=over_splits(lambda passes, *models: passes.gradients(*models)),
)
