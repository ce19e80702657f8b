"""A pool of large memory blocks for slabs and workspaces, reused from run to run.

On a GPU torch keeps freed memory for the next tensor. On a CPU freed memory goes back to the
system, and the next run pays a page fault for each page that it writes first. Large pages (2 MiB)
also save address translations where rows are read in random order.
"""

from __future__ import annotations

import math
import mmap
import threading
import weakref

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

LARGE_PAGE_BYTES = 1 << 21

SMALLEST_BLOCK_BYTES = 1 << 18
"""Tensors that are smaller are allocated by torch."""

Block = NDArray[np.uint8]

_free: list[Block] = []

_taking = threading.Lock()
"""Held while a block is chosen; one that comes back meanwhile is put behind the others."""


def allocate(shape: tuple[int, ...], device: torch.device, dtype: torch.dtype) -> Tensor:
    """An uninitialised tensor, from the pool if it is large and on a CPU.

    Its memory goes back to the pool when no tensor shares it any more. A new block takes physical
    memory only where it is written.

    Parameters
    ----------
    shape : tuple of int
    device : torch.device
    dtype : torch.dtype

    Returns
    -------
    torch.Tensor

    Raises
    ------
    torch.OutOfMemoryError
        If the system does not give so much memory.
    """
    size = math.prod(shape) * dtype.itemsize
    if device.type != "cpu" or size < SMALLEST_BLOCK_BYTES:
        return torch.empty(shape, device=device, dtype=dtype)
    block = _free_block(size)
    used = block[:size]
    # The tensor, and each view of it, holds a reference to this very array.
    weakref.finalize(used, _free.append, block).atexit = False
    return torch.from_numpy(used).view(dtype).view(shape)


def _free_block(size: int) -> Block:
    """The smallest free block of `size` to twice as many bytes, or a new one.

    Where none fits, the run needs other sizes than the one before: all free blocks are given up.
    """
    with _taking:
        fitting = [i for i, block in enumerate(_free) if size <= block.nbytes <= 2 * size]
        if fitting:
            return _free.pop(min(fitting, key=lambda i: _free[i].nbytes))
        _free.clear()
    return _new_block(size)


def _new_block(size: int) -> Block:
    """A block of large pages where the system has them."""
    if not hasattr(mmap, "MADV_HUGEPAGE"):  # not Linux
        return np.empty(size, dtype=np.uint8)
    anonymous = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | getattr(mmap, "MAP_NORESERVE", 0)
    try:
        memory = mmap.mmap(-1, size + LARGE_PAGE_BYTES, flags=anonymous)
    except (OSError, OverflowError) as error:
        raise torch.OutOfMemoryError(f"can't allocate memory of {size:,} bytes: {error}") from error
    memory.madvise(mmap.MADV_HUGEPAGE)
    block = np.frombuffer(memory, dtype=np.uint8)
    start = -block.ctypes.data % LARGE_PAGE_BYTES  # large pages start at multiples of their size
    return block[start : start + size]
