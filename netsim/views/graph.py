"""The collaboration graph at the end of a run: who weighs whom, with alike nodes side by side."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from netsim.errors import ScenarioError
from netsim.recording import run_folder
from netsim.recording.graph_metrics import weights_of
from netsim.recording.reader import RunFolder
from netsim.views import Ask, OnPaper, Panel, Row, Shown
from netsim.views import weights as heatmaps
from netsim.views.gathering import runs as of_several
from netsim.views.render.figure.sheets import Sheet

TITLE = "Who weighs whom"
PLACE = None

_CELLS = 200
_MOST_NAMED = 24
"""Nodes of which each has its id on the axes."""
_MOST_COMPARED = 4000
"""Nodes whose classes are compared pair by pair."""


@dataclass(frozen=True, eq=False)
class Order:
    """Order of nodes on the axes.

    Attributes
    ----------
    ids : (N,) int64
        Nodes with data.
    cuts : list of int
        Places before which another group begins.
    by : str
        What they are ordered by.
    """

    ids: NDArray[np.int64]
    cuts: list[int]
    by: str


def of_runs(runs: Sequence[RunFolder], _: Ask) -> Shown:
    """Return the graphs, a panel a curve; see `draw`."""
    return Shown([Panel(OnPaper(lambda sheet: draw(runs, sheet)))])


def draw(runs: Sequence[RunFolder], sheet: Sheet) -> Any:
    """Draw the weights that nodes gave each other at the end, a panel a curve.

    Parameters
    ----------
    runs : sequence of RunFolder
        Of several seeds of one algorithm the first is drawn: nodes of another are other nodes.
    sheet : Sheet

    Raises
    ------
    ScenarioError
        If none of them has logged weights.
    """
    from netsim.views.render.figure import layout  # here: a page does without Matplotlib
    from netsim.views.render.figure import style as plot_style
    from netsim.views.render.figure.files import Drawn

    every = {name: group[0] for name, group in of_several.groups(runs).items()}
    having = {name: run for name, run in every.items() if _has_weights(run)}
    if not having:
        raise ScenarioError(
            f"{runs[0].folder / 'graph'}: has no weights: the algorithm gives none, or [metrics] "
            "weights is false"
        )
    columns = min(len(having), 2 if layout.columns_of(2, sheet) == 1 else 3)
    assert sheet.width_in is not None
    side_in = min(3.2, (sheet.width_in - 0.75 - 0.27 * columns) / columns)
    around_in = 0.5 + 0.2 * (len(having) > 1)  # ticks and labels, titles
    figure, panels = layout.panels(len(having), columns, sheet, side_in + around_in)
    figure.set_layout_engine("compressed")  # panels are square
    seen = {name: _cells(run) for name, run in having.items()}
    finite = [cells[np.isfinite(cells)] for _, cells, _ in seen.values()]
    top = max((float(some.max()) for some in finite if len(some)), default=1.0) or 1.0
    for i, (panel, (name, found)) in enumerate(zip(panels, seen.items(), strict=True)):
        image = _draw_panel(panel, found, top, is_first=i % columns == 0)
        if len(having) > 1:
            panel.set_title(name)
    plot_style.colour_bar(figure, image, panels, "Weight given to the peer")
    about = _about(every, having, next(iter(seen.values())))
    layout.finish(figure, [], [], about)
    rows = [row for name, run in having.items() for row in _rows(name, run)]
    return Drawn(figure, rows, [_short(name, run) for name, run in having.items()], about)


def order_of(run: RunFolder) -> Order:
    """Nodes with data by who is malicious, by group, and by the classes of their samples."""
    nodes = run_folder.nodes(run.folder)
    count = len(nodes["node"])
    data = nodes["train_samples"] > 0 if "train_samples" in nodes else np.ones(count, np.bool_)
    ids = np.flatnonzero(data if data.any() else np.ones(count, np.bool_))
    bad = nodes["malicious"].astype(np.int64) if "malicious" in nodes else np.zeros(count, np.int64)
    group = _groups(run, count)
    labels = np.stack([bad, group], axis=1)[ids]
    by = [word for word, of in (("attackers", bad), ("group", group)) if len(set(of[ids])) > 1]
    classes = np.zeros(len(ids), np.int64)
    if "class_counts" in nodes and len(ids) > 1:
        counts = np.stack([nodes["class_counts"][i] for i in ids]).astype(np.float64)
        sets, which = np.unique(counts > 0, axis=0, return_inverse=True)
        if len(sets) > 1:
            by.append("classes held")
        if 2 * len(sets) <= len(ids):
            classes = -which.reshape(-1)  # those with the first classes come first
            labels = np.column_stack([labels, classes])
        elif len(sets) > 1 and len(ids) <= _MOST_COMPARED:
            classes = np.argsort(_alike(counts))
    places = np.lexsort((ids, classes, group[ids], bad[ids]))
    sorted_labels = labels[places]
    cuts = np.flatnonzero((sorted_labels[1:] != sorted_labels[:-1]).any(axis=1)) + 1
    return Order(ids[places], cuts.tolist(), ", ".join(by))


def _alike(counts: NDArray[np.float64]) -> NDArray[np.int64]:
    """An order of rows in which those with like shares of classes lie beside each other."""
    from scipy.cluster.hierarchy import leaves_list, linkage  # here: a page does without it

    norms = np.linalg.norm(counts, axis=1, keepdims=True)
    unit = counts / np.where(norms > 0, norms, 1.0)
    tree = linkage(unit, "average", optimal_ordering=len(unit) <= 500)
    return np.asarray(leaves_list(tree), dtype=np.int64)


def _groups(run: RunFolder, count: int) -> NDArray[np.int64]:
    """The group of each node, as the scenario counts them from id 0 on; the rest come last."""
    try:
        nodes = run_folder.scenario(run.folder).get("nodes", {})
    except ScenarioError:
        nodes = {}
    sizes = [int(one["count"]) for one in nodes.get("groups", []) if "count" in one]
    found = np.full(count, len(sizes))
    for i, end in enumerate(np.cumsum(sizes).tolist()):
        found[end - sizes[i] : end] = i
    return found


def _has_weights(run: RunFolder) -> bool:
    return (
        bool(run_folder.has(run.folder, "graph"))
        and len(run_folder.read(run.folder, "graph", ["node"])["node"]) > 0
    )


def _cells(run: RunFolder) -> tuple[Order, NDArray[np.float64], int]:
    """The order of the nodes, the weights in it, and how many nodes a cell is."""
    order = order_of(run)
    places = np.full(max(run.count, int(order.ids.max()) + 1), -1)
    places[order.ids] = np.arange(len(order.ids))
    rows, _ = weights_of(run.folder)
    inside = (places[rows["node"]] >= 0) & (places[rows["peer"]] >= 0)
    moved = {name: cells[inside] for name, cells in rows.items()}
    moved |= {name: places[moved[name]] for name in ("node", "peer")}
    block = math.ceil(len(order.ids) / _CELLS)
    return order, heatmaps.last_weights(moved, len(order.ids), block)[0], block


def _draw_panel(
    panel: Any, found: tuple[Order, NDArray[np.float64], int], top: float, is_first: bool
) -> Any:
    """One heat map.

    Parameters
    ----------
    panel : Axes
    found : tuple
        Order, weights, nodes a cell.
    top : float
        The value of the darkest colour.
    is_first : bool
        Whether it is the first of its row, which names the nodes.
    """
    from netsim.views.render.figure import style as plot_style

    order, cells, block = found
    image = plot_style.heatmap(panel, cells, block, top)
    named = len(order.ids) <= _MOST_NAMED
    for axis in (panel.xaxis, panel.yaxis):
        axis.set_ticks(range(len(order.ids)) if named else [], order.ids.tolist() if named else [])
    size = min(7.0, 72 * 0.7 * panel.get_window_extent().width / panel.figure.dpi / len(order.ids))
    panel.tick_params(labelsize=max(size, 4.5))
    panel.tick_params(axis="x", rotation=90 if named and len(order.ids) > 10 else 0)
    for cut in order.cuts if len(order.cuts) <= len(order.ids) // 2 else []:
        for line in (panel.axhline, panel.axvline):
            line(cut / block - 0.5, color=plot_style.COLOURS[1], linewidth=0.7)
    panel.set_xlabel("Peer")
    if is_first:
        panel.set_ylabel("Node")
    return image


def _about(
    every: Mapping[str, RunFolder], having: Mapping[str, RunFolder], first: tuple[Order, Any, int]
) -> str:
    """Describe the drawing, its order, and its omissions."""
    order, _, block = first
    kinds = list(dict.fromkeys(weights_of(run.folder)[1] for run in having.values()))
    told = [f"{' or '.join(kinds)} weights at the end; grey: none given"]
    if order.by:
        told.append(f"nodes ordered by {order.by}")
    if block > 1:
        told.append(f"a cell is {block} x {block} nodes")
    seeds = {run.seed for run in having.values()}
    if len(every) and len(seeds) == 1:
        told.append(f"seed {next(iter(seeds))}")
    missing = [name for name in every if name not in having]
    if missing:
        told.append(f"without weights: {', '.join(missing)}")
    return "; ".join(told)


def _rows(name: str, run: RunFolder) -> list[Row]:
    order, cells, block = _cells(run)
    firsts = order.ids[::block].tolist()
    peers = "peer" if block == 1 else "first_peer"
    return [
        {
            "curve": name,
            "seed": run.seed,
            "node" if block == 1 else "first_node": firsts[i],
            peers: firsts[j],
            "weight": float(cells[i, j]),
        }
        for i, j in np.argwhere(np.isfinite(cells)).tolist()
    ]


def _short(name: str, run: RunFolder) -> Row:
    """Return the graph's row of the summary."""
    told = run.summary.get("graph") or {}
    numbers = {
        key: told.get(key) for key in ("collaborators", "sparsity", "asymmetry", "own_weight")
    }
    same = {key: told.get(key) for key in ("weight_on_same_task", "same_task_peers")}
    return {"curve": name, "seed": run.seed, **numbers, **same}
