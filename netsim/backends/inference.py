"""Services of a backend for job types that evaluate models: passes over many models at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol

from torch import Tensor

from netsim.backends.job_type import Call, GroupKernel, Signature
from netsim.backends.stacked.inference import padded_size
from netsim.learning.jobs import Job
from netsim.learning.minibatches import Rows
from netsim.learning.refs import Ref
from netsim.learning.shards import Shards


class Inference(Protocol):
    """Passes in evaluation mode over models of one architecture, as rows (W, padded D)."""

    def models_at_once(self, samples: int) -> int:
        """Return the number of models in one pass, with `samples` samples each."""

    def empty_rows(self, count: int) -> Tensor:
        """Uninitialised rows (count, padded D)."""

    def gather(self, refs: Sequence[Ref]) -> Tensor:
        """Copies of models as rows (W, padded D)."""

    def padded_splits(self, splits: Sequence[tuple[int, str]]) -> tuple[Tensor, Tensor]:
        """Row numbers (W, n) of splits of one padded size, and each sample's share in the mean."""

    def outputs(self, rows: Tensor, samples: Sequence[Rows]) -> Tensor:
        """Outputs (W, n, L) of models on n samples each."""

    def losses(self, rows: Tensor, index: Tensor, share: Tensor) -> Tensor:
        """Mean losses (W,) of models.

        Parameters
        ----------
        rows : torch.Tensor
            (W, padded D)
        index, share : torch.Tensor
            (W, n) as `padded_splits` gives them.
        """

    def gradients(self, rows: Tensor, index: Tensor, share: Tensor) -> list[Tensor]:
        """Gradients (D,) of models' mean losses, zero in the columns of buffers.

        Parameters
        ----------
        rows : torch.Tensor
            (W, padded D)
        index, share : torch.Tensor
            (W, n) as `padded_splits` gives them.
        """


class InferenceResources(Protocol):
    """Services that a backend hands to the kernels of such job types."""

    @property
    def shards(self) -> Shards:
        """The samples of all nodes."""

    def supports_inference(self, ref: Ref) -> bool:
        """Return whether `inference` supports the architecture of a model."""

    def inference(self, ref: Ref) -> Inference:
        """Passes over models of one architecture."""

    def fill(self, jobs: Sequence[Job[Any]], results: Sequence[Sequence[Tensor]]) -> None:
        """Fill the cells of jobs that still exist."""


Passes = Callable[[Inference, Tensor, Tensor, Tensor], Iterable[Tensor]]
"""(inference, rows, index, share) -> one result a model; arguments as of `Inference.losses`."""


def over_splits(passes: Passes) -> GroupKernel[InferenceResources]:
    """The kernel of jobs that look at one model (their input) over one split of a shard.

    Their work has a `shard` and a `split`.

    Parameters
    ----------
    passes : callable
    """

    def signature(job: Job[Any], resources: InferenceResources) -> Signature | None:
        """One architecture, and splits that are padded to one size."""
        if not resources.supports_inference(job.inputs[0]):
            return None
        rows = resources.shards.split_rows(job.work.shard, job.work.split)
        return id(job.inputs[0].architecture), padded_size(len(rows))

    def prepare(_: Signature, jobs: Sequence[Job[Any]], resources: InferenceResources) -> Call:
        inference = resources.inference(jobs[0].inputs[0])

        def run(some: Sequence[Job[Any]], _: int) -> None:
            models = inference.gather([job.inputs[0] for job in some])
            splits = [(job.work.shard, job.work.split) for job in some]
            results = passes(inference, models, *inference.padded_splits(splits))
            resources.fill(some, [[result] for result in results])

        return Call(run, len(jobs))

    return GroupKernel(signature, prepare, purpose="infer")
