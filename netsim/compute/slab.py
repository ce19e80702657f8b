"""Slabs: the rows of many values of one length in one tensor.

A computed value that is long (a model, an optimiser's state) occupies one row, its slot. The slot
belongs to the value's `Cell` and is free again when the last holder of that cell lets go of it:
Python counts these references, so a snapshot costs nothing and a dead slot is reused at once.
Merges of many nodes then are one gather over one tensor.
"""

from __future__ import annotations

import torch
from torch import Tensor

ALIGNMENT = 32
"""Rows start at multiples of so many entries: no vector instruction crosses two rows."""

FIRST_SLOTS = 16


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

    Attributes
    ----------
    rows : torch.Tensor
        (slots, length), a view of aligned rows; another tensor whenever the slab has grown.
    live, peak : int
        Slots taken now, and at most so far.
    """

    def __init__(self, length: int, device: torch.device, dtype: torch.dtype) -> None:
        self.length = length
        self._storage = torch.empty((0, padded(length)), device=device, dtype=dtype)
        self.rows = self._storage[:, :length]
        self._free: list[int] = []
        self.live = self.peak = 0

    def take(self, count: int) -> list[int]:
        """`count` free slots; the slab grows by half if it has too few."""
        if len(self._free) < count:
            self._grow(count - len(self._free))
        taken = self._free[-count:]
        del self._free[-count:]
        self.live += count
        self.peak = max(self.peak, self.live)
        return taken

    def release(self, slot: int) -> None:
        """The value in `slot` is dead."""
        self._free.append(slot)
        self.live -= 1

    def _grow(self, missing: int) -> None:
        old = len(self._storage)
        new = old + max(missing, old // 2, FIRST_SLOTS)
        storage = self._storage.new_empty((new, self._storage.shape[1]))
        storage[:old] = self._storage
        self._storage, self.rows = storage, storage[:, : self.length]
        self._free[:0] = range(new - 1, old - 1, -1)  # low slots are handed out first


class Memory:
    """The slabs of one run, one for each length.

    Parameters
    ----------
    device, dtype
        Of every value.
    """

    def __init__(self, device: torch.device, dtype: torch.dtype) -> None:
        self.device, self.dtype = device, dtype
        self._slabs: dict[int, Slab] = {}

    def slab(self, length: int) -> Slab:
        """The slab for values of `length` entries."""
        if length not in self._slabs:
            self._slabs[length] = Slab(length, self.device, self.dtype)
        return self._slabs[length]

    @property
    def peak_bytes(self) -> int:
        """What the slabs held at most, as if all had peaked at once."""
        size = torch.empty((), dtype=self.dtype).element_size()
        return sum(s.peak * padded(s.length) * size for s in self._slabs.values())
