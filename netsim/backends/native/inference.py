"""Passes of the native kernel over many models: outputs, losses, gradients."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from netsim.backends.native.data import Data, Numbers, Rows
from netsim.backends.native.kernel import Kernel
from netsim.backends.native.losses import loss_of
from netsim.backends.parameter_store import ParameterStore, padded_length
from netsim.learning.minibatches import Rows as Samples
from netsim.learning.refs import Ref
from netsim.learning.shards import Shards

MODELS_AT_ONCE = 1024
"""Copies of models that one pass takes at most."""


class NativeInference:
    """Passes in evaluation mode over models of one architecture; see `netsim.backends.inference`.

    Parameters
    ----------
    kernel : Kernel
        Of the architecture.
    shards : Shards
        The samples of all nodes.
    store : ParameterStore
        Where the models lie.
    """

    def __init__(self, kernel: Kernel, shards: Shards, store: ParameterStore) -> None:
        self._kernel, self._shards, self._store = kernel, shards, store
        self._data, self._loss = Data(shards.x, shards.y), loss_of(shards.task)

    def models_at_once(self, samples: int) -> int:
        """Return the same whatever the samples: the kernel keeps nothing of them."""
        return self._store.at_once(self._kernel.num_values, MODELS_AT_ONCE)

    def empty_rows(self, count: int) -> Tensor:
        """Uninitialised rows (count, padded D)."""
        columns = padded_length(self._kernel.num_values)
        return torch.empty((count, columns), dtype=self._store.dtype)

    def gather(self, refs: Sequence[Ref]) -> Tensor:
        """Copies of models as rows (W, padded D)."""
        rows = self.empty_rows(len(refs))
        self._store.gather(refs, rows)
        return rows

    def padded_splits(self, splits: Sequence[tuple[int, str]]) -> tuple[Tensor, Tensor]:
        """Row numbers (W, n) of splits, padded to the longest, and each sample's share."""
        each = [self._shards.split_rows(node, name) for node, name in splits]
        index, sizes = _pad_rows(each)
        is_sample = np.arange(index.shape[1]) < sizes[:, None]
        share = torch.from_numpy(is_sample / sizes[:, None])
        return torch.from_numpy(index), share.to(self._store.dtype)

    def outputs(self, rows: Tensor, samples: Sequence[Samples]) -> Tensor:
        """Outputs (W, n, L) of models on n samples each."""
        return self._kernel.outputs(self._data, Rows(rows), np.stack(samples))

    def losses(self, rows: Tensor, index: Tensor, share: Tensor) -> Tensor:
        """Mean losses (W,) of models.

        Parameters
        ----------
        rows : torch.Tensor
            (W, padded D)
        index, share : torch.Tensor
            (W, n) as `padded_splits` gives them.
        """
        found = self._kernel.losses(
            self._data, Rows(rows), index.numpy(), _sizes(share), loss=self._loss
        )
        return torch.from_numpy(found).to(rows.dtype)

    def gradients(self, rows: Tensor, index: Tensor, share: Tensor) -> list[Tensor]:
        """Gradients (D,) of models' mean losses, zero in the columns of buffers.

        Parameters
        ----------
        rows : torch.Tensor
            (W, padded D)
        index, share : torch.Tensor
            (W, n) as `padded_splits` gives them.
        """
        found = self.empty_rows(len(rows))
        self._kernel.gradients(
            self._data, Rows(rows), Rows(found), index.numpy(), _sizes(share), loss=self._loss
        )
        return list(found[:, : self._kernel.num_values].unbind())

    def predictions(self, asked: Sequence[tuple[Ref, Samples]]) -> list[Tensor]:
        """Outputs of models where they lie.

        Parameters
        ----------
        asked : sequence of (Ref, (n_i,) int64)
            Models, each with the row numbers of its samples.

        Returns
        -------
        list of torch.Tensor
            (n_i, L) each.
        """
        slab, numbers = self._store.rows_of([ref for ref, _ in asked])
        most = self._store.at_once(self._kernel.num_values, len(asked))
        found: list[Tensor] = []
        for start in range(0, len(asked), most):
            some = slice(start, start + most)
            models = Rows(slab.storage, np.array(numbers[some], dtype=np.int64))
            rows = [rows for _, rows in asked[some]]
            found += self._kernel.outputs_each(self._data, models, rows)
            slab.note_access(len(rows))
        return found


def _sizes(share: Tensor) -> Numbers:
    """Return the number of real samples (not padding) of each shard."""
    return (share > 0).sum(1).numpy()


def _pad_rows(each: Sequence[Samples]) -> tuple[Numbers, Numbers]:
    """Rows of numbers, the last one repeated up to the longest, and their lengths."""
    sizes = np.array([len(rows) for rows in each], dtype=np.int64)
    columns = np.minimum(np.arange(sizes.max(initial=1)), sizes[:, None] - 1)
    return np.stack([rows[c] for rows, c in zip(each, columns, strict=True)]), sizes
