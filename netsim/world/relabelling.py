"""Samples under other labels: copies of them at the end of the data set.

So nodes that have the same sample can each have a label of their own for it, and whoever reads
samples goes by row numbers alone.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.int64]


class Copies(NamedTuple):
    """Samples that are added.

    Attributes
    ----------
    rows : list of int64 arrays
        For each of those wanted, row numbers at which its samples have its labels.
    sources : (m,) int64
        Row numbers of the samples to copy; the copies follow the n rows of the data set.
    labels : (m,) int64
        Of the copies.
    """

    rows: list[Rows]
    sources: Rows
    labels: Rows


def with_labels(y: Rows, num_classes: int, wanted: Sequence[tuple[Rows, Rows]]) -> Copies:
    """Return samples with the wanted labels; each is copied once for each other label.

    Parameters
    ----------
    y : (n,) int64
        Labels of the data set.
    num_classes : int
    wanted : sequence of (rows, labels)
        Row numbers (k,) int64, and (n,) int64 the labels that they are to have.

    Returns
    -------
    Copies
    """
    codes = [
        np.where(labels[rows] == y[rows], -1, rows * num_classes + labels[rows])
        for rows, labels in wanted
    ]
    every = np.unique(np.concatenate(codes)) if codes else np.zeros(0, dtype=np.int64)
    every = every[every >= 0]
    found = [
        rows
        if (code < 0).all()
        else np.where(code < 0, rows, len(y) + np.searchsorted(every, code))
        for (rows, _), code in zip(wanted, codes, strict=True)
    ]
    return Copies(found, every // num_classes, every % num_classes)
