"""Columns of rows: a part of a model is one or more ranges of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor

Columns = tuple[tuple[int, int], ...]
"""Ranges [start, stop), ascending, none of which touch."""


def merge_ranges(found: Iterable[tuple[int, int]]) -> Columns:
    """Merge those of ascending ranges that touch or overlap."""
    merged: list[tuple[int, int]] = []
    for start, stop in found:
        if merged and merged[-1][1] >= start:
            merged[-1] = merged[-1][0], max(merged[-1][1], stop)
        else:
            merged.append((start, stop))
    return tuple(merged)


def union(one: Columns | None, other: Columns | None) -> Columns | None:
    """Select the columns that are in either; None stands for all."""
    if one is None or other is None:
        return None
    return merge_ranges(sorted((*one, *other)))


def places_in(held: Columns, columns: Columns) -> Columns:
    """Find the places of some columns in a row that has only others, and these among them.

    Parameters
    ----------
    held : Columns
        Those of the row, in its order.
    columns : Columns
        Some of them.
    """
    found, at = list[tuple[int, int]](), 0
    for start, stop in held:
        inside = [(max(a, start), min(b, stop)) for a, b in columns if a < stop and start < b]
        found += [(at + a - start, at + b - start) for a, b in inside]
        at += stop - start
    return merge_ranges(found)


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
