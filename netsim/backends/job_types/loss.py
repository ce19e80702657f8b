"""Mean loss of a model over one split of a node's samples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor

from netsim.backends.inference import over_splits
from netsim.backends.job_type import register
from netsim.backends.plain import Plain, evaluate
from netsim.learning.jobs import Job


@dataclass(frozen=True)
class Loss:
    """Mean loss of a model over one split: input the model, output a scalar.

    Parameters
    ----------
    shard : int
        Whose samples.
    split : {"train", "validation", "test"}
    """

    shard: int
    split: str

    def describe(self) -> str:
        return "loss"


def _run_one(job: Job[Loss], plain: Plain) -> Sequence[Tensor]:
    """The loss of one model."""
    batch = plain.shards.split(job.work.shard, job.work.split)
    (ref,) = job.inputs
    return [batch.loss(evaluate(ref.architecture, ref.tensor(), batch.x))]


register(
    Loss,
    _run_one,
    stacked=over_splits(lambda passes, *models: passes.losses(*models)),
)
