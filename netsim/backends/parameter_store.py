"""Storage of long values (models, states of optimisers): rows of one tensor per length.

A `Slab` holds the rows of one length, a `ParameterStore` the slabs of a run. A row belongs to the
`Cell` of its value and is free again when the last holder of that cell lets go of it: Python counts
these references, so a snapshot of a model costs nothing and the row of a value that nobody needs is
reused at once. Mixing the models of many nodes then is one gather over one tensor.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor

from netsim.backends.memory_pool import allocate
from netsim.backends.spilling import MOST_FILE_BYTES, Reserve, Spill

if TYPE_CHECKING:
    from netsim.learning.jobs import Job
    from netsim.learning.refs import Cell, Recipe, Ref

ALIGNMENT = 32
"""Rows start at multiples of this many entries: no vector instruction crosses two rows."""

FIRST_ROWS = 16
"""Rows that a slab grows by at least."""

ROWS_PER_NODE = 8
"""Long values per node at a time in gossip: models of several ages, momentum."""

RESERVED_BYTES = 1 << 34
"""Most address space that a slab on a CPU reserves before it is needed: growing would copy it."""

SPILLED_ROWS_PER_NODE = 64
"""The same of a slab in a file, which is not to grow: two files at a time would take more disk."""


def padded_length(length: int) -> int:
    """`length` rounded up to the alignment of rows."""
    return -(-length // ALIGNMENT) * ALIGNMENT


class Slab:
    """A growing table of rows of `length` entries, which are taken and released.

    Parameters
    ----------
    length : int
        Entries of one value.
    device : torch.device
    dtype : torch.dtype
    nodes : int
        How many nodes have such values; address space for their rows is reserved.
    spill : Spill or None
        In whose files the rows lie; None: in memory.

    Attributes
    ----------
    storage : torch.Tensor
        (number of rows, padded length); another tensor whenever the slab has grown. Row `ZERO` is
        zero.
    rows : torch.Tensor
        (number of rows, length), a view of it.
    live, peak : int
        Rows taken now, and most rows taken at a time so far.
    """

    ZERO = 0

    def __init__(
        self,
        length: int,
        device: torch.device,
        dtype: torch.dtype,
        nodes: int = 0,
        spill: Spill | None = None,
    ) -> None:
        self.length = length
        self._spill = spill
        self._reserve: Reserve | None = None
        self.storage = torch.zeros((1, padded_length(length)), device=device, dtype=dtype)
        self.rows = self.storage[:, :length]
        self._free: list[int] = []
        self.live = self.peak = 0
        row_bytes = self.storage.nbytes
        if spill is not None:
            self._grow(min(SPILLED_ROWS_PER_NODE * nodes, MOST_FILE_BYTES // row_bytes))
        elif device.type == "cpu":  # physical memory is taken only where it is written
            # where address space is limited, it grows when it must
            with suppress(torch.OutOfMemoryError):
                self._grow(min(ROWS_PER_NODE * nodes, RESERVED_BYTES // row_bytes))

    def take(self, count: int) -> list[int]:
        """Numbers of `count` free rows; the slab grows by half if it has too few."""
        if len(self._free) < count:
            self._grow(count - len(self._free))
        # One by one: a cell that is garbage-collected meanwhile appends its row.
        taken = [self._free.pop() for _ in range(count)]
        if self._reserve is not None and taken:
            self._reserve(max(taken) + 1)
        self.live += count
        self.peak = max(self.peak, self.live)
        return taken

    def release(self, row: int) -> None:
        """The value in `row` is not needed any more."""
        self._free.append(row)
        self.live -= 1

    def index(self, numbers: Sequence[int]) -> Tensor:
        """Row numbers as an index on the slab's device."""
        index = torch.tensor(numbers, dtype=torch.int64)
        return index.to(self.storage.device, non_blocking=True) if self.storage.is_cuda else index

    def write(self, cells: Sequence[Cell | None], values: Tensor) -> None:
        """Store a value for each cell that still exists.

        Parameters
        ----------
        cells : sequence of Cell or None
            n of them; None for a result that nobody holds any more.
        values : torch.Tensor
            (n, padded length)
        """
        held = [i for i, cell in enumerate(cells) if cell is not None]
        numbers = self.take(len(held)) if held else []
        if len(held) < len(cells):
            values = values[self.index(held)]
        if self.storage.is_cuda:
            self.storage.index_copy_(0, self.index(numbers), values)
        else:  # index_copy_ takes three times as long
            self.storage.numpy()[numbers] = values.numpy()
            self.note_access(len(numbers))
        for i, number in zip(held, numbers, strict=True):
            cell = cells[i]
            assert cell is not None
            cell.store_in(self, number)

    def note_access(self, count: int) -> None:
        """Note that so many rows were read or written: a file's pages may have to go."""
        if self._spill is not None:
            self._spill.note_access(count * self.storage[0].nbytes)

    def _grow(self, missing: int) -> None:
        old = len(self.storage)
        new = old + max(missing, old // 2, FIRST_ROWS)
        shape = new, self.storage.shape[1]
        if self._spill is None:
            storage = allocate(shape, self.storage.device, self.storage.dtype)
        else:
            storage, self._reserve = self._spill.table(*shape, self.storage.dtype)
            self._reserve(old)
        storage[:old] = self.storage
        self.storage, self.rows = storage, storage[:, : self.length]
        self._free[:0] = range(new - 1, old - 1, -1)  # low rows are handed out first


class Terms(NamedTuple):
    """Terms of some weighted sums.

    Attributes
    ----------
    slab : Slab
        Where the rows lie.
    rows : list of int
        Row numbers of all sums, one sum after another.
    weights : torch.Tensor
        (len(rows),) their weights.
    counts : list of int
        How many rows each sum has.
    """

    slab: Slab
    rows: list[int]
    weights: Tensor
    counts: list[int]


Adder = Callable[[Terms, Tensor, Sequence[int]], None]
"""Writes sums into those rows of a tensor (m, padded length), added in the order of their terms; a
weight of 0 keeps a row out."""


class ParameterStore:
    """The slabs of one run, one for each length.

    Parameters
    ----------
    device : torch.device
    dtype : torch.dtype
        Of every value.
    nodes : int
        Of the run.
    spill : Spill or None
        In whose files values lie; None: in memory.

    Attributes
    ----------
    adder : Adder or None
        Adds rows in place of PyTorch.
    """

    def __init__(
        self,
        device: torch.device,
        dtype: torch.dtype,
        nodes: int = 0,
        spill: Spill | None = None,
    ) -> None:
        self.device, self.dtype = device, dtype
        self._nodes, self.spill = nodes, spill
        self.adder: Adder | None = None
        self._slabs: dict[int, Slab] = {}

    def slab(self, length: int) -> Slab:
        """The slab for values of `length` entries."""
        if length not in self._slabs:
            self._slabs[length] = Slab(length, self.device, self.dtype, self._nodes, self.spill)
        return self._slabs[length]

    def at_once(self, length: int, most: int) -> int:
        """Return how many values a call may copy: `most`, or fewer where they are in files."""
        if self.spill is None:
            return most
        row_bytes = padded_length(length) * torch.empty((), dtype=self.dtype).element_size()
        return max(1, min(most, self.spill.rows_at_once // row_bytes))

    def rows_of(self, refs: Sequence[Ref]) -> tuple[Slab, list[int]]:
        """The slab of whole values of one length, and their row numbers in it.

        Values that are not in a slab yet are moved there.
        """
        cells = [ref.cell for ref in refs]
        self.settle(cells)
        return self.slab(refs[0].num_values), [cell.row for cell in cells]

    def settle(self, cells: Sequence[Cell]) -> None:
        """Move values into slabs; those that were left for later are computed now."""
        deferred: dict[Hashable, dict[Cell, Recipe]] = {}
        for cell in cells:
            if cell.slab is None:
                recipe = cell.recipe
                if recipe is None:
                    self.adopt(cell)
                else:
                    deferred.setdefault(recipe.kind, {})[cell] = recipe
        for recipes in deferred.values():
            next(iter(recipes.values())).make(tuple(recipes))

    def adopt(self, cell: Cell) -> None:
        """Move a computed value into the slab of its length."""
        value = cell.materialise()
        slab = self.slab(value.numel())
        (number,) = slab.take(1)
        slab.rows[number] = value.reshape(-1)
        slab.note_access(1)
        cell.store_in(slab, number)

    def spill_outputs(self, jobs: Sequence[Job[Any]]) -> None:
        """Move models into files that jobs have left in memory of their own."""
        if self.spill is None:
            return
        for job in jobs:
            for cell in job.outputs:
                if cell is not None and cell.architecture is not None:
                    self.adopt_model(cell)

    def adopt_model(self, cell: Cell) -> None:
        """Move a model into files, unless it is left for later or there is no spilling."""
        if self.spill is not None and cell.slab is None and cell.recipe is None:
            self.adopt(cell)

    def gather(self, refs: Sequence[Ref], out: Tensor) -> None:
        """Copy values of one length into rows.

        Parameters
        ----------
        refs : sequence of Ref
            n of them: whole values, or ranges of as many columns each.
        out : torch.Tensor
            (n, padded length), contiguous.
        """
        if any(r.ranges is not None for r in refs):
            for row, ref in zip(out, refs, strict=True):
                row[: ref.num_values] = ref.tensor()
            return
        slab, numbers = self.rows_of(refs)
        torch.index_select(slab.storage, 0, slab.index(numbers), out=out)
        slab.note_access(len(numbers))

    @property
    def slabs(self) -> list[Slab]:
        """All slabs."""
        return list(self._slabs.values())

    @property
    def peak_bytes(self) -> int:
        """Most memory that the slabs' values took, as if all slabs had peaked at once."""
        size = torch.empty((), dtype=self.dtype).element_size()
        return sum(s.peak * padded_length(s.length) * size for s in self._slabs.values())
