"""Measures of the collaboration graph: sparsity, asymmetry, and the weight on kinds of peers.

w_ij is the weight that node i logged last for peer j (a peer that is ignored is logged with zero,
or never was); its own weight is w_ii. Weights of one node may be of different times: a node that
hears few peers at a time still shows what it thinks of all of them, and its weights of mixtures
(`applied`) need not add up to one. Nodes without data, such as a server, are no part of it.
Two nodes have the same task if their training samples have the same set of classes. What a
malicious node weighs is left out: means are over the benign nodes.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from netsim.recording import run_folder
from netsim.recording.parquet_parts import Rows

USED = 1e-6
"""A smaller weight counts as none: a projection onto the simplex leaves rounding errors."""

_ROWS_AT_ONCE = 1024


@dataclass(frozen=True, eq=False)
class Graph:
    """The weights of a run's end between nodes that hold data, one entry a pair.

    Attributes
    ----------
    node, peer : (P,) int64
        Distinct pairs of different nodes.
    weight : (P,) float64
    own : (N,) float64
        The weight that a node gives itself; NaN where none was logged.
    listens : (N,) bool
        Nodes that logged weights; the others may have some, which nobody knows.
    holds_data, malicious : (N,) bool
    classes : (N, C) bool
        Classes of a node's training samples, as it sees them.
    """

    node: NDArray[np.int64]
    peer: NDArray[np.int64]
    weight: NDArray[np.float64]
    own: NDArray[np.float64]
    listens: NDArray[np.bool_]
    holds_data: NDArray[np.bool_]
    malicious: NDArray[np.bool_]
    classes: NDArray[np.bool_]


def load(folder: Path) -> Graph | None:
    """The graph of a run folder; None if no weights were logged or `nodes.parquet` is missing."""
    rows, _ = weights_of(folder)
    if not len(rows.get("node", ())) or run_folder.count(folder) is None:
        return None
    return build(rows, run_folder.nodes(folder))


def weights_of(folder: Path) -> tuple[Rows, str]:
    """The logged weights of a run that are shown, and which they are.

    Returns
    -------
    rows : dict of str to numpy.ndarray
        Rows of `graph/`: of the weights that the method learns where it logs such, else of those
        that it mixes with.
    what : {"learned", "applied"}
    """
    rows = run_folder.read(folder, "graph")
    learned = rows.get("what", np.array([])) == "learned"
    if not learned.any():
        return rows, "applied"
    return {name: cells[learned] for name, cells in rows.items()}, "learned"


def build(rows: Rows, nodes: Rows) -> Graph:
    """A graph from the tables of a run.

    `rows`: columns `node peer weight`, in the order in which they were logged. `nodes`:
    `nodes.parquet`: `class_counts`, `train_samples` and `malicious` are used if they are there.
    """
    n = len(nodes["node"])
    none = np.zeros(n, dtype=np.bool_)
    holds_data, classes, malicious = ~none, none[:, None], none
    if "class_counts" in nodes:
        classes = np.stack(list(nodes["class_counts"])) > 0
        holds_data = np.any(classes, axis=1)
    elif "train_samples" in nodes:
        holds_data = nodes["train_samples"] > 0
    if "malicious" in nodes:
        malicious = nodes["malicious"].astype(np.bool_)
    last = last_logged(rows, n)
    node, peer = rows["node"][last].astype(np.int64), rows["peer"][last].astype(np.int64)
    weight = rows["weight"][last].astype(np.float64)
    inside = holds_data[node] & holds_data[peer]
    node, peer, weight = node[inside], peer[inside], weight[inside]
    other, own, listens = node != peer, np.full(n, np.nan), none.copy()
    own[node[~other]] = weight[~other]
    listens[node] = True
    return Graph(
        node[other], peer[other], weight[other], own, listens, holds_data, malicious, classes
    )


def last_logged(rows: Rows, nodes: int) -> NDArray[np.int64]:
    """Return the rows of the last weight of each pair, by node and then peer.

    `rows`: columns `node peer`, in the order in which they were logged.
    """
    pairs = rows["node"].astype(np.int64) * nodes + rows["peer"]
    from_end = np.unique(pairs[::-1], return_index=True)[1]
    return np.asarray(len(pairs) - 1 - from_end, dtype=np.int64)


def summary_block(graph: Graph) -> dict[str, Any]:
    """Return the `graph` block of `summary.json`.

    Returns
    -------
    dict
        - `nodes`: how many logged weights. Everything below is over them.
        - `collaborators`: mean number of peers with a weight.
        - `sparsity`: share of all (node, other node) pairs without a weight (DPFL).
        - `asymmetry`: sum |w_ij - w_ji| / sum (|w_ij| + |w_ji|), over pairs of nodes that both
          logged weights: 0 if weights are mutual, 1 if no link is.
        - `one_way`: share of such links whose reverse has no weight.
        - `own_weight`: mean, where it was logged.
        - `weight_on_same_task`, `weight_on_malicious`: share of the weight that a benign node
          gives to others, mean over the benign nodes that have such a peer and any weight.
        - `same_task_peers`, `malicious_peers`: the same for equal weights on all other nodes;
          what to compare with.
        - `by_shared_classes`: see `by_shared_classes`.

        None where there is nothing to take a mean of.
    """
    listening = int(graph.listens.sum())
    used = np.abs(graph.weight) > USED
    links = int(used.sum())
    possible = listening * (int(graph.holds_data.sum()) - 1)
    held = graph.own[graph.listens]
    bad = graph.malicious
    return {
        "nodes": listening,
        "collaborators": links / listening if listening else None,
        "sparsity": 1 - links / possible if possible else None,
        **_mutuality(graph, used),
        "own_weight": _mean(held[~np.isnan(held)]),
        **_listened_to(graph, "same_task", _same_task(graph)),
        **_listened_to(graph, "malicious", (bad[graph.peer], bad.sum() - bad)),
        "by_shared_classes": by_shared_classes(graph),
    }


def by_shared_classes(graph: Graph) -> list[dict[str, Any]]:
    """Weights by how many classes the two nodes share.

    Returns
    -------
    list of dict
        One row a number of `shared_classes` that occurs: `pairs` (benign node that logged weights,
        other node), the `mean_weight` and `std_weight` over them, and the share of them that has a
        weight, `used`. A table: `pandas.DataFrame(...)`. Empty if classes are unknown.
    """
    if not graph.classes.any():
        return []
    mine = graph.listens & ~graph.malicious
    sets, which = np.unique(graph.classes[graph.holds_data], axis=0, return_inverse=True)
    set_of = np.full(len(graph.classes), -1)
    set_of[graph.holds_data] = which.reshape(-1)
    listeners = np.bincount(set_of[mine], minlength=len(sets))
    others = np.bincount(set_of[graph.holds_data], minlength=len(sets))
    most = graph.classes.shape[1] + 1
    as_numbers = sets.astype(np.float32)  # exact, and multiplied by BLAS
    pairs = np.zeros(most, dtype=np.float64)
    for start in range(0, len(sets), _ROWS_AT_ONCE):
        rows = slice(start, start + _ROWS_AT_ONCE)
        shared = np.rint(as_numbers[rows] @ as_numbers.T).astype(np.int64)
        counts = np.outer(listeners[rows], others).astype(np.float64)
        pairs += np.bincount(shared.ravel(), counts.ravel(), most)
    pairs -= np.bincount(sets.sum(axis=1), listeners, most)  # a node is no pair with itself
    kept = mine[graph.node]
    node, peer, weight = graph.node[kept], graph.peer[kept], graph.weight[kept]
    shared = np.concatenate(
        [
            (graph.classes[node[k : k + 65_536]] & graph.classes[peer[k : k + 65_536]]).sum(axis=1)
            for k in range(0, len(node), 65_536)
        ]
        or [np.zeros(0, dtype=np.int64)]
    )
    mean = np.bincount(shared, weight, most) / np.maximum(pairs, 1.0)
    unlogged = np.maximum(pairs - np.bincount(shared, minlength=most), 0.0)
    apart = np.bincount(shared, (weight - mean[shared]) ** 2, most) + unlogged * mean**2
    used = np.bincount(shared, np.abs(weight) > USED, most)
    return [
        {
            "shared_classes": int(k),
            "pairs": int(pairs[k]),
            "mean_weight": mean[k],
            "std_weight": np.sqrt(apart[k] / pairs[k]),
            "used": used[k] / pairs[k],
        }
        for k in np.flatnonzero(pairs > 0.5)
    ]


def _mutuality(graph: Graph, used: NDArray[np.bool_]) -> dict[str, float | None]:
    n = len(graph.listens)
    both = graph.listens[graph.node] & graph.listens[graph.peer]
    node, peer, weight = graph.node[both], graph.peer[both], graph.weight[both]
    pairs = node * n + peer  # ascending: `build` sorts them
    reverse = peer * n + node
    place = np.minimum(np.searchsorted(pairs, reverse), max(len(pairs) - 1, 0))
    found = pairs[place] == reverse if len(pairs) else np.zeros(0, dtype=bool)
    back = np.where(found, weight[place] if len(pairs) else 0.0, 0.0)
    # a pair logged in both directions comes up twice, one logged in one direction once
    times = np.where(found, 0.5, 1.0)
    scale = float((times * (np.abs(weight) + np.abs(back))).sum())
    apart = float((times * np.abs(weight - back)).sum())
    links = used[both]
    return {
        "asymmetry": apart / scale if scale else None,
        "one_way": _mean((np.abs(back) <= USED)[links]),
    }


def _same_task(graph: Graph) -> tuple[NDArray[np.bool_], NDArray[np.int64]] | None:
    """Pairs of the same task, and how many peers of its task each node has; None: unknown."""
    if not graph.classes.any():
        return None
    task = np.unique(graph.classes, axis=0, return_inverse=True)[1].reshape(-1)
    peers = np.bincount(task[graph.holds_data], minlength=len(task))[task] - 1
    return task[graph.node] == task[graph.peer], peers


def _listened_to(
    graph: Graph, what: str, relation: tuple[NDArray[np.bool_], NDArray[np.int64]] | None
) -> dict[str, float | None]:
    """Mean share of benign nodes' weight on related peers, and that of equal weights.

    `relation`: which pairs are related, and how many such peers each node has; None: unknown.
    """
    if relation is None:
        return {f"weight_on_{what}": None, f"{what}_peers": None}
    related, peers = relation
    n, weight, benign = (
        len(graph.listens),
        np.abs(graph.weight),
        graph.holds_data & ~graph.malicious,
    )
    given = np.bincount(graph.node, weight, n)
    chosen = graph.listens & benign & (given > USED) & (peers > 0)
    share = np.bincount(graph.node, weight * related, n)[chosen] / given[chosen]
    return {
        f"weight_on_{what}": _mean(share),
        f"{what}_peers": _mean(peers[chosen] / (graph.holds_data.sum() - 1)),
    }


def _mean(values: NDArray[Any]) -> float | None:
    return float(values.mean()) if len(values) else None
