"""Weighted sums of rows, and rows with a part exchanged, for many nodes at once."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import accumulate
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from netsim.backends.parameter_store import Memory, Slab
from netsim.learning.jobs import Job, Mix
from netsim.learning.refs import Cell, Ref

LONG = 32_768
"""Entries from which on a CPU adds row to row: a bag of long rows leaves the cache at each."""


FEW = 16
"""Rows up to which a mixture waits until somebody asks for it: until then it holds on to them."""


class Mixture(NamedTuple):
    """The recipe of a weighted sum: its job, run on demand."""

    memory: Memory
    job: Job

    @property
    def kind(self) -> Hashable:
        return Mixture, self.job.shapes[0]

    def make(self, cells: Sequence[Cell]) -> None:
        """Mix for the cells, all of whose recipes are mixtures of this length."""
        jobs = [recipe.job for cell in cells if isinstance(recipe := cell.recipe, Mixture)]
        self.memory.slab(jobs[0].inputs[0].num_values).write(cells, mixed(self.memory, jobs))


def mix(memory: Memory, jobs: Sequence[Job]) -> None:
    """Run `Mix` jobs over whole rows of one length.

    An average that is trained from at once is never needed as a row of its own, so mixtures of
    few rows are left to whoever asks for them first.
    """
    memory.settle([ref.cell for job in jobs for ref in _rows_of(job)])
    now = []
    for job in jobs:
        cell = job.outputs[0]
        if len(job.inputs) > FEW:
            now.append(job)
        elif cell is not None:
            cell.leave_to(Mixture(memory, job))
    if now:
        slab = memory.slab(now[0].inputs[0].num_values)
        slab.write([job.outputs[0] for job in now], mixed(memory, now))


def gather(memory: Memory, refs: Sequence[Ref], out: Tensor) -> None:
    """`Memory.gather`, which mixes straight into `out` what is still to be mixed."""
    recipes = [r.cell.recipe for r in refs if r.columns is None]
    jobs = [recipe.job for recipe in recipes if isinstance(recipe, Mixture)]
    if len(jobs) == len(refs):
        out.copy_(mixed(memory, jobs))
    else:
        memory.gather(refs, out)


def mixed(memory: Memory, jobs: Sequence[Job]) -> Tensor:
    """Weighted sums (n, padded length).

    A weight of 0 keeps a row out, even a diverged one: 0 * nan would be nan.
    """
    rows = [_rows_of(job) for job in jobs]
    sizes = [len(some) for some in rows]
    slab, slots = memory.slots([ref for some in rows for ref in some])
    shares = _shares(memory, jobs)
    index = slab.index(slots).masked_fill_(shares == 0, Slab.ZERO)
    if slab.length >= LONG and not slab.storage.is_cuda:
        return _row_by_row(slab, index.tolist(), shares.tolist(), sizes)
    starts = slab.index([0, *accumulate(sizes)][:-1])
    return F.embedding_bag(index, slab.storage, starts, mode="sum", per_sample_weights=shares)


def _rows_of(job: Job) -> tuple[Ref, ...]:
    return job.inputs[:-1] if _weights_of(job) is None else job.inputs


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
