"""Memory of slabs and workspaces, kept from run to run.

On a GPU torch keeps what is freed for whoever asks next. On a CPU it goes back to the system, and
the next run pays for every page that it touches first. And rows that are read here and there need
an address translation a page: with large pages, of 2 MiB, hardly any is ever missed.
"""

from __future__ import annotations

import math
import mmap
import weakref

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

LARGE_PAGE_BYTES = 1 << 21

LEAST_BYTES = 1 << 18
"""Less than this is asked of torch."""

Block = NDArray[np.uint8]

_free: list[Block] = []


def room(shape: tuple[int, ...], device: torch.device, dtype: torch.dtype) -> Tensor:
    """An uninitialised tensor; on a CPU it takes memory only where it is written."""
    size = math.prod(shape) * dtype.itemsize
    if device.type != "cpu" or size < LEAST_BYTES:
        return torch.empty(shape, device=device, dtype=dtype)
    block = _block(size)
    used = block[:size]
    # The tensor and whoever shares its storage hold on to this very array.
    weakref.finalize(used, _free.append, block).atexit = False
    return torch.from_numpy(used).view(dtype).view(shape)


def _block(size: int) -> Block:
    """The smallest block that nobody uses, if one is about as large; a new one otherwise."""
    fitting = [i for i, block in enumerate(_free) if size <= block.nbytes <= 2 * size]
    if fitting:
        return _free.pop(min(fitting, key=lambda i: _free[i].nbytes))
    _free.clear()  # what is played now is of another size
    return _new(size)


def _new(size: int) -> Block:
    if not hasattr(mmap, "MADV_HUGEPAGE"):  # no Linux: pages are as large as they are
        return np.empty(size, dtype=np.uint8)
    anonymous = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
    memory = mmap.mmap(-1, size + LARGE_PAGE_BYTES, flags=anonymous)
    memory.madvise(mmap.MADV_HUGEPAGE)
    block = np.frombuffer(memory, dtype=np.uint8)
    start = -block.ctypes.data % LARGE_PAGE_BYTES  # what lies before fills no large page
    return block[start : start + size]
