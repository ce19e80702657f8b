"""Columns of rows: a part of a model is one or more ranges of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor

Columns = tuple[tuple[int, int], ...]
"""Ranges [start, stop), ascending, none of which touch."""


def merge_ranges(found: Iterable[tuple[int, int]]) -> Columns:
    """Ascending ranges, with those that touch merged."""
    merged: list[tuple[int, int]] = []
    for start, stop in found:
        if merged and merged[-1][1] == start:
            merged[-1] = merged[-1][0], stop
        else:
            merged.append((start, stop))
    return tuple(merged)


def columns_before(columns: Columns, stop: int) -> Columns:
    """Select the columns that lie before column `stop`."""
    return tuple((a, min(b, stop)) for a, b in columns if a < stop)


def number_of(columns: Columns) -> int:
    """Number of columns."""
    return sum([stop - start for start, stop in columns])


def take(rows: Tensor, columns: Columns) -> Tensor:
    """The values (..., n) in some columns of rows (..., D); of one range a view."""
    if len(columns) == 1:
        ((start, stop),) = columns
        return rows[..., start:stop]
    found, at = rows.new_empty((*rows.shape[:-1], number_of(columns))), 0
    for start, stop in columns:
        found[..., at : at + stop - start] = rows[..., start:stop]
        at += stop - start
    return found


def put(rows: Tensor, columns: Columns, values: Tensor) -> None:
    """Write values to some columns of rows.

    Parameters
    ----------
    rows : torch.Tensor
        (..., D), changed in place.
    columns : Columns
        n of them.
    values : torch.Tensor
        (..., n)
    """
    at = 0
    for start, stop in columns:
        rows[..., start:stop] = values[..., at : at + stop - start]
        at += stop - start
