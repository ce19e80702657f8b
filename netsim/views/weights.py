"""Heat maps over pairs of nodes: collaboration weights, and messages delivered.

More than `_CELLS` nodes are drawn in blocks of neighbouring ids: a figure has no more pixels,
and a matrix of all pairs would not fit into memory.
"""

import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from netsim.recording import run_folder
from netsim.recording.parquet_parts import Rows
from netsim.results import plot_style
from netsim.results.graph_metrics import last_logged, weights_of

_CELLS = 200


def draw(folder: Path, nodes: int, title: str) -> Iterator[tuple[str, Figure]]:
    """Draw every heat map that a run recorded something for.

    Parameters
    ----------
    folder : Path
        A run folder.
    nodes : int
    title : str
        Of the run; follows the title of the figure.

    Yields
    ------
    name : str
        File name.
    figure : Figure
    """
    for name, figure in (
        ("weights.png", weights(folder, nodes, title)),
        ("reached.png", deliveries(folder, nodes, title)),
    ):
        if figure is not None:
            yield name, figure


def weights(folder: Path, nodes: int, title: str) -> Figure | None:
    """The weights that nodes gave each other at the end; None where none were logged.

    Parameters
    ----------
    folder : Path
        A run folder.
    nodes : int
    title : str
        Of the run; follows the title of the figure.
    """
    graph, what = weights_of(folder)
    if not graph or not len(graph["node"]):
        return None
    block = _block(nodes)
    name = _titled(f"{title}, {what} weights", block)
    return weight_heatmap(*last_weights(graph, nodes, block), block, name)


def deliveries(folder: Path, nodes: int, title: str) -> Figure | None:
    """Messages delivered by pair; None where the log of messages holds none.

    Parameters
    ----------
    folder : Path
        A run folder.
    nodes : int
    title : str
        Of the run; follows the title of the figure.
    """
    block = _block(nodes)
    sent, delivered = message_counts(folder, nodes, block)
    if not sent.any():
        return None
    return delivery_heatmap(sent, delivered, block, _titled(title, block))


def _block(nodes: int) -> int:
    """Nodes a cell."""
    return math.ceil(nodes / _CELLS)


def _titled(title: str, block: int) -> str:
    return f"{title} (a cell is {block} x {block} nodes)" if block > 1 else title


def last_weights(
    graph: Rows, nodes: int, block: int = 1
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The weights last logged, averaged over blocks of nodes.

    Parameters
    ----------
    graph : dict of str to numpy.ndarray
        Columns `t_s node peer weight`, by time. A pair's weight is the one logged last: a node
        that hears few peers at a time still shows what it thinks of all of them.
    nodes, block : int

    Returns
    -------
    peers : numpy.ndarray, shape (M, M)
        Row: the node; column: the peer it weighs. NaN where no weight was logged.
    own : numpy.ndarray, shape (M,)
        The weights that nodes give to themselves; NaN where none was logged.
    """
    last = last_logged(graph, nodes)
    node, peer, weight = (graph[name][last] for name in ("node", "peer", "weight"))
    m = math.ceil(nodes / block)
    other = node != peer
    cells = (node // block).astype(np.int64) * m + peer // block
    return (
        _mean(cells[other], weight[other], m * m).reshape(m, m),
        _mean(node[~other] // block, weight[~other], m),
    )


def _mean(cells: NDArray[np.int64], values: NDArray[np.float64], n: int) -> NDArray[np.float64]:
    with np.errstate(invalid="ignore"):  # an empty cell is NaN
        return np.bincount(cells, values, n) / np.bincount(cells, minlength=n)


def message_counts(
    folder: Path, nodes: int, block: int = 1
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Messages sent and delivered by pair of (blocks of) nodes.

    Parameters
    ----------
    folder : Path
        A run folder.
    nodes : int
    block : int
        Nodes a row of the matrix.

    Returns
    -------
    sent, delivered : numpy.ndarray, shape (M, M)
        Row: sender; column: receiver.
    """
    m = math.ceil(nodes / block)
    totals = np.zeros((2, m * m))
    for rows in run_folder.parts(folder, "messages", ("src", "dst", "outcome")):
        pairs = (rows["src"] // block).astype(np.int64) * m + rows["dst"] // block
        totals[0] += np.bincount(pairs, minlength=m * m)
        totals[1] += np.bincount(pairs[rows["outcome"] == "delivered"], minlength=m * m)
    return totals[0].reshape(m, m), totals[1].reshape(m, m)


def weight_heatmap(
    cells: NDArray[np.float64], own: NDArray[np.float64], block: int, title: str
) -> Figure:
    """Heat map of the last weights, the own weight in a bar chart beside it.

    Own weights are often several times the others; on one scale they would leave the rest white.

    Parameters
    ----------
    cells : (M, M) array
        Row: the node; column: the peer it weighs. NaN is drawn grey.
    own : (M,) array
        The weights that nodes give to themselves.
    block : int
        Nodes a cell.
    title : str
    """
    top = float(np.nanmax(cells)) if np.isfinite(cells).any() else 1.0
    with_own = bool(np.nansum(np.abs(own)) > 0)
    figure = plot_style.new_figure(6.6 if with_own else 5.2, 4.6)
    left, *right = figure.subplots(
        1, 1 + with_own, width_ratios=(5, 1)[: 1 + with_own], sharey=True, squeeze=False
    )[0]
    image = plot_style.heatmap(left, cells, block, top or 1.0)
    left.set_xlabel("Peer")
    left.set_ylabel("Node")
    for panel in right:
        panel.barh(
            np.arange(len(own)), own, height=0.75 if len(own) <= 60 else 1.0, color=plot_style.FAINT
        )
        panel.set_xlim(0, max(1.0, float(np.nanmax(own))))
        panel.set_xlabel("Own weight")
        panel.tick_params(axis="y", which="both", length=0)
        panel.grid(which="both", visible=False)
        panel.spines["left"].set_visible(False)
    plot_style.colour_bar(figure, image, [left, *right], "Weight given to the peer")
    plot_style.heading(figure, f"Collaboration weights at the end · {title}")
    return figure


def delivery_heatmap(
    sent: NDArray[np.float64], delivered: NDArray[np.float64], block: int, title: str
) -> Figure:
    """Heat maps of messages delivered and of their share; pairs that never tried are grey.

    Parameters
    ----------
    sent, delivered : (M, M) array
        Messages; row: sender, column: receiver.
    block : int
        Nodes a cell.
    title : str
    """
    tried = sent > 0
    figure = plot_style.new_figure(8.4, 4.4)
    left, right = figure.subplots(1, 2, sharey=True)
    counts = np.where(tried, delivered, np.nan)
    image = plot_style.heatmap(left, counts, block, max(1.0, float(delivered.max())))
    left.set_title("Messages delivered")
    plot_style.colour_bar(figure, image, left)
    with np.errstate(invalid="ignore"):
        shares = np.where(tried, 100.0 * delivered / sent, np.nan)
    image = plot_style.heatmap(right, shares, block, 100.0)
    right.set_title("Delivered of those sent [%] (grey: none sent)")
    plot_style.colour_bar(figure, image, right)
    left.set_ylabel("Sender")
    for panel in (left, right):
        panel.set_xlabel("Receiver")
    plot_style.heading(figure, f"Who reached whom · {title}")
    return figure
