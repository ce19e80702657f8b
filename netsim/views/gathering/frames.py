"""Runs as pandas DataFrames: their tables below each other, and their differences node by node."""

import html
import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd

from netsim.errors import RunWarning, ScenarioError, one_line
from netsim.recording import run_folder
from netsim.recording.main_metric import MainMetric
from netsim.recording.metrics import curve, names
from netsim.recording.parquet_parts import Rows
from netsim.recording.reader import RunFolder
from netsim.recording.run_mismatches import NAMED, made_unlike
from netsim.recording.summary_fields import row
from netsim.registry import did_you_mean
from netsim.views import Shown
from netsim.views.gathering.comparison import node_pairs, spread


def table(runs: Sequence[RunFolder], name: str) -> pd.DataFrame:
    """A table of `recording.schema` of some runs, behind their labels; words are categories.

    A `RunWarning` names the runs that have none, unless none has.
    """
    having = _those_having(runs, f"table {name}", lambda run: run_folder.has(run.folder, name))
    return _below_each_other(
        having, [run_folder.table(run.folder, name).to_pandas() for run in having]
    )


def nodes(runs: Sequence[RunFolder]) -> pd.DataFrame:
    """One row per node of each world, behind the runs' labels but for `algorithm`.

    Algorithms of one scenario have the same nodes, which stand there once.
    """
    worlds: dict[str, RunFolder] = {}
    for run in runs:
        labels = {key: value for key, value in run.labels.items() if key != "algorithm"}
        worlds.setdefault(repr(labels), RunFolder(run.folder, labels))
    those = list(worlds.values())
    return _below_each_other(
        those, [run_folder.node_table(world.folder).to_pandas() for world in those]
    )


def summary(runs: Sequence[RunFolder]) -> pd.DataFrame:
    """One row per run that has ended, one column per measure that any of them has.

    The measure that they are judged by is always there, nan where models were not finite. Rows are
    indexed by the runs' labels, those that all runs share left out; columns are named and have the
    units of `netsim.recording.summary_fields`, shares lie in [0, 1].
    """
    summaries = [run.summary or run_folder.summary(run.folder) for run in runs]
    frame = pd.DataFrame([row(summary) for summary in summaries])
    # What runs are judged by stays where it is null, as of models that are not finite.
    names = {MainMetric.of(summary).name for summary in summaries}
    judged = {"accuracy" if name == "accuracy" else "main_metric" for name in names}
    frame = frame.loc[:, frame.notna().any() | frame.columns.isin(judged)]
    frame = frame.assign(**{name: pd.to_numeric(frame[name]) for name in judged})
    keys = [key for key in labels_of(runs) if key == "algorithm" or _differ(runs, key)]
    columns = [[run.labels.get(key) for run in runs] for key in keys]
    if len(keys) == 1:
        frame.index = pd.Index(columns[0], name=keys[0])
    else:
        frame.index = pd.MultiIndex.from_arrays(columns, names=keys)
    return frame


def shown(runs: Sequence[RunFolder], gather: Callable[[RunFolder], Shown]) -> pd.DataFrame:
    """Return the tables of a view of each run below each other, after the runs' labels."""
    return _below_each_other(runs, [gather(run).frame() for run in runs])


def curves(runs: Sequence[RunFolder], metric: str) -> pd.DataFrame:
    """A metric over time, one row per run and evaluation at which all its nodes had a model.

    Behind the runs' labels: `t_s` [s], then over nodes `mean`, `std` and `worst`, the mean of the
    worst tenth. A `RunWarning` names the runs that have not measured it.
    """
    having = _those_having(runs, f"metric {metric}", lambda run: _has_measured(run, metric))
    found = []
    for run in having:
        one = curve(_measured(run, metric), metric, run.main)
        columns = {"t_s": one.t_s, "mean": one.mean, "std": one.std, "worst": one.worst}
        found.append(pd.DataFrame(columns))
    return _below_each_other(having, found)


def _those_having(
    runs: Sequence[RunFolder], what: str, has: Callable[[RunFolder], bool]
) -> Sequence[RunFolder]:
    """The runs that have something, with a warning that names the others; all if none has."""
    having = [run for run in runs if has(run)]
    others = [one_line(run.folder) for run in runs if run not in having]
    if not having or not others:
        return runs
    more = f" and {len(others) - NAMED} more" if len(others) > NAMED else ""
    warnings.warn(
        f"{', '.join(others[:NAMED])}{more}: has no {what}; only the other runs are given",
        RunWarning,
        stacklevel=4,
    )
    return having


def labels_of(runs: Sequence[RunFolder]) -> list[str]:
    """The names of all labels, in order."""
    return list(dict.fromkeys(key for run in runs for key in run.labels))


def _differ(runs: Sequence[RunFolder], key: str) -> bool:
    return len({repr(run.labels.get(key)) for run in runs}) > 1


def _below_each_other(runs: Sequence[RunFolder], frames: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Frames of equal columns, one a run, as one behind the runs' labels; words stay categories.

    Of a search a method's trials lack the labels that are keys of another one: nan.
    """
    for run, frame in zip(runs, frames, strict=True):
        for place, key in enumerate(labels_of(runs)):
            value = run.labels.get(key, np.nan)
            if isinstance(value, str):
                value = pd.Categorical.from_codes([0] * len(frame), [value])
            frame.insert(place, key, value)
    if len(frames) == 1:
        return frames[0]
    words = {
        name: list(dict.fromkeys(word for frame in frames for word in frame[name].cat.categories))
        for name in frames[0].columns
        if all(isinstance(frame.dtypes.get(name), pd.CategoricalDtype) for frame in frames)
    }
    return pd.concat(
        [
            frame.assign(**{n: frame[n].cat.set_categories(known) for n, known in words.items()})
            for frame in frames
        ],
        ignore_index=True,
    )


@dataclass(frozen=True, eq=False)
class Comparison:
    """Comparison of the same nodes in two runs; a notebook shows `by_algorithm`.

    Attributes
    ----------
    metric : str
    by_node : pandas.DataFrame
        One row per pair: the runs' labels, `node`, `t_s` [s], `value`, `other` and
        `diff` = value - other.
    by_algorithm : pandas.DataFrame
        One row per pair of algorithms (in a sweep, at each point), over nodes and seeds: `t_s` [s],
        the last evaluation that both runs of a pair have (the earliest of these where they differ);
        means of `value`, `other` and `diff` then; `diff_low` and `diff_high`, the 95 % interval
        over seeds (NaN for one seed); `std_nodes`, the standard deviation of `diff` over nodes,
        averaged over seeds; `better`, the share of nodes whose value is better than in the other
        run; `nodes` and `seeds`, how many.
    unlike : tuple of str
        Sentences on what the runs were not made alike of beside their methods: keys of `[data]`,
        the nodes' samples, contents of files, sources. Empty: nothing that is known of.
    """

    metric: str
    by_node: pd.DataFrame
    by_algorithm: pd.DataFrame
    unlike: tuple[str, ...] = ()

    def __repr__(self) -> str:
        table = self.by_algorithm.to_string(max_rows=60, line_width=100)  # pandas hides columns
        text = f"{self.metric}, this run minus the other, node by node\n{table}"
        return "\n".join([text, *self.unlike])

    def _repr_html_(self) -> str:
        caption = f"<p>{self.metric}: this run minus the other, node by node</p>"
        unlike = "".join(f"<p>{html.escape(one)}</p>" for one in self.unlike)
        return caption + str(self.by_algorithm._repr_html_()) + unlike


def compare(
    runs: Sequence[RunFolder],
    others: Sequence[RunFolder],
    metric: str = "accuracy",
    at_s: float | None = None,
) -> Comparison:
    """Compare runs, paired by algorithm, by seed and by node.

    Where each side has one algorithm these two are compared, whatever they are called. A
    `RunWarning` names the runs that have not measured the metric.

    Parameters
    ----------
    at_s : float, optional
        Virtual time [s]: the last evaluation that both runs of a pair have at or before it. None:
        the last that both have.

    Raises
    ------
    ScenarioError
        If no two runs are a pair, a run is in several, no pair has measured the metric, or one
        has of other nodes.
    """
    has = partial(_has_measured, metric=metric)
    pairs = list(_pairs(runs, others))
    for run in runs:
        beside = [there for here, there in pairs if here is run]
        if len(beside) > 1:
            differ = [key for key in labels_of(beside) if _differ(beside, key)]
            raise ScenarioError(
                f"compare: {len(beside)} runs there are pairs of one here, as they differ in "
                f"{', '.join(differ) or 'nothing'}; open the folder of one of them"
            )
    if not pairs:
        raise ScenarioError(
            f"compare: no two runs have the same {', '.join(_keys(runs, others))}: here "
            f"{_runs_named(runs, others)}, there {_runs_named(others, runs)}; compare runs of the "
            'same seeds, or one algorithm each, as in run["mine"].compare(other["fedavg"])'
        )
    both = [side for pair in pairs for side in pair]
    having = _those_having(both, f"metric {metric}", has)
    pairs = [p for p in pairs if p[0] in having and p[1] in having] or pairs
    keys = [key for key in labels_of([run for run, _ in pairs]) if key != "algorithm"]
    by_node = pd.concat(
        [_paired(run, other, metric, at_s, keys) for run, other in pairs], ignore_index=True
    )
    judged = MainMetric.of(runs[0].summary)
    unlike = [
        sentence
        for run, other in pairs
        for sentence in made_unlike([run.folder, other.folder], _names_of(run, other))
    ]
    by_algorithm = _by_algorithm(by_node, judged.prefers_lower(metric))
    return Comparison(metric, by_node, by_algorithm, tuple(dict.fromkeys(unlike)))


def _names_of(run: RunFolder, other: RunFolder) -> list[str]:
    """Names of two runs: of their algorithms where these differ."""
    names = [str(one.labels["algorithm"]) for one in (run, other)]
    return names if names[0] != names[1] else ["this run", "the other"]


def _keys(runs: Sequence[RunFolder], others: Sequence[RunFolder]) -> list[str]:
    """The labels that both sides have and by which they are paired."""
    there = labels_of(others)
    alone = all(len({r.labels["algorithm"] for r in side}) == 1 for side in (runs, others))
    return [k for k in labels_of(runs) if k in there and not (alone and k == "algorithm")]


def _runs_named(runs: Sequence[RunFolder], others: Sequence[RunFolder]) -> str:
    keys = _keys(runs, others)
    each = (", ".join(f"{k} {r.labels[k]}" for k in keys if k in r.labels) for r in runs)
    return "; ".join(dict.fromkeys(each))


def _pairs(
    runs: Sequence[RunFolder], others: Sequence[RunFolder]
) -> Iterator[tuple[RunFolder, RunFolder]]:
    keys = _keys(runs, others)
    for run in runs:
        for other in others:
            if all(run.labels.get(key) == other.labels.get(key) for key in keys):
                yield run, other


def _paired(
    run: RunFolder, other: RunFolder, metric: str, at_s: float | None, keys: Sequence[str]
) -> pd.DataFrame:
    """The rows of one pair; `keys`: labels of any run but for its algorithm."""
    mine, theirs = _measured(run, metric), _measured(other, metric)
    found = node_pairs(mine, theirs, metric, math.inf if at_s is None else at_s)
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
    return pd.DataFrame(
        {
            **{key: [run.labels.get(key, np.nan)] * len(found.nodes) for key in keys},
            "algorithm": run.labels["algorithm"],
            "other_algorithm": other.labels["algorithm"],
            "node": found.nodes,
            "t_s": found.t_s,
            "value": found.values,
            "other": found.others,
            "diff": found.differences,
        }
    )


def _measured(run: RunFolder, metric: str) -> Rows:
    rows = run_folder.read(run.folder, "metrics")
    known = names(rows)
    if metric not in known:
        raise ScenarioError(
            f"{run.folder}: has not measured {metric}; it has {', '.join(known) or 'no metric'}"
            + did_you_mean(metric, known)
        )
    return rows


def _has_measured(run: RunFolder, metric: str) -> bool:
    return metric in names(run_folder.read(run.folder, "metrics", ("metric", "stage")))


def _by_algorithm(by_node: pd.DataFrame, is_lower_better: bool) -> pd.DataFrame:
    sign = -1 if is_lower_better else 1
    labels = by_node.columns[: by_node.columns.get_loc("node")]
    keys = [name for name in labels if name != "seed"]
    lines = []
    for values, rows in by_node.groupby(keys, sort=False, dropna=False):
        by_seed = rows.groupby("seed", sort=False)
        seeds = [one["diff"] for _, one in by_seed]
        mean, half, _ = spread([float(diff.mean(skipna=False)) for diff in seeds])
        both = by_seed[["value", "other"]].mean(skipna=False)
        half = np.nan if half is None else half
        lines.append(
            {
                **dict(zip(keys, values, strict=True)),
                "t_s": rows["t_s"].min(),
                **both.mean(skipna=False).to_dict(),  # a seed counts as much as another
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
