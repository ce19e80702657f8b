"""Weighted sums of rows, and rows with a part exchanged, for many nodes at once."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

import torch
import torch.nn.functional as F
from torch import Tensor

from netsim.compute.jobs import Job, Mix
from netsim.compute.refs import Ref
from netsim.compute.slab import Memory, Slab

LONG = 32_768
"""Entries from which on a CPU adds row to row: a bag of long rows leaves the cache at each."""


def mix(memory: Memory, jobs: Sequence[Job]) -> None:
    """Fill the cells of `Mix` jobs over whole rows of one length.

    A weight of 0 keeps a row out, even a diverged one: 0 * nan would be nan.
    """
    refs: list[Ref] = []
    sizes: list[int] = []
    for job in jobs:
        rows = job.inputs[:-1] if _weights_of(job) is None else job.inputs
        refs += rows
        sizes.append(len(rows))
    slab, slots = memory.slots(refs)
    shares = _shares(memory, jobs)
    index = torch.where(shares == 0, Slab.ZERO, slab.index(slots))
    cells = [job.outputs[0] for job in jobs]
    if slab.length >= LONG and not slab.storage.is_cuda:
        slab.write(cells, _row_by_row(slab, index.tolist(), shares.tolist(), sizes))
        return
    starts = slab.index([0, *accumulate(sizes)][:-1])
    slab.write(
        cells,
        F.embedding_bag(index, slab.storage, starts, mode="sum", per_sample_weights=shares),
    )


def _weights_of(job: Job) -> tuple[float, ...] | None:
    assert isinstance(job.work, Mix)
    return job.work.weights


def _shares(memory: Memory, jobs: Sequence[Job]) -> Tensor:
    """The weights of all rows of all jobs, one after another."""
    numbers = [_weights_of(job) for job in jobs]
    device, dtype = memory.device, memory.dtype
    if all(w is not None for w in numbers):
        flat = [share for w in numbers if w is not None for share in w]
        return torch.tensor(flat, dtype=dtype, device=device)
    return torch.cat(
        [
            job.inputs[-1].tensor().reshape(-1).to(dtype)
            if w is None
            else torch.tensor(w, dtype=dtype, device=device)
            for w, job in zip(numbers, jobs, strict=True)
        ]
    )


def _row_by_row(
    slab: Slab, index: Sequence[int], shares: Sequence[float], sizes: Sequence[int]
) -> Tensor:
    sums = slab.storage.new_zeros((len(sizes), slab.storage.shape[1]))
    at = 0
    for total, size in zip(sums, sizes, strict=True):
        for slot, share in zip(index[at : at + size], shares[at : at + size], strict=True):
            if slot != Slab.ZERO:
                total.add_(slab.storage[slot], alpha=share)
        at += size
    return sums


def replace_columns(memory: Memory, jobs: Sequence[Job], start: int, stop: int) -> None:
    """Fill the cells of `ReplaceColumns` jobs over rows of one length."""
    slab, slots = memory.slots([job.inputs[0] for job in jobs])
    rows = slab.storage.index_select(0, slab.index(slots))
    for row, job in zip(rows, jobs, strict=True):
        row[start:stop] = job.inputs[1].tensor().reshape(-1)
    slab.write([job.outputs[0] for job in jobs], rows)
