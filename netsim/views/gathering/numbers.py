"""Numbers of a page: short ones, since each digit is stored."""

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray


def short(values: ArrayLike, digits: int = 4) -> list[Any]:
    """Numbers for JSON, rounded to so many significant digits; None where they are not finite.

    Parameters
    ----------
    values : array or sequence
        Of any shape; lists in lists come of more than one axis.
    digits : int
        Whole numbers keep all of theirs.
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


def evenly(count: int, most: int) -> NDArray[np.int64]:
    """At most so many of `count` places, evenly spread, first and last among them.

    Parameters
    ----------
    count, most : int
    """
    if count <= most:
        return np.arange(count)
    return np.unique(np.round(np.linspace(0, count - 1, most)).astype(np.int64))
