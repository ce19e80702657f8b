"""From numbers of rows to rows, and test rows in the proportions of training rows (DPFL's rule)."""

import numpy as np
from numpy.typing import NDArray

from netsim.data.partitions import Rows
from netsim.rng import Streams


def require_ordered(train_min: int, train_max: int) -> None:
    """Refuse bounds on the number of training samples that leave none between them."""
    if train_min > train_max:
        raise ValueError(f"train_min = {train_min} is over train_max = {train_max}")


def in_proportion(counts: NDArray[np.int64], sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Test rows of each node and class, (nodes, C), in the proportions of `counts`.

    Rounded; what rounding leaves over goes one each to the holders of the class.

    Parameters
    ----------
    counts : (nodes, C) int64
        Training rows.
    sizes : (C,) int64
        Test rows of each class, all of which are given out if the class has a holder.
    """
    result = np.zeros_like(counts)
    for label, size in enumerate(sizes):
        holders = np.flatnonzero(counts[:, label])
        if len(holders) == 0:
            continue
        held = counts[holders, label]
        rounded = np.rint(held * (size / held.sum())).astype(np.int64)
        ends = np.minimum(np.cumsum(rounded), size)  # capped: rounding up may ask for too many
        share = np.diff(ends, prepend=0)
        share[: size - ends[-1]] += 1  # at most half the holders: each rounds by at most 1/2
        result[holders, label] = share
    return result


def top_up(counts: NDArray[np.int64], least: int, wanted: NDArray[np.int64] | None = None) -> None:
    """Fill nodes up to `least` rows, in place: one row at a time from the node that has most.

    The row is of the class that the giver has most of; with `wanted`, of a class that the taker
    holds there, if any giver can spare one. Ties go to the lower number.

    Parameters
    ----------
    counts : (nodes, C) int64
        Rows of each node and class; there are `least` a node or more in all.
    least : int
    wanted : (nodes, C) int64, optional
        Rows of another part, whose classes are given first.
    """
    totals = counts.sum(axis=1)
    for taker in np.flatnonzero(totals < least).tolist():
        while totals[taker] < least:
            can_give = np.where(totals > least, totals, 0)
            offered = counts * (can_give > 0)[:, None]
            if wanted is not None and offered[:, wanted[taker] > 0].any():
                offered = offered * (wanted[taker] > 0)
                can_give = can_give * offered.any(axis=1)
            giver = int(np.argmax(can_give))
            label = int(np.argmax(offered[giver]))
            counts[giver, label] -= 1
            counts[taker, label] += 1
            totals[giver] -= 1
            totals[taker] += 1


def hand_out(
    labels: Rows, rows: Rows, counts: NDArray[np.int64], streams: Streams, purpose: str
) -> list[Rows]:
    """Turn counts (nodes, C) into rows, each class in a random order of its own.

    Parameters
    ----------
    labels : (n,) int64
        Class of every row of the data set.
    rows : int64 array
        The rows to hand out; what the counts leave over stays unused.
    counts : (nodes, C) int64
        At most as many of each class as there are.
    streams : Streams
    purpose : str
        Names the draw.
    """
    parts: list[list[Rows]] = [[] for _ in counts]
    for label in range(counts.shape[1]):
        own = rows[labels[rows] == label]
        own = own[streams.permutation(purpose, label, n=len(own))]
        pieces = np.split(own, np.cumsum(counts[:, label]))  # the last piece is what is left
        for node, piece in enumerate(pieces[:-1]):
            parts[node].append(piece)
    return [np.concatenate(pieces) for pieces in parts]
