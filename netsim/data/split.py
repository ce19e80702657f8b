"""Stratified choices of rows, by a seed of the data set's own.

The hold-out of a pooled data set must not change with the scenario's seed: runs over several seeds
are then measured on the same test rows. Each class has its own stream, keyed by its number.
"""

import numpy as np
from numpy.typing import NDArray

from netsim.errors import DataError
from netsim.rng import Streams

Rows = NDArray[np.int64]


def quotas(sizes: Rows, total: int) -> Rows:
    """Share `total` among groups in proportion to their sizes, by largest remainder.

    Parameters
    ----------
    sizes : (C,) int64
        Rows of each class.
    total : int
        How many to take in all, at most `sizes.sum()`.

    Returns
    -------
    (C,) int64
        Sums to `total`; no entry exceeds its size. Ties go to the lower class number.
    """
    exact = sizes * (total / max(int(sizes.sum()), 1))
    share: Rows = np.minimum(np.floor(exact).astype(np.int64), sizes)
    order = np.argsort(share - exact, kind="stable")  # largest remainder first
    open_classes = order[share[order] < sizes[order]]
    share[open_classes[: total - int(share.sum())]] += 1
    return share


def choose_stratified(
    labels: Rows, total: int, seed: int, purpose: str, twins: Rows | None = None
) -> Rows:
    """Choose `total` rows so that every class keeps its share.

    Parameters
    ----------
    labels : (n,) int64
    total : int
    seed : int
        The data set's `split_seed`.
    purpose : str
        Names the choice; two purposes give independent choices.
    twins : (n,) int64, optional
        Rows of one class with the same number are chosen all or none (copies of one sample, which
        must not sit on both sides of a hold-out).

    Returns
    -------
    (total,) int64
        Row numbers in ascending order. With `twins` it may be shorter by the size of a group of
        copies that would not fit.
    """
    streams = Streams(seed)
    classes, sizes = np.unique(labels, return_counts=True)
    chosen: list[Rows] = []
    for label, take in zip(classes, quotas(sizes.astype(np.int64), total), strict=True):
        rows = np.flatnonzero(labels == label)
        rows = rows[streams.permutation(purpose, int(label), n=len(rows))]
        if twins is None:
            chosen.append(rows[:take])
            continue
        left = int(take)
        for group in dict.fromkeys(twins[rows].tolist()):
            members = rows[twins[rows] == group]
            if len(members) <= left:
                chosen.append(members)
                left -= len(members)
    return np.sort(np.concatenate(chosen)) if chosen else np.zeros(0, dtype=np.int64)


def hold_out(
    labels: Rows, test_fraction: float, seed: int, twins: Rows | None = None
) -> tuple[Rows, Rows]:
    """Split a pool of rows into training and test rows, class by class.

    Parameters
    ----------
    labels : (n,) int64
    test_fraction : float
    seed : int
    twins : (n,) int64, optional
        See `choose_stratified`.

    Returns
    -------
    train, test : int64 arrays
        Ascending and disjoint; together all rows.
    """
    test = choose_stratified(
        labels, round(test_fraction * len(labels)), seed, "data/hold-out", twins
    )
    return np.setdiff1d(np.arange(len(labels)), test, assume_unique=True), test


def limit_rows(labels: Rows, rows: Rows, limit: int | None, seed: int, key: str, name: str) -> Rows:
    """Choose at most `limit` of `rows`, stratified by class; all of them without a limit.

    Parameters
    ----------
    labels : (n,) int64
        Labels of all rows.
    rows : int64 array
        The rows to choose from.
    limit : int or None
    seed : int
    key : str
        The scenario key that holds the limit.
    name : str
        The data set's name, for the message.

    Raises
    ------
    DataError
        If the limit asks for more rows than there are.
    """
    if limit is None:
        return rows
    if limit > len(rows):
        raise DataError(
            f"[data] {key} = {limit}: {name} has {len(rows)} such rows; "
            f"ask for at most {len(rows)}, or leave {key} out"
        )
    return rows[choose_stratified(labels[rows], limit, seed, f"data/{key}")]


def equally_many(labels: Rows, each: int, seed: int, name: str) -> Rows:
    """Choose so many rows of every class at random.

    Parameters
    ----------
    labels : (n,) int64
    each : int
    seed : int
    name : str
        The file's name, for the message.

    Returns
    -------
    int64 array
        Row numbers in ascending order.

    Raises
    ------
    DataError
        If a class has fewer rows.
    """
    classes, sizes = np.unique(labels, return_counts=True)
    if sizes.min() < each:
        few = int(sizes.argmin())
        raise DataError(
            f"{name} has {sizes[few]} rows of class {classes[few]}; {each} of each class are needed"
        )
    streams = Streams(seed)
    found = []
    for label in classes:
        rows = np.flatnonzero(labels == label)
        order = streams.permutation("data/equally many", int(label), n=len(rows))
        found.append(rows[order[:each]])
    return np.sort(np.concatenate(found))
