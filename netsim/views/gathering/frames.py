"""The tables of run folders as pandas DataFrames, those of several runs below each other."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from netsim.recording import run_folder
from netsim.recording.main_metric import MainMetric
from netsim.recording.summary import load
from netsim.recording.summary_fields import row


@dataclass(frozen=True)
class PlayedRun:
    """One run of one algorithm.

    Attributes
    ----------
    folder : Path
        Holds its `summary.json`.
    labels : mapping of str to (int, float or str)
        What tells it from those beside it: swept keys, `seed`, `algorithm`; the first columns of
        every table.
    """

    folder: Path
    labels: Mapping[str, int | float | str]


def table(runs: Sequence[PlayedRun], name: str) -> pd.DataFrame:
    """A table of some runs; words are categories, times in virtual seconds.

    Parameters
    ----------
    runs : sequence of PlayedRun
    name : {"messages", "wakes", "metrics", "traffic", "graph"}

    Returns
    -------
    pandas.DataFrame
        The runs' labels, then the columns of `netsim.recording.schema`.

    Raises
    ------
    ScenarioError
        If a run has no such table, or it can't be read.
    """
    return _below_each_other(
        [_labelled(run, run_folder.table(run.folder, name).to_pandas()) for run in runs]
    )


def nodes(runs: Sequence[PlayedRun]) -> pd.DataFrame:
    """Return the table of nodes: a row a node of each world.

    Algorithms of one scenario have the same nodes, which stand there once.

    Parameters
    ----------
    runs : sequence of PlayedRun

    Returns
    -------
    pandas.DataFrame
        The runs' labels but for `algorithm`, then the columns of `nodes.parquet`.

    Raises
    ------
    ScenarioError
        If a table can't be read.
    """
    worlds: dict[str, PlayedRun] = {}
    for run in runs:
        labels = {key: value for key, value in run.labels.items() if key != "algorithm"}
        worlds.setdefault(repr(labels), PlayedRun(run.folder, labels))
    return _below_each_other(
        [
            _labelled(world, run_folder.node_table(world.folder).to_pandas())
            for world in worlds.values()
        ]
    )


def summary(runs: Sequence[PlayedRun]) -> pd.DataFrame:
    """Return the measures of runs: a row a run, a column a measure that any of them has.

    The measure that they are judged by is always there, nan where models were not finite.

    Parameters
    ----------
    runs : sequence of PlayedRun

    Returns
    -------
    pandas.DataFrame
        Indexed by the runs' labels, those that all runs share left out; columns are named and have
        the units of `netsim.recording.summary_fields`, shares lie in [0, 1].

    Raises
    ------
    ScenarioError
        If a folder is not that of a finished run.
    """
    summaries = [load(run.folder) for run in runs]
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


def labels_of(runs: Sequence[PlayedRun]) -> list[str]:
    """The names of all labels, in order."""
    return list(dict.fromkeys(key for run in runs for key in run.labels))


def _differ(runs: Sequence[PlayedRun], key: str) -> bool:
    return len({repr(run.labels.get(key)) for run in runs}) > 1


def _labelled(run: PlayedRun, frame: pd.DataFrame) -> pd.DataFrame:
    for place, (key, value) in enumerate(run.labels.items()):
        if isinstance(value, str):
            value = pd.Categorical.from_codes([0] * len(frame), [value])
        frame.insert(place, key, value)
    return frame


def _below_each_other(frames: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Frames of equal columns as one; words stay categories."""
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
