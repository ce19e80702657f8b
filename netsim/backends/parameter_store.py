"""Slabs: the rows of many values of one length in one tensor.

A computed value that is long (a model, an optimiser's state) occupies one row, its slot. The slot
belongs to the value's `Cell` and is free again when the last holder of that cell lets go of it:
Python counts these references, so a snapshot costs nothing and a dead slot is reused at once.
Merges of many nodes then are one gather over one tensor.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from netsim.backends.memory_pool import room

if TYPE_CHECKING:
    from netsim.learning.refs import Cell, Recipe, Ref

ALIGNMENT = 32
"""Rows start at multiples of so many entries: no vector instruction crosses two rows."""

FIRST_SLOTS = 16

SLOTS_PER_NODE = 5
"""Long values that are alive at once, a node, in gossip: models of several ages, momentum."""

RESERVED_BYTES = 1 << 31
"""Address space that a slab on a CPU takes at most before it is needed."""


def padded(length: int) -> int:
    """`length` rounded up to the alignment of rows."""
    return -(-length // ALIGNMENT) * ALIGNMENT


class Slab:
    """Rows of `length` entries, which come and go.

    Parameters
    ----------
    length : int
        Entries of one value.
    device, dtype
        Of the tensor.
    nodes : int
        How many nodes have such values: room for them is reserved.

    Attributes
    ----------
    storage : torch.Tensor
        (slots, padded length); another tensor whenever the slab has grown. Row `ZERO` is zero.
    rows : torch.Tensor
        (slots, length), a view of it.
    live, peak : int
        Slots taken now, and at most so far.
    """

    ZERO = 0

    def __init__(
        self, length: int, device: torch.device, dtype: torch.dtype, nodes: int = 0
    ) -> None:
        self.length = length
        self.storage = torch.zeros((1, padded(length)), device=device, dtype=dtype)
        self.rows = self.storage[:, :length]
        self._free: list[int] = []
        self.live = self.peak = 0
        if device.type == "cpu":  # it takes memory only where it is written
            row_bytes = self.storage.nbytes
            self._grow(min(SLOTS_PER_NODE * nodes, RESERVED_BYTES // row_bytes))

    def take(self, count: int) -> list[int]:
        """`count` free slots; the slab grows by half if it has too few."""
        if len(self._free) < count:
            self._grow(count - len(self._free))
        # One by one: a cell that dies meanwhile, collected as garbage, adds its slot at the end.
        taken = [self._free.pop() for _ in range(count)]
        self.live += count
        self.peak = max(self.peak, self.live)
        return taken

    def release(self, slot: int) -> None:
        """The value in `slot` is dead."""
        self._free.append(slot)
        self.live -= 1

    def index(self, slots: Sequence[int]) -> Tensor:
        """Slots as an index on the slab's device."""
        return torch.tensor(slots, dtype=torch.int64, device=self.storage.device)

    def write(self, cells: Sequence[Cell | None], rows: Tensor) -> None:
        """Give the cells that are still held the values (n, padded length), one a cell."""
        held = [i for i, cell in enumerate(cells) if cell is not None]
        slots = self.take(len(held)) if held else []
        if len(held) < len(cells):
            rows = rows[held]
        if self.storage.is_cuda:
            self.storage.index_copy_(0, self.index(slots), rows)
        else:  # index_copy_ takes three times as long
            self.storage.numpy()[slots] = rows.numpy()
        for i, slot in zip(held, slots, strict=True):
            cell = cells[i]
            assert cell is not None
            cell.lie_in(self, slot)

    def _grow(self, missing: int) -> None:
        old = len(self.storage)
        new = old + max(missing, old // 2, FIRST_SLOTS)
        shape = new, self.storage.shape[1]
        storage = room(shape, self.storage.device, self.storage.dtype)
        storage[:old] = self.storage
        self.storage, self.rows = storage, storage[:, : self.length]
        self._free[:0] = range(new - 1, old - 1, -1)  # low slots are handed out first


class Memory:
    """The slabs of one run, one for each length.

    Parameters
    ----------
    device, dtype
        Of every value.
    nodes : int
        Of the run.
    """

    def __init__(self, device: torch.device, dtype: torch.dtype, nodes: int = 0) -> None:
        self.device, self.dtype = device, dtype
        self._nodes = nodes
        self._slabs: dict[int, Slab] = {}

    def slab(self, length: int) -> Slab:
        """The slab for values of `length` entries."""
        if length not in self._slabs:
            self._slabs[length] = Slab(length, self.device, self.dtype, self._nodes)
        return self._slabs[length]

    def slots(self, refs: Sequence[Ref]) -> tuple[Slab, list[int]]:
        """Where whole values of one length lie; those that lie elsewhere are moved in."""
        cells = [ref.cell for ref in refs]
        self.settle(cells)
        return self.slab(refs[0].num_values), [cell.slot for cell in cells]

    def settle(self, cells: Sequence[Cell]) -> None:
        """Give computed values that lie in no slab a place in one."""
        left: dict[Hashable, dict[Cell, Recipe]] = {}
        for cell in cells:
            if cell.slab is None:
                recipe = cell.recipe
                if recipe is None:
                    self.adopt(cell)
                else:
                    left.setdefault(recipe.kind, {})[cell] = recipe
        for recipes in left.values():
            next(iter(recipes.values())).make(tuple(recipes))

    def adopt(self, cell: Cell) -> None:
        """Move a computed value into the slab of its length."""
        value = cell.value
        assert value is not None
        slab = self.slab(value.numel())
        (slot,) = slab.take(1)
        slab.rows[slot] = value.reshape(-1)
        cell.lie_in(slab, slot)

    def gather(self, refs: Sequence[Ref], out: Tensor) -> None:
        """Copy values of one length into rows.

        Parameters
        ----------
        refs : sequence of Ref
            n of them: whole values, or like ranges of columns.
        out : torch.Tensor
            (n, padded length), contiguous.
        """
        if any(r.columns is not None for r in refs):
            for row, ref in zip(out, refs, strict=True):
                row[: ref.num_values] = ref.tensor()
            return
        slab, slots = self.slots(refs)
        torch.index_select(slab.storage, 0, slab.index(slots), out=out)

    @property
    def peak_bytes(self) -> int:
        """What the slabs held at most, as if all had peaked at once."""
        size = torch.empty((), dtype=self.dtype).element_size()
        return sum(s.peak * padded(s.length) * size for s in self._slabs.values())
