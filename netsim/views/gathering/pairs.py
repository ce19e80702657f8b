"""Pairs of nodes, senders and receivers: counts and means, in blocks where there are many."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

_CELLS = 200
"""A heat map has no more rows: a matrix of all pairs would not fit into memory, nor a page."""


def block_of(nodes: int) -> int:
    """Nodes a cell, side by side by their ids."""
    return max(1, math.ceil(nodes / _CELLS))


def sums(
    row: NDArray[Any],
    column: NDArray[Any],
    nodes: int,
    block: int,
    values: NDArray[Any] | None = None,
) -> NDArray[np.float64]:
    """Sums of values, or how many there are, by pair of blocks.

    Parameters
    ----------
    row, column : (R,) int
        Ids of nodes.
    values : (R,) array, optional
        None: each counts one.

    Returns
    -------
    (M, M) float64
    """
    m = math.ceil(nodes / block)
    cell = (row // block).astype(np.int64) * m + column // block
    found = np.bincount(cell, values, m * m)
    return np.asarray(found, dtype=np.float64).reshape(m, m)


def tidy(
    row: str, column: str, block: int, **cells: NDArray[np.float64]
) -> dict[str, NDArray[Any]]:
    """Matrices as columns of one table, one row per cell that any of them has a number in.

    Parameters
    ----------
    row, column : str
        Names of the columns with the ids of the blocks' first nodes.
    **cells : (M, M) array
        By column; NaN where there is none.
    """
    known = np.any([np.isfinite(one) for one in cells.values()], axis=0)
    i, j = np.nonzero(known)
    return {row: i * block, column: j * block, **{name: one[i, j] for name, one in cells.items()}}
