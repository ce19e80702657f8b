"""Matrices of lanes at aligned addresses.

A CPU's matrix product takes another path, with other bits, where a matrix does not start at an
aligned address; a lane's results would depend on its position among the others.
"""

from __future__ import annotations

from torch import Tensor

ALIGNMENT_BYTES = 64
"""Addresses at which a lane's matrices start."""


def aligned_empty(like: Tensor, columns: int) -> Tensor:
    """Uninitialised matrices (W, rows of `like`, columns), each at an aligned address."""
    width, rows = like.shape[:2]
    size, unit = rows * columns, ALIGNMENT_BYTES // like.element_size()
    if size % unit == 0:
        return like.new_empty((width, rows, columns))
    memory = like.new_empty((width, -(-size // unit) * unit))
    return memory[:, :size].view(width, rows, columns)


def is_aligned(x: Tensor) -> bool:
    """Return whether contiguous matrices (W, rows, columns) are all at aligned addresses."""
    return x.shape[1] * x.shape[2] * x.element_size() % ALIGNMENT_BYTES == 0


def align_rows(x: Tensor) -> Tensor:
    """Matrices (W, rows, columns) at aligned addresses; copied only where they are not."""
    if x.is_cuda or (is_aligned(x) and x.is_contiguous()):
        return x
    return aligned_empty(x, x.shape[2]).copy_(x)
