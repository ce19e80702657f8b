"""Passes over many models at once, each with its own samples: outputs, losses, gradients."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import torch
from torch import Tensor

from netsim.backends.parameter_store import ParameterStore, padded_length
from netsim.backends.stacked.lanes import LEAST_LANES
from netsim.backends.stacked.stacked_module import StackedModule
from netsim.learning.minibatches import Rows
from netsim.learning.refs import Ref
from netsim.learning.shards import Shards
from netsim.learning.transfer import to_device

VALUES_AT_ONCE = 1 << 22
"""Inputs and parameters of one pass: more would leave the cache, or a GPU's memory."""


class StackedInference:
    """Passes in evaluation mode over models of one architecture.

    Parameters
    ----------
    module : StackedModule
    shards : Shards
        The samples of all nodes.
    store : ParameterStore
        Where the models lie.
    """

    def __init__(self, module: StackedModule, shards: Shards, store: ParameterStore) -> None:
        self._module, self._shards, self._store = module, shards, store

    def models_at_once(self, samples: int) -> int:
        """Return the number of models in one pass, with `samples` samples each."""
        values = self._shards.x[0].numel() * samples + self._module.architecture.num_values
        return max(LEAST_LANES, VALUES_AT_ONCE // values)

    def empty_rows(self, count: int) -> Tensor:
        """Uninitialised rows (count, padded D)."""
        a = self._module.architecture
        return torch.empty((count, padded_length(a.num_values)), device=a.device, dtype=a.dtype)

    def gather(self, refs: Sequence[Ref]) -> Tensor:
        """Copies of models as rows (W, padded D)."""
        rows = self.empty_rows(len(refs))
        self._store.gather(refs, rows)
        return rows

    def padded_splits(self, splits: Sequence[tuple[int, str]]) -> tuple[Tensor, Tensor]:
        """Splits of one padded size.

        Parameters
        ----------
        splits : sequence of (int, str)
            W nodes, each with the name of one of its splits.

        Returns
        -------
        index : torch.Tensor
            (W, n) int64 row numbers of the samples, padding included.
        share : torch.Tensor
            (W, n) share of each sample in the mean over its split; 0 for padding.
        """
        device, dtype = self._store.device, self._store.dtype
        each = [self._shards.split_rows(node, name) for node, name in splits]
        index = to_device(np.stack([padded_rows(rows) for rows in each]), device)
        sizes = np.array([len(rows) for rows in each])
        is_sample = np.arange(index.shape[1]) < sizes[:, None]
        share = torch.from_numpy(is_sample / sizes[:, None]).to(device, dtype, non_blocking=True)
        return index, share

    @torch.no_grad()
    def _logits(self, rows: Tensor, index: Tensor) -> Iterator[tuple[slice, Tensor]]:
        """Outputs of models, as many at once as memory allows.

        Parameters
        ----------
        rows : torch.Tensor
            (W, padded D)
        index : torch.Tensor
            (W, n) row numbers of samples.

        Yields
        ------
        slice
            Which models.
        torch.Tensor
            (number of these, n, L)
        """
        count, chunk = len(rows), self.models_at_once(index.shape[1])
        for start in range(0, count, chunk):
            lanes = slice(start, min(start + chunk, count))
            width = lanes.stop - start
            some, samples = rows[lanes], index[lanes]
            wide = self._module.width_for(width, index.shape[1])
            if width < wide:
                again = to_device(np.minimum(np.arange(wide), width - 1), rows.device)
                some, samples = some[again], samples[again]
            self._module.bind(some[:, : self._module.architecture.num_values])
            self._module.lanes.mask = self._module.lanes.counts = None
            x = self._shards.x.index_select(0, samples.reshape(-1))
            y = self._module.outputs(x)
            yield lanes, y.reshape(len(some), samples.shape[1], -1)[:width]

    def predictions(self, asked: Sequence[tuple[Ref, Rows]]) -> list[Tensor]:
        """Outputs of models on samples that are padded to one size.

        Parameters
        ----------
        asked : sequence of (Ref, (n_i,) int64)
            Models, each with the row numbers of its samples.

        Returns
        -------
        list of torch.Tensor
            (n_i, L) each, on the CPU.
        """
        rows = self.gather([ref for ref, _ in asked])
        index = to_device(np.stack([padded_rows(r) for _, r in asked]), rows.device)
        found: list[Tensor] = []
        for lanes, y in self._logits(rows, index):
            sizes = [len(r) for _, r in asked[lanes]]
            found += [one[:n] for one, n in zip(y.cpu(), sizes, strict=True)]
        return found

    def outputs(self, rows: Tensor, samples: Sequence[Rows]) -> Tensor:
        """Outputs (W, n, L) of models on n samples each.

        Parameters
        ----------
        rows : torch.Tensor
            (W, padded D)
        samples : sequence of (n,) int64
            Row numbers of each model's samples.
        """
        index = to_device(np.stack(samples), rows.device)
        return torch.cat([y for _, y in self._logits(rows, index)])

    def losses(self, rows: Tensor, index: Tensor, share: Tensor) -> Tensor:
        """Mean losses (W,) of models.

        Parameters
        ----------
        rows : torch.Tensor
            (W, padded D)
        index, share : torch.Tensor
            (W, n) as `padded_splits` gives them.
        """
        found = []
        for lanes, y in self._logits(rows, index):
            targets = self._shards.y[index[lanes]]
            loss = self._shards.task.losses(y.flatten(0, 1), targets.flatten(0, 1))
            loss, weight = loss.view(y.shape[:2]), share[lanes]
            # The loss of a diverged model is nan on padding, too, and 0 * nan is nan.
            found.append(torch.where(weight > 0, loss * weight, 0.0).sum(1))
        return torch.cat(found)

    def gradients(self, rows: Tensor, index: Tensor, share: Tensor) -> list[Tensor]:
        """Gradients (D,) of models' mean losses, zero in the columns of buffers.

        Parameters
        ----------
        rows : torch.Tensor
            (W, padded D)
        index, share : torch.Tensor
            (W, n) as `padded_splits` gives them.
        """
        a, lanes, task = self._module.architecture, self._module.lanes, self._shards.task
        chunk = self.models_at_once(index.shape[1])
        results: list[Tensor] = []
        for start in range(0, len(rows), chunk):
            stop = min(start + chunk, len(rows))
            width = self._module.width_for(stop - start, index.shape[1])
            lane_numbers = np.minimum(np.arange(start, start + width), stop - 1)
            wide = to_device(lane_numbers, rows.device)
            some, samples, weights = rows[wide], index[wide], share[wide]
            gradient = torch.zeros_like(some)
            self._module.bind(some[:, : a.num_values], a.parameters_in(gradient))
            lanes.mask, lanes.counts, lanes.decay = None, None, 0.0
            each = samples.view(-1)
            targets, weight = self._shards.y[each], weights.view(-1, 1)
            # The lambda is called before the loop goes on.
            self._module.differentiate(
                self._shards.x.index_select(0, each),
                lambda z, y=targets, w=weight: task.gradient(z, y, w),  # type: ignore[misc]
            )
            gradient = gradient[:, : a.num_values]
            gradient[:, a.num_parameters :] = 0.0
            results += gradient[: stop - start].unbind()
        return results


def padded_rows(rows: Rows) -> Rows:
    """Row numbers of samples, the last one repeated up to `padded_size`."""
    return rows[np.minimum(np.arange(padded_size(len(rows))), len(rows) - 1)]


def padded_size(samples: int) -> int:
    """Size to which a split is padded: at most a quarter more, and a function of its own size.

    Splits of many sizes then run together, and the sum over a split has as many terms, in the same
    order, whichever other splits are in the call.
    """
    if samples <= 8:
        return 8
    step = 1 << max((samples - 1).bit_length() - 3, 0)
    return -(-samples // step) * step
