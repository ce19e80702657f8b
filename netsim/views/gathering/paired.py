"""Two runs compared node by node: the same node of the same seed in both.

Nodes of one run share their links and data, so a node is no sample of its own: the interval is that
of the mean over nodes, over seeds (Student's, 95 %), and one seed has none.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from netsim.errors import ScenarioError
from netsim.recording import run_folder
from netsim.recording.main_metric import MainMetric
from netsim.recording.metrics import last_in_common, names
from netsim.recording.parquet_parts import Rows
from netsim.recording.summary import load
from netsim.registry import did_you_mean
from netsim.views.gathering.frames import PlayedRun, labels_of
from netsim.views.gathering.sweep_comparison import mean_and_half_width


@dataclass(frozen=True, eq=False)
class Comparison:
    """Comparison of the same nodes in two runs; a notebook shows `by_algorithm`.

    Attributes
    ----------
    metric : str
    by_node : pandas.DataFrame
        A row a pair: the runs' labels, `node`, `t_s` [s], `value`, `other` and
        `diff` = value - other.
    by_algorithm : pandas.DataFrame
        A row a pair of algorithms (of a sweep, at each point), over its nodes and seeds: means of
        `value`, `other` and `diff`; `diff_low` and `diff_high`, the 95 % interval over seeds (NaN
        for one seed); `std_nodes`, the standard deviation of `diff` over nodes, averaged over
        seeds; `better`, the share of nodes whose value is better than in the other run; `nodes`
        and `seeds`, how many.
    """

    metric: str
    by_node: pd.DataFrame
    by_algorithm: pd.DataFrame

    def __repr__(self) -> str:
        return f"{self.metric}, this run minus the other, node by node\n{self.by_algorithm}"

    def _repr_html_(self) -> str:
        told = f"<p>{self.metric}: this run minus the other, node by node</p>"
        return told + str(self.by_algorithm._repr_html_())


def compare(
    runs: Sequence[PlayedRun],
    others: Sequence[PlayedRun],
    metric: str = "accuracy",
    at_s: float | None = None,
) -> Comparison:
    """Compare runs, paired by algorithm, by seed and by node.

    Where each side has one algorithm these two are compared, whatever they are called.

    Parameters
    ----------
    runs, others : sequence of PlayedRun
    metric : str
    at_s : float, optional
        Virtual time [s]: the last evaluation that both runs of a pair have at or before it. None:
        the last that both have.

    Returns
    -------
    Comparison

    Raises
    ------
    ScenarioError
        If no two runs are a pair, or a pair has not measured the metric of the same nodes.
    """
    pairs = list(_pairs(runs, others))
    if not pairs:
        raise ScenarioError(
            f"compare: no two runs have the same {', '.join(_keys(runs, others))}: here "
            f"{_said(runs, others)}, there {_said(others, runs)}; compare runs of the same seeds, "
            'or one algorithm each, as in run["mine"].compare(other["fedavg"])'
        )
    by_node = pd.concat(
        [_paired(run, other, metric, at_s) for run, other in pairs], ignore_index=True
    )
    judged = MainMetric.of(load(runs[0].folder))
    return Comparison(metric, by_node, _by_algorithm(by_node, judged.prefers_lower(metric)))


def _keys(runs: Sequence[PlayedRun], others: Sequence[PlayedRun]) -> list[str]:
    """The labels that both sides have and by which they are paired."""
    there = labels_of(others)
    alone = all(len({r.labels["algorithm"] for r in side}) == 1 for side in (runs, others))
    return [k for k in labels_of(runs) if k in there and not (alone and k == "algorithm")]


def _said(runs: Sequence[PlayedRun], others: Sequence[PlayedRun]) -> str:
    keys = _keys(runs, others)
    return "; ".join(dict.fromkeys(", ".join(f"{k} {r.labels[k]}" for k in keys) for r in runs))


def _pairs(
    runs: Sequence[PlayedRun], others: Sequence[PlayedRun]
) -> Iterator[tuple[PlayedRun, PlayedRun]]:
    keys = _keys(runs, others)
    for run in runs:
        for other in others:
            if all(run.labels.get(key) == other.labels.get(key) for key in keys):
                yield run, other


def _paired(run: PlayedRun, other: PlayedRun, metric: str, at_s: float | None) -> pd.DataFrame:
    """The rows of one pair."""
    mine, theirs = _measured(run, metric), _measured(other, metric)
    found = last_in_common(mine, theirs, metric, math.inf if at_s is None else at_s)
    if found is None:
        until = "" if at_s is None else f" by {at_s:g} s"
        raise ScenarioError(
            f"compare: {run.folder} and {other.folder} were never evaluated at the same "
            f"time{until}; give both the same metrics.every_s"
        )
    if not len(found.nodes):
        counts = [len(set(rows["node"].tolist())) for rows in (mine, theirs)]
        raise ScenarioError(
            f"compare: {run.folder} has measured {counts[0]} nodes and {other.folder} "
            f"{counts[1]}, or others; only runs of the same nodes can be paired"
        )
    labels = {key: value for key, value in run.labels.items() if key != "algorithm"}
    return pd.DataFrame(
        {
            **{key: [value] * len(found.nodes) for key, value in labels.items()},
            "algorithm": run.labels["algorithm"],
            "other_algorithm": other.labels["algorithm"],
            "node": found.nodes,
            "t_s": found.t_s,
            "value": found.values,
            "other": found.others,
            "diff": found.values - found.others,
        }
    )


def _measured(run: PlayedRun, metric: str) -> Rows:
    rows = run_folder.read(run.folder, "metrics")
    known = names(rows)
    if metric not in known:
        raise ScenarioError(
            f"{run.folder}: has not measured {metric}; it has {', '.join(known) or 'no metric'}"
            + did_you_mean(metric, known)
        )
    return rows


def _by_algorithm(by_node: pd.DataFrame, is_lower_better: bool) -> pd.DataFrame:
    sign = -1 if is_lower_better else 1
    labels = by_node.columns[: by_node.columns.get_loc("node")]
    keys = [name for name in labels if name != "seed"]
    lines = []
    for values, rows in by_node.groupby(keys, sort=False):
        seeds = [one["diff"] for _, one in rows.groupby("seed", sort=False)]
        mean, half = mean_and_half_width([float(diff.mean(skipna=False)) for diff in seeds])
        half = np.nan if half is None else half
        lines.append(
            {
                **dict(zip(keys, values, strict=True)),
                "value": rows["value"].mean(skipna=False),
                "other": rows["other"].mean(skipna=False),
                "diff": mean,
                "diff_low": mean - half,
                "diff_high": mean + half,
                "std_nodes": float(np.mean([diff.std(ddof=0, skipna=False) for diff in seeds])),
                "better": float((sign * rows["diff"] > 0).mean())
                if rows["diff"].notna().all()
                else np.nan,
                "nodes": rows["node"].nunique(),
                "seeds": len(seeds),
            }
        )
    return pd.DataFrame(lines).set_index(keys)
