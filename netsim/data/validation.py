"""Validation samples, cut from training samples so that no node trains on any of them."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from netsim.data.partitions import Shard
from netsim.errors import ScenarioError
from netsim.rng import Streams

Rows = NDArray[np.int64]


def cut_validation(
    parts: Sequence[Shard], fraction: float, streams: Streams
) -> tuple[list[tuple[Rows, Rows]], Rows]:
    """Split every node's training rows into training and validation rows.

    Where no two nodes share a row, each gives up its own share (at least one row). Where nodes
    share rows, as in KD-PDFL, that would let one node train on what another validates with; then
    the share is cut from the pool of all rows given out, and a node's validation rows are those
    of its rows that fell to it.

    Parameters
    ----------
    parts : sequence of Shard
        One per node that holds data.
    fraction : float
        Share of the training rows, in [0, 1).
    streams : Streams

    Returns
    -------
    list of (train, validation)
        Row numbers per node, ascending.
    common : int64 array
        All validation rows, ascending.

    Raises
    ------
    ScenarioError
        If a node would keep no training row.
    """
    pool, holders = np.unique(np.concatenate([p.train for p in parts]), return_counts=True)
    if fraction == 0.0:
        return [(np.sort(p.train), np.zeros(0, dtype=np.int64)) for p in parts], pool[:0]
    if holders.max() > 1:
        order = pool[streams.permutation("validation", n=len(pool))]
        held_out = np.sort(order[: max(1, round(len(pool) * fraction))])
    else:
        held_out = np.sort(
            np.concatenate(
                [_share(p.train, fraction, streams, node) for node, p in enumerate(parts)]
            )
        )
    split = []
    for node, part in enumerate(parts):
        held = np.isin(part.train, held_out)
        if held.all():
            raise ScenarioError(
                f"[data] validation = {fraction}: data-holding node {node} has "
                f"{len(part.train)} training samples and would keep none"
            )
        split.append((np.sort(part.train[~held]), np.sort(part.train[held])))
    return split, held_out


def cut_later(
    parts: Sequence[Shard], before: Rows, held_out: Rows, fraction: float, streams: Streams
) -> list[tuple[Rows, Rows]]:
    """Split training rows that nodes get in mid-run, where data drift.

    What was set aside at the start stays so, whoever has it, and what was not is trained on; of
    rows that nobody had the same share is set aside.

    Parameters
    ----------
    parts : sequence of Shard
        What nodes get.
    before : int64 array
        All training rows that nodes had at the start.
    held_out : int64 array
        Those of them that were set aside.
    fraction : float
        Share that is set aside, in [0, 1).
    streams : Streams

    Returns
    -------
    list of (train, validation)
        Row numbers per part, ascending.

    Raises
    ------
    ScenarioError
        If a part would keep no training row.
    """
    if fraction == 0.0 or not parts:
        return [(np.sort(p.train), np.zeros(0, dtype=np.int64)) for p in parts]
    fresh = np.setdiff1d(np.concatenate([p.train for p in parts]), before)
    order = fresh[streams.permutation("validation/later", n=len(fresh))]
    held_out = np.concatenate([held_out, order[: round(len(fresh) * fraction)]])
    split = []
    for part in parts:
        held = np.isin(part.train, held_out)
        if held.all():
            raise ScenarioError(
                f"[data] validation = {fraction}: a node gets {len(part.train)} training samples "
                "by [[data.drift]] and would keep none"
            )
        split.append((np.sort(part.train[~held]), np.sort(part.train[held])))
    return split


def _share(rows: Rows, fraction: float, streams: Streams, node: int) -> Rows:
    order = streams.permutation("validation", node, n=len(rows))
    share: Rows = rows[order[: max(1, round(len(rows) * fraction))]]
    return share
