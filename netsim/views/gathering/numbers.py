"""Numbers as people read them, and as a page stores them: short, since each digit is stored."""

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from netsim.views import Row, Table


def rounded_list(values: ArrayLike, digits: int = 4) -> list[Any]:
    """Numbers for JSON, rounded to so many significant digits; None where they are not finite.

    An array of several axes becomes lists in lists; whole numbers keep all of their digits.
    """
    array = np.asarray(values)
    if array.dtype.kind in "iub":
        return array.astype(np.int64).tolist()  # type: ignore[no-any-return]
    array = array.astype(np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        size = np.floor(np.log10(np.abs(array)))
    size = np.where(np.isfinite(size), size, 0.0)
    scale = 10.0 ** np.clip(digits - 1 - size, -15, 15)
    rounded = np.where(scale >= 1, np.round(array * scale) / scale, np.round(array))
    return _plain(rounded.tolist())  # type: ignore[no-any-return]


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if not math.isfinite(value):
        return None
    return int(value) if value.is_integer() and abs(value) < 1e15 else value


def tidy(rows: Sequence[Row]) -> Table:
    """Rows that have the same cells as a table, one column per name; at least one."""
    return {name: np.array([row[name] for row in rows]) for name in rows[0]}


def rows_of(table: Table) -> list[Row]:
    """The rows of a table, their cells as Python's own numbers and texts."""
    cells = zip(*(column.tolist() for column in table.values()), strict=True)
    return [dict(zip(table, row, strict=True)) for row in cells]


def evenly(count: int, most: int) -> NDArray[np.int64]:
    """At most so many of `count` places, evenly spread, first and last among them."""
    if count <= most:
        return np.arange(count)
    return np.unique(np.round(np.linspace(0, count - 1, most)).astype(np.int64))


def cell_text(value: Any) -> str:
    """A cell of a table: numbers to four digits, `-` where there is none."""
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return "-"
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 10_000 else f"{value:.4g}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def span(counts: Iterable[int]) -> str:
    """Counts in words: `2 to 5`, or what all of them are."""
    found = sorted(set(counts))
    return " to ".join(map(str, dict.fromkeys((*found[:1], *found[-1:]))))


def seconds(time_s: float) -> str:
    """A span of time to three digits, with a unit of its size."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6), ("ns", 1e-9)):
        if abs(time_s) >= size:
            return f"{time_s / size:.3g} {unit}" if abs(time_s) < 1000 else f"{time_s:,.0f} s"
    return f"{time_s:.3g} s"
