"""Figures of merit as pure functions of a run's metric rows.

Spread over nodes is a standard deviation with divisor n: the nodes are all there are. (Spread over
seeds, in `compare`, has divisor n - 1: seeds are a sample.) The two are never mixed.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from netsim.recording import run_folder
from netsim.recording.main_metric import ACCURACY, MainMetric
from netsim.recording.parquet_parts import Rows
from netsim.recording.schema import RECORDED
from netsim.units import BITS_PER_MEGABYTE

Ties = Literal["first", "last"]


def names(metrics: Rows) -> list[str]:
    """The metrics measured, in order of first appearance; not what algorithms recorded."""
    if not metrics:
        return []
    return list(dict.fromkeys(metrics["metric"][metrics["stage"] != RECORDED].tolist()))


def recorded(metrics: Rows) -> dict[str, dict[str, float]]:
    """Return statistics over the last number of each node that algorithms recorded, by name."""
    if not metrics:
        return {}
    chosen = metrics["stage"] == RECORDED
    rows = zip(*(metrics[c][chosen].tolist() for c in ("metric", "node", "value")), strict=True)
    last: dict[str, dict[int, float]] = {}
    for name, node, value in rows:
        last.setdefault(name, {})[node] = value
    with np.errstate(invalid="ignore"):  # infinite numbers have no standard deviation
        return {
            name: {
                "mean": float(np.mean(values)),
                "std": float(np.std(values)),
                "min": min(values),
                "max": max(values),
                "nodes": len(values),
            }
            for name, values in ((name, list(by_node.values())) for name, by_node in last.items())
        }


def per_node_rows(metrics: Rows, metric: str) -> Rows:
    """Rows of one metric, one per time and node, by time and then node.

    Of several stages measured at one time the one written last counts. What methods record counts
    only where the metric is not measured at evaluations.
    """
    chosen = metrics["metric"] == metric
    measured = chosen & (metrics["stage"] != RECORDED)
    rows = {name: cells[measured if measured.any() else chosen] for name, cells in metrics.items()}
    order = np.lexsort((np.arange(len(rows["t_s"])), rows["node"], rows["t_s"]))
    t_s, node = rows["t_s"][order], rows["node"][order]
    last = np.ones(len(order), dtype=bool)
    last[:-1] = (t_s[1:] != t_s[:-1]) | (node[1:] != node[:-1])
    return {name: cells[order[last]] for name, cells in rows.items()}


@dataclass(frozen=True)
class Curve:
    """A metric over virtual time, from the first evaluation at which no node is missing.

    A node is measured from the first model on that it publishes. Means over those who are first
    would change with who has joined them, and a few quick nodes might reach what all never do.

    Attributes
    ----------
    t_s, mean, std, worst, steps, energy_j : numpy.ndarray, shape (T,)
        Times of evaluation; mean and standard deviation over nodes; mean over the worst 10 % of
        the nodes; what the evaluated nodes together have spent.
    nodes : int
        Nodes at the last evaluation, and so at the others.
    """

    t_s: NDArray[np.float64]
    mean: NDArray[np.float64]
    std: NDArray[np.float64]
    worst: NDArray[np.float64]
    steps: NDArray[np.float64]
    energy_j: NDArray[np.float64]
    nodes: int


def curve(metrics: Rows, metric: str, main: MainMetric = ACCURACY) -> Curve:
    """A metric's headline rows as curves over time.

    Parameters
    ----------
    main : MainMetric
        Of the run: says whether low values of the metric are the worst.
    """
    rows = per_node_rows(metrics, metric)
    measured = np.unique(rows["t_s"], return_counts=True)[1]
    first = int(measured[: complete_from(measured)].sum())
    rows = {name: cells[first:] for name, cells in rows.items()}
    t_s, starts = np.unique(rows["t_s"], return_index=True)
    groups = np.split(rows["value"], starts[1:])

    def total(name: str) -> NDArray[np.float64]:
        return np.add.reduceat(rows[name].astype(np.float64), starts)

    is_low_better = main.prefers_lower(metric)
    with np.errstate(over="ignore", invalid="ignore"):  # what has diverged is infinite, or nan
        return Curve(
            t_s=t_s,
            mean=np.array([group.mean() for group in groups]),
            std=np.array([group.std() for group in groups]),
            worst=np.array([mean_of_worst(group, 0.1, is_low_better) for group in groups]),
            steps=total("steps"),
            energy_j=total("energy_j"),
            nodes=len(groups[-1]),
        )


def complete_from(measured: NDArray[Any]) -> int:
    """The first evaluation at which as many nodes were measured as at the last.

    `measured`: (T,) how many nodes were, T > 0.
    """
    return int(np.argmax(measured >= measured[-1]))


def mean_of_worst(values: NDArray[np.float64], share: float, highest: bool = False) -> float:
    """Mean over the worst share of the nodes, at least one node (L2C's worst 10 %, 20 %).

    Parameters
    ----------
    values : (N,) array
        One a node.
    share : float
        In (0, 1].
    highest : bool
        Whether high values are the worst, as of a loss.
    """
    ordered = np.sort(values)[::-1] if highest else np.sort(values)
    if np.isnan(values).any():
        return math.nan  # nobody knows whether a node without a number is among the worst
    # the small subtraction keeps 0.1 * 30 nodes at three
    return float(ordered[: max(1, math.ceil(share * len(values) - 1e-9))].mean())


def node_statistics(
    values: NDArray[np.float64], metric: str, main: MainMetric = ACCURACY
) -> dict[str, float]:
    """Statistics over nodes.

    Parameters
    ----------
    values : (N,) array
        One a node.
    main : MainMetric
        Of the run: says which values are the worst.
    """
    is_low_better = main.prefers_lower(metric)
    with np.errstate(over="ignore", invalid="ignore"):  # what has diverged is infinite, or nan
        mean, std, variance = values.mean(), values.std(), values.var()
    return {
        "mean": float(mean),
        "std": float(std),
        "variance": float(variance),
        "worst_10pct": mean_of_worst(values, 0.1, is_low_better),
        "worst_20pct": mean_of_worst(values, 0.2, is_low_better),
    }


POOLED = ("accuracy", "loss")
"""Metrics on a node's own test samples that are means over samples, and so can be pooled."""


def pooled(metrics: Rows, metric: str, samples: Mapping[int, int]) -> float:
    """Mean over all samples of all nodes at the last evaluation: sum n_i a_i / sum n_i.

    Parameters
    ----------
    metric : str
        One of `POOLED`.
    samples : mapping of int to int
        Test samples n_i of each node.
    """
    rows = per_node_rows(metrics, metric)
    now = rows["t_s"] == rows["t_s"].max()
    counts = np.array([samples.get(int(node), 0) for node in rows["node"][now]], dtype=np.float64)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        return float((counts * rows["value"][now]).sum() / counts.sum())


def best_on_validation(
    metrics: Rows, metric: str, ties: Ties = "first", main: MainMetric = ACCURACY
) -> float | None:
    """Mean over nodes of the metric where the main one was best on the node's own validation.

    Parameters
    ----------
    ties : {"first", "last"}
        Which of equals counts: pFedGraph takes the first, DPFL the last.
    main : MainMetric
        Of the run: of a classification the node's own validation accuracy.

    Returns
    -------
    float or None
        Per node, over all times and stages. None where no node has both.
    """
    if main.validation not in names(metrics):
        return None

    def by_key(name: str) -> dict[tuple[Any, ...], float]:
        chosen = metrics["metric"] == name
        t_s, node, stage, value = (
            metrics[column][chosen].tolist() for column in ("t_s", "node", "stage", "value")
        )
        return dict(zip(zip(t_s, node, stage, strict=True), value, strict=True))

    tested, sign = by_key(metric), -1.0 if main.is_lower_better else 1.0
    best: dict[int, tuple[float, float]] = {}
    for key, value in by_key(main.validation).items():
        node, validated = key[1], sign * value
        reached = best.setdefault(node, (-math.inf, math.nan))[0] if key in tested else math.inf
        better = validated > reached or (ties == "last" and validated == reached)
        if key in tested and better:
            best[node] = (validated, tested[key])
    return float(np.mean([test for _, test in best.values()])) if best else None


def summary_block(
    metrics: Rows, metric: str, ties: Ties = "first", main: MainMetric = ACCURACY
) -> dict[str, Any]:
    """Everything that `summary.json` says about one metric.

    Parameters
    ----------
    ties : {"first", "last"}
        As `best_on_validation` takes it.
    main : MainMetric
        Of the run.

    Returns
    -------
    dict
        Statistics over nodes at the last evaluation (`mean std variance worst_10pct worst_20pct
        nodes`), `best_on_validation` for the main metric on test samples, `best` and `last`
        {t_s mean std}: the evaluation with the best mean over nodes, and the last one;
        `nodes_not_finite` if the models of so many nodes have no finite value. A statistic over
        nodes with such a one is nan, and no such evaluation is the best. `stages`
        {stage: statistics} if several stages were measured at that time.
    """
    rows = per_node_rows(metrics, metric)
    over_time = curve(metrics, metric, main)
    now = over_time.t_s[-1]
    found: dict[str, Any] = node_statistics(rows["value"][rows["t_s"] == now], metric, main)
    found["nodes"] = over_time.nodes
    values = rows["value"][rows["t_s"] == now]
    if not np.isfinite(values).all():
        found["nodes_not_finite"] = int((~np.isfinite(values)).sum())
    if metric in main.of_tests(names(metrics)):
        found["best_on_validation"] = best_on_validation(metrics, metric, ties, main)

    def at(i: int) -> dict[str, float]:
        means = (over_time.t_s, over_time.mean, over_time.std)
        return dict(zip(("t_s", "mean", "std"), (float(m[i]) for m in means), strict=True))

    # the mean is NaN where a node's models are not finite; the best is among the others
    sign = 1 if main.prefers_lower(metric) else -1
    means = np.where(np.isfinite(over_time.mean), over_time.mean * sign, np.inf)
    none = dict.fromkeys(("t_s", "mean", "std"), math.nan)
    found["best"] = at(int(np.argmin(means))) if np.isfinite(means).any() else none
    found["last"] = at(-1)

    chosen = (metrics["metric"] == metric) & (metrics["t_s"] == now)
    if chosen.sum() > over_time.nodes:
        stages = metrics["stage"][chosen]
        found["stages"] = {
            stage: node_statistics(metrics["value"][chosen][stages == stage], metric, main)
            for stage in dict.fromkeys(stages.tolist())
        }
    return found


def spent(folder: Path, t_s: NDArray[np.float64]) -> Rows | None:
    """Return the spending of the whole network, servers included, by each time.

    Returns
    -------
    dict of str to numpy.ndarray or None
        `bits_transmitted` and `airtime_s`, see `netsim.recording.schema`; None for a run folder
        that was written before they were counted.
    """
    if not run_folder.has(folder, "traffic"):
        return None
    rows = run_folder.read(folder, "traffic")
    at = np.searchsorted(rows["t_s"], t_s, side="right") - 1
    return {name: rows[name][at] for name in ("bits_transmitted", "airtime_s")}


def megabytes(folder: Path, t_s: NDArray[np.float64]) -> NDArray[np.float64]:
    """Megabytes that the whole network had transmitted by each evaluation.

    NaN for a run folder that was written before they were counted.
    """
    found = spent(folder, t_s)
    bits = np.full(len(t_s), np.nan) if found is None else found["bits_transmitted"]
    return np.asarray(bits / BITS_PER_MEGABYTE)


STARVED_SHARE = 0.25
"""A node is starved that was handed fewer messages than this share of what the median node was."""


def starved(got: ArrayLike, roles: Any = None) -> NDArray[np.bool_]:
    """Nodes that were handed fewer messages than a quarter of what the median node was.

    A server is none, and no node is where the median node got nothing.

    `got`: messages that came to each node. `roles`: None: there is no server.
    """
    came = np.asarray(got)
    judged = np.ones(len(came), dtype=np.bool_)
    if roles is not None:
        judged = np.array([str(role) != "server" for role in roles], dtype=np.bool_)
    if not judged.any():
        return np.zeros(len(came), dtype=np.bool_)
    return np.asarray(judged & (came < STARVED_SHARE * np.median(came[judged])))
