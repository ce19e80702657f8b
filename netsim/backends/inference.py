"""What job types that only look at models ask of a backend: passes over many models at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from torch import Tensor

from netsim.learning.jobs import Job
from netsim.learning.minibatches import Rows
from netsim.learning.refs import Ref
from netsim.learning.shards import Shards


class Inference(Protocol):
    """Passes in evaluation mode over models of one architecture, as rows (W, padded D)."""

    def models_at_once(self, samples: int) -> int:
        """How many models one pass takes, with `samples` samples each."""

    def empty_rows(self, count: int) -> Tensor:
        """Uninitialised rows (count, padded D)."""

    def gathered(self, refs: Sequence[Ref]) -> Tensor:
        """Copies of models as rows (W, padded D)."""

    def padded_splits(self, splits: Sequence[tuple[int, str]]) -> tuple[Tensor, Tensor]:
        """Row numbers (W, n) of splits of one padded size, and each sample's share in the mean."""

    def outputs(self, rows: Tensor, samples: Sequence[Rows]) -> Tensor:
        """Outputs (W, n, L) of models on n samples each."""

    def losses(self, rows: Tensor, index: Tensor, share: Tensor) -> Tensor:
        """Mean cross-entropy (W,) of models.

        Parameters
        ----------
        rows : torch.Tensor
            (W, padded D)
        index, share : torch.Tensor
            (W, n) as `padded_splits` gives them.
        """

    def gradients(self, rows: Tensor, index: Tensor, share: Tensor) -> list[Tensor]:
        """Gradients (D,) of models' mean cross-entropy, zero in the columns of buffers.

        Parameters
        ----------
        rows : torch.Tensor
            (W, padded D)
        index, share : torch.Tensor
            (W, n) as `padded_splits` gives them.
        """


class InferenceResources(Protocol):
    """What a backend hands to the kernels of such job types."""

    @property
    def shards(self) -> Shards:
        """The samples of all nodes."""

    def infers(self, ref: Ref) -> bool:
        """Whether there is an `inference` for the architecture of a model."""

    def inference(self, ref: Ref) -> Inference:
        """Passes over models of one architecture."""

    def fill(self, jobs: Sequence[Job[Any]], results: Sequence[Sequence[Tensor]]) -> None:
        """Fill the cells of jobs that still exist."""
