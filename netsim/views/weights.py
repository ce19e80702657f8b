"""Collaboration weights at the end of a run, by pair of nodes, own weights at the side.

Own weights are often several times the others; on one scale they would leave the rest white.
"""

import math

import numpy as np
from numpy.typing import NDArray

from netsim.recording.graph_metrics import last_logged, weights_of
from netsim.recording.parquet_parts import Rows
from netsim.recording.reader import RunFolder
from netsim.views import Cells, Panel, Quantity, Shown
from netsim.views.gathering import pairs

TITLE = "Collaboration weights at the end"
PLACE = None
NOTHING = "no weights have been logged"
NO_WEIGHT = "no weight for this peer"
LAST = "weights, the last that a node logged for each peer"


def of_run(run: RunFolder) -> Shown | None:
    """Return the weights that nodes gave each other at the end; None where none were logged."""
    graph, what = weights_of(run.folder)
    if not graph or not len(graph["node"]):
        return None
    block = pairs.block_of(run.count)
    cells, own = last_weights(graph, run.count, block)
    with_own = bool(np.nansum(np.abs(own)) > 0)
    diagonal = np.where(np.eye(len(own), dtype=bool), own, np.nan)
    sides = {"own_weight": diagonal} if with_own else {}
    table = pairs.tidy("node", "peer", block, weight=cells, **sides)
    mark = Cells(
        Quantity("node", "Node"),
        Quantity("peer", "Peer"),
        Quantity("weight", "Weight given to the peer"),
        run.count,
        NO_WEIGHT,
        block,
        beside=Quantity("own_weight", "Own weight") if with_own else None,
    )
    return Shown([Panel(mark, table)], f"{what} {LAST}")


def last_weights(
    graph: Rows, nodes: int, block: int = 1
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The weights last logged, averaged over blocks of nodes: of peers (M, M), and own ones (M,).

    A row is a node, a column the peer that it weighs; NaN where no weight was logged.

    Parameters
    ----------
    graph : dict of str to numpy.ndarray
        Columns `t_s node peer weight`, by time. A pair's weight is the one logged last: a node
        that hears few peers at a time still shows what it thinks of all of them.
    """
    last = last_logged(graph, nodes)
    node, peer, weight = (graph[name][last] for name in ("node", "peer", "weight"))
    m = math.ceil(nodes / block)
    other = node != peer
    with np.errstate(invalid="ignore"):  # an empty cell is NaN
        peers = pairs.sums(node[other], peer[other], nodes, block, weight[other])
        peers = peers / pairs.sums(node[other], peer[other], nodes, block)
        mine = node[~other] // block
        own = np.bincount(mine, weight[~other], m) / np.bincount(mine, minlength=m)
    return peers, own
