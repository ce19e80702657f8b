"""A metric over time, averaged over nodes and seeds, and what its bands span.

Over seeds: Student's 95 % interval of the mean, or the standard deviation (divisor n - 1). Over
nodes: the standard deviation (divisor n), averaged over seeds. A difference of two curves is taken
seed by seed (and node by node, for its spread over nodes) before anything is averaged.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from netsim.errors import ScenarioError
from netsim.recording import metrics as measured
from netsim.recording.reader import RunFolder
from netsim.views import Quantity
from netsim.views.gathering.comparison import are_few, half_widths_per_std

Floats = NDArray[np.float64]
Band = Literal["interval", "std", "nodes", "none"]
BANDS: dict[str, str] = {
    "interval": "95 % interval over seeds",
    "std": "± standard deviation over seeds",
    "nodes": "± standard deviation over nodes",
    "none": "",
}
"""Kinds of bands, and their words in figures."""


@dataclass(frozen=True, eq=False)
class Line:
    """One curve."""

    label: str
    x: Floats
    y: Floats
    """(T,) each."""
    half: Floats | None
    """Half the width of its band, (T,)."""
    seeds: int = 1
    """Runs that it is the mean of."""
    each: Floats | None = None
    """(seeds, T), where these are few: figures show them in place of a band over seeds."""


_Seed = tuple[Floats, Floats, Floats]
"""Of one seed: times of evaluation [s], means and standard deviations over nodes, (T,) each."""


class Against(NamedTuple):
    """A horizontal axis of curves."""

    axis: Quantity
    column: str
    """Its numbers in a file."""
    places: Callable[[RunFolder, Floats], Floats]
    """(run, times of evaluation [s]) -> where they lie on it."""
    silent: str = ""
    """Words on a curve that ends near 0."""


def _airtime(run: RunFolder, t_s: Floats) -> Floats:
    found = measured.spent(run.folder, t_s)
    return np.full(len(t_s), np.nan) if found is None else found["airtime_s"]


AGAINST = {
    "time": Against(Quantity("x", "Virtual time", "s"), "t_s", lambda _, t_s: t_s),
    "megabytes": Against(
        Quantity("x", "Transmitted by all nodes, headers included", "MB"),
        "transmitted_megabytes",
        lambda run, t_s: measured.megabytes(run.folder, t_s),
        "at the end; hardly sends",
    ),
    "airtime": Against(
        Quantity("x", "Airtime of all nodes", "s"),
        "airtime_s",
        _airtime,
        "at the end; hardly on air",
    ),
}


def over_seeds(
    label: str, runs: Sequence[RunFolder], metric: str, against: str, band: Band
) -> Line:
    """The mean over nodes, and over runs that differ in their seed.

    Parameters
    ----------
    runs : sequence of RunFolder
        The curve has the times at which all were evaluated.
    against : {"time", "megabytes", "airtime"}
        Over seeds it is averaged, too, evaluation by evaluation.
    band : {"interval", "std", "nodes", "none"}

    Raises
    ------
    ScenarioError
        If there is no such time.
    """
    found = [measured.curve(run.measured, metric, run.main) for run in runs]
    t_s = reduce(np.intersect1d, (one.t_s for one in found))
    if not len(t_s):
        raise ScenarioError(
            f"{runs[0].folder} and other seeds: metrics.every_s: were at no common time evaluated "
            "with a model of every node; play all with the same metrics.every_s and horizon_s"
        )
    x = np.stack([AGAINST[against].places(run, t_s) for run in runs]).mean(axis=0)
    return _line(label, x, t_s, [(one.t_s, one.mean, one.std) for one in found], band)


def _line(label: str, x: Floats, t_s: Floats, seeds: Sequence[_Seed], band: Band) -> Line:
    """The mean of seeds at times that all have, `x` on the axis."""
    kept = [np.isin(own_t_s, t_s) for own_t_s, _, _ in seeds]
    means = np.stack([mean[k] for (_, mean, _), k in zip(seeds, kept, strict=True)])
    stds = np.stack([std[k] for (_, _, std), k in zip(seeds, kept, strict=True)])
    half, each = half_width(means, stds, band), means if are_few(len(means)) else None
    return Line(label, x, means.mean(axis=0), half, len(means), each)


def half_width(means: Floats, stds: Floats, band: Band) -> Floats | None:
    """Half the width of a band, (T,); None where there is none: over one seed.

    Parameters
    ----------
    means, stds : (S, T) array
        Mean and standard deviation over nodes, of each seed.
    band : {"interval", "std", "nodes", "none"}
    """
    seeds = len(means)
    if band == "nodes":
        return np.asarray(stds.mean(axis=0))
    if band == "none" or seeds < 2:
        return None
    spread = means.std(axis=0, ddof=1)
    return np.asarray(spread * half_widths_per_std(seeds) if band == "interval" else spread)


def worst(label: str, run: RunFolder, metric: str, against: str) -> Line:
    """The mean over the worst 10 % of a run's nodes.

    Parameters
    ----------
    against : {"time", "megabytes", "airtime"}
    """
    found = measured.curve(run.measured, metric, run.main)
    return Line(label, AGAINST[against].places(run, found.t_s), found.worst, None)


def difference(
    label: str, paired: Sequence[tuple[RunFolder, RunFolder]], metric: str, band: Band
) -> Line:
    """The mean difference of runs to others with which they share their seeds, over time.

    Parameters
    ----------
    paired : sequence of (RunFolder, RunFolder)
        The run, and the one that is subtracted.
    band : {"interval", "std", "nodes", "none"}

    Raises
    ------
    ScenarioError
        If they were evaluated at no common time, or on other nodes.
    """
    found = [_paired(run, other, metric) for run, other in paired]
    t_s = reduce(np.intersect1d, (own_t_s for own_t_s, _, _ in found))
    if not len(t_s):
        first, second = paired[0]
        raise ScenarioError(
            f"{first.folder} and {second.folder}: metrics.every_s: were evaluated at no common "
            "time, so that no difference can be taken; play both with the same metrics.every_s"
        )
    return _line(label, t_s, t_s, found, band)


def node_differences(run: RunFolder, other: RunFolder, metric: str) -> dict[float, Floats]:
    """Differences node by node, in the order of the nodes, by common time of evaluation [s].

    Parameters
    ----------
    run, other : RunFolder
        The other is subtracted.

    Raises
    ------
    ScenarioError
        If other nodes were measured.
    """
    mine, theirs = (measured.per_node_rows(one.measured, metric) for one in (run, other))
    own, others = (measured.curve(one.measured, metric, one.main) for one in (run, other))
    common = np.intersect1d(own.t_s, others.t_s)
    mine, theirs = (
        {name: cells[np.isin(rows["t_s"], common)] for name, cells in rows.items()}
        for rows in (mine, theirs)
    )
    if not np.array_equal(mine["node"], theirs["node"]):
        raise ScenarioError(
            f"{run.folder} and {other.folder}: nodes: {metric} was measured of other nodes, so "
            "that they can't be paired; pair runs of the same scenario"
        )
    starts = np.unique(mine["t_s"], return_index=True)[1]
    differences = np.split(mine["value"] - theirs["value"], starts[1:])
    return dict(zip(common.tolist(), differences, strict=True)) if len(common) else {}


def _paired(run: RunFolder, other: RunFolder, metric: str) -> _Seed:
    """The differences of one seed."""
    found = node_differences(run, other, metric)
    return (
        np.array(list(found)),
        np.array([one.mean() for one in found.values()]),
        np.array([one.std() for one in found.values()]),
    )
