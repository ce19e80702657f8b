"""The collaboration graph at the end of a run: who weighs whom, with alike nodes side by side."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from netsim.errors import ScenarioError
from netsim.recording import run_folder
from netsim.recording.graph_metrics import weights_of
from netsim.recording.reader import RunFolder
from netsim.views import Ask, Cells, Panel, Quantity, Row, Shown
from netsim.views import weights as heatmaps
from netsim.views.gathering import pairs
from netsim.views.gathering import runs as of_several

TITLE = "Who weighs whom"
PLACE = None

_MOST_COMPARED = 4000
"""Nodes whose classes are compared pair by pair."""


@dataclass(frozen=True, eq=False)
class Order:
    """Order of nodes on the axes."""

    ids: NDArray[np.int64]
    """(N,) int64. Nodes with data."""
    cuts: list[int]
    """Places before which another group begins."""
    by: str
    """The sorts of order, in words."""


def of_runs(runs: Sequence[RunFolder], _: Ask) -> Shown:
    """Return the weights that nodes gave each other at the end, a panel a curve.

    Of several seeds of one algorithm the first is shown, since each seed has other nodes.

    Raises
    ------
    ScenarioError
        If none of them has logged weights.
    """
    every = {name: group[0] for name, group in of_several.groups(runs).items()}
    having = {name: run for name, run in every.items() if _has_weights(run)}
    if not having:
        raise ScenarioError(
            f"{runs[0].folder / 'graph'}: has no weights: the algorithm gives none, or [metrics] "
            "weights is false"
        )
    seen = {name: _cells(run) for name, run in having.items()}
    finite = [cells[np.isfinite(cells)] for _, cells, _ in seen.values()]
    top = max((float(some.max()) for some in finite if len(some)), default=1.0) or 1.0
    panels = [_panel(name, having[name], found, top) for name, found in seen.items()]
    about = _explanation(every, having, next(iter(seen.values())))
    return Shown(panels, about, [_summary_row(name, run) for name, run in having.items()])


def _panel(
    name: str, run: RunFolder, found: tuple[Order, NDArray[np.float64], int], top: float
) -> Panel:
    """One heat map of an order, weights and nodes a cell; `top`: the darkest colour's value."""
    order, cells, block = found
    firsts = order.ids[::block]
    i, j = np.nonzero(np.isfinite(cells))
    node, peer = ("node", "peer") if block == 1 else ("first_node", "first_peer")
    table = {
        "curve": np.full(len(i), name),
        "seed": np.full(len(i), run.seed),
        node: firsts[i],
        peer: firsts[j],
        "weight": cells[i, j],
    }
    mark = Cells(
        Quantity(node, "Node"),
        Quantity(peer, "Peer"),
        Quantity("weight", "Weight given to the peer"),
        run.count,
        heatmaps.NO_WEIGHT,
        top=top,
        order=tuple(firsts.tolist()),
        cuts=tuple(cut / block for cut in order.cuts if len(order.cuts) <= len(order.ids) // 2),
    )
    return Panel(mark, table, name)


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
            classes = np.argsort(_order_by_similarity(counts))
    places = np.lexsort((ids, classes, group[ids], bad[ids]))
    sorted_labels = labels[places]
    cuts = np.flatnonzero((sorted_labels[1:] != sorted_labels[:-1]).any(axis=1)) + 1
    return Order(ids[places], cuts.tolist(), ", ".join(by))


def _order_by_similarity(counts: NDArray[np.float64]) -> NDArray[np.int64]:
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
    block = pairs.block_of(len(order.ids))
    return order, heatmaps.last_weights(moved, len(order.ids), block)[0], block


def _explanation(
    every: Mapping[str, RunFolder], having: Mapping[str, RunFolder], first: tuple[Order, Any, int]
) -> str:
    """Describe the drawing, its order, and its omissions."""
    order, _, block = first
    kinds = list(dict.fromkeys(weights_of(run.folder)[1] for run in having.values()))
    parts = [f"{' or '.join(kinds)} {heatmaps.LAST}"]
    if order.by:
        parts.append(f"nodes ordered by {order.by}")
    if block > 1:
        parts.append(f"a cell is {block} x {block} nodes")
    seeds = {run.seed for run in having.values()}
    if len(every) and len(seeds) == 1:
        parts.append(f"seed {next(iter(seeds))}")
    missing = [name for name in every if name not in having]
    if missing:
        parts.append(f"without weights: {', '.join(missing)}")
    return "; ".join(parts)


def _summary_row(name: str, run: RunFolder) -> Row:
    """Return the graph's row of the summary."""
    summary = run.summary.get("graph") or {}
    numbers = {
        key: summary.get(key) for key in ("collaborators", "sparsity", "asymmetry", "own_weight")
    }
    same = {key: summary.get(key) for key in ("weight_on_same_task", "same_task_peers")}
    return {"curve": name, "seed": run.seed, **numbers, **same}
