"""Weighted sums of rows for many nodes at once."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import accumulate
from typing import NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from netsim.backends.parameter_store import ParameterStore, Slab, Terms
from netsim.learning.refs import Cell, Ref

FEW = 16
"""Most values that a mixture left for later may hold on to: its rows, and weights that are lazy."""


class Mixture(NamedTuple):
    """One weighted sum, and the recipe of its value where it is left for later.

    Attributes
    ----------
    store : ParameterStore
        Where the rows lie.
    rows : tuple of Ref
        n whole values of one length.
    weights : tuple of float or Ref
        (n,)
    """

    store: ParameterStore
    rows: tuple[Ref, ...]
    weights: tuple[float, ...] | Ref

    @property
    def kind(self) -> Hashable:
        return Mixture, self.rows[0].num_values

    def make(self, cells: Sequence[Cell]) -> None:
        """Compute the sums of cells whose recipes are mixtures of rows of this length."""
        mixtures = [recipe for cell in cells if isinstance(recipe := cell.recipe, Mixture)]
        _write(self.store, mixtures, cells)


def mix(store: ParameterStore, mixtures: Sequence[Mixture], cells: Sequence[Cell | None]) -> None:
    """Fill cells with mixtures of rows of one length.

    An average from which training starts at once is never needed as a row of its own, so mixtures
    of few rows are left to whoever reads them first.

    Parameters
    ----------
    store : ParameterStore
    mixtures : sequence of Mixture
    cells : sequence of Cell or None
        One per mixture; None for one that nobody holds any more.
    """
    store.settle([ref.cell for mixture in mixtures for ref in mixture.rows])
    now: list[tuple[Mixture, Cell | None]] = []
    for mixture, cell in zip(mixtures, cells, strict=True):
        held = len(mixture.rows) + isinstance(mixture.weights, Ref)
        if held > FEW:
            now.append((mixture, cell))
        elif cell is not None:
            cell.defer(mixture)
    if now:
        _write(store, [mixture for mixture, _ in now], [cell for _, cell in now])


def _write(
    store: ParameterStore, mixtures: Sequence[Mixture], cells: Sequence[Cell | None]
) -> None:
    """Compute mixtures of rows of one length, as many at a time as may be in memory."""
    length = mixtures[0].rows[0].num_values
    slab = store.slab(length)
    if store.adder is None:
        most = store.at_once(length, len(mixtures))
        for start in range(0, len(mixtures), most):
            some = slice(start, start + most)
            slab.write(cells[some], weighted_sums(store, mixtures[some]))
        return
    held = [(m, c) for m, c in zip(mixtures, cells, strict=True) if c is not None]
    if held:
        sums = terms(store, [mixture for mixture, _ in held])
        numbers = slab.take(len(held))
        store.adder(sums, slab.storage, numbers)
        for (_, cell), number in zip(held, numbers, strict=True):
            cell.store_in(slab, number)


def gather(store: ParameterStore, refs: Sequence[Ref], out: Tensor) -> None:
    """Copy values of one length into rows; mixtures left for later are computed there.

    Parameters
    ----------
    store : ParameterStore
    refs : sequence of Ref
        n of them.
    out : torch.Tensor
        (n, padded length), contiguous.
    """
    recipes = [r.cell.recipe for r in refs if r.ranges is None]
    mixtures = [recipe for recipe in recipes if isinstance(recipe, Mixture)]
    if len(mixtures) < len(refs):
        store.gather(refs, out)
    elif store.adder is None:
        out.copy_(weighted_sums(store, mixtures))
    else:
        store.adder(terms(store, mixtures), out, range(len(refs)))


def terms(store: ParameterStore, mixtures: Sequence[Mixture]) -> Terms:
    """Return the terms of mixtures; all of rows of one length."""
    slab, rows = store.rows_of([ref for mixture in mixtures for ref in mixture.rows])
    counts = [len(mixture.rows) for mixture in mixtures]
    return Terms(slab, rows, _weights(store, mixtures), counts)


def weighted_sums(store: ParameterStore, mixtures: Sequence[Mixture]) -> Tensor:
    """Weighted sums (n, padded length), by PyTorch.

    A weight of 0 keeps a row out, even one with nan: 0 * nan would be nan.
    """
    slab, numbers, weights, sizes = terms(store, mixtures)
    index = slab.index(numbers).masked_fill_(weights == 0, Slab.ZERO)
    if store.spill is not None:
        return _row_by_row(slab, index.tolist(), weights.tolist(), sizes)
    starts = slab.index([0, *accumulate(sizes)][:-1])
    return F.embedding_bag(index, slab.storage, starts, mode="sum", per_sample_weights=weights)


def _weights(store: ParameterStore, mixtures: Sequence[Mixture]) -> Tensor:
    """The weights of all rows of all mixtures, one after another."""
    device, dtype = store.device, store.dtype
    each = [mixture.weights for mixture in mixtures]
    numbers = [w for w in each if not isinstance(w, Ref)]
    if len(numbers) == len(each):
        flat = [weight for some in numbers for weight in some]
        # torch.tensor takes twice as long for a list.
        return torch.from_numpy(np.array(flat)).to(device, dtype, non_blocking=True)
    return torch.cat(
        [
            w.tensor().reshape(-1).to(dtype)
            if isinstance(w, Ref)
            else torch.tensor(w, dtype=dtype).to(device, non_blocking=True)
            for w in each
        ]
    )


def _row_by_row(
    slab: Slab, index: Sequence[int], weights: Sequence[float], sizes: Sequence[int]
) -> Tensor:
    """Weighted sums (n, padded length) of rows in files, one row in memory after another.

    Parameters
    ----------
    slab : Slab
    index, weights : sequence
        Row number and weight of each row of each sum, one after another.
    sizes : sequence of int
        How many rows each of the n sums has.
    """
    sums = slab.storage.new_zeros((len(sizes), slab.storage.shape[1]))
    at = 0
    for total, size in zip(sums, sizes, strict=True):
        for number, weight in zip(index[at : at + size], weights[at : at + size], strict=True):
            if number != Slab.ZERO:
                total.add_(slab.storage[number], alpha=weight)
                slab.note_access(1)
        at += size
    return sums
