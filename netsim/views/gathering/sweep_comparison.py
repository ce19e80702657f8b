"""A sweep as one paired table: each point against the first, seed by seed.

Runs of one seed share their draws (data, initial models, wake-ups, fading) as far as their
scenarios agree, so what a change does is the mean over seeds of the difference, and its interval
is that of the differences: far narrower than two intervals side by side.

Intervals are Student's, 95 %, over seeds: mean +- t(0.975, n - 1) s / sqrt(n), where s has the
divisor n - 1. One seed has none.
"""

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scipy.special import stdtrit

from netsim.errors import ScenarioError
from netsim.recording.summary import load
from netsim.recording.summary_fields import DEFAULT, MEASURES, row
from netsim.registry import did_you_mean
from netsim.views.gathering.compare import csv_cell, time_to_target
from netsim.views.gathering.lead import lead
from netsim.views.render.terminal_tables import Row

RunRows = Mapping[str, Mapping[str, Mapping[int, Row]]]
"""Measures of runs by point, algorithm and seed."""

LEVEL = 0.95
"""Of the intervals."""


@dataclass(frozen=True, slots=True)
class SweepDesign:
    """Keys that a sweep varies, and the measures that it shows.

    Attributes
    ----------
    points : mapping of str to mapping
        By label, which is the point's folder, the swept keys and their values; the others are
        compared with the first.
    seeds : tuple of int
    target : float or None
        Value of the main metric whose first crossing is told.
    show : tuple of str
        Names of measures for table and figure; none: `summary_fields.DEFAULT`.
    against : str or None
        The algorithm over which the others' lead is told.
    """

    points: Mapping[str, Mapping[str, Any]]
    seeds: tuple[int, ...]
    target: float | None = None
    show: tuple[str, ...] = ()
    against: str | None = None


@dataclass(frozen=True, slots=True)
class Estimate:
    """One measure at one point, over seeds.

    Attributes
    ----------
    mean : float
    half_width : float or None
        Of the 95 % interval around it; None for one seed.
    seeds : int
        Runs that have the measure.
    std_seeds : float or None
        Standard deviation with divisor n - 1.
    diff, diff_half_width : float or None
        Mean difference to the first point, or what else was asked for, over the seeds that both
        have, and half its interval.
    """

    mean: float
    half_width: float | None
    seeds: int
    std_seeds: float | None
    diff: float | None = None
    diff_half_width: float | None = None


@dataclass(frozen=True, slots=True)
class PointResult:
    """One algorithm at one point of the sweep.

    Attributes
    ----------
    point : str
        Its label, which is its folder.
    values : mapping
        The swept keys and their values.
    algorithm : str
    seeds : int
        Runs that have ended.
    estimates : mapping of str to Estimate
        By measure; those that no run has are left out.
    """

    point: str
    values: Mapping[str, Any]
    algorithm: str
    seeds: int
    estimates: Mapping[str, Estimate]


def mean_and_half_width(values: Sequence[float]) -> tuple[float, float | None]:
    """Mean of a sample and half its 95 % interval; None for fewer than two values, and for nan."""
    mean = statistics.fmean(values)
    if len(values) < 2 or not math.isfinite(mean):
        return mean, None
    return mean, half_widths_per_std(len(values)) * statistics.stdev(values)


def half_widths_per_std(seeds: int) -> float:
    """Half the 95 % interval of a mean over so many seeds, two at least, over their deviation."""
    return float(stdtrit(seeds - 1, (1 + LEVEL) / 2)) / math.sqrt(seeds)


def compare_points(
    out: Path, swept: SweepDesign, paired_to: str | None = None
) -> list[PointResult]:
    """Every point and algorithm of which at least one run has ended, in the sweep's order.

    Parameters
    ----------
    out : Path
        Folder of the sweep: `<out>/<point label>/seed-<s>/<algorithm>/summary.json`.
    swept : SweepDesign
    paired_to : str, optional
        What differences are to: an algorithm, at each point, or a point, of each algorithm. None:
        the first point.

    Raises
    ------
    ScenarioError
        If there is no finished run, or neither an algorithm nor a point is called so.
    """
    made = point_results(run_rows(out, swept), swept, paired_to, out)
    if not made:
        raise ScenarioError(f"{out}: no finished run of a sweep (<point>/seed-<s>/<algorithm>/)")
    return made


def run_rows(out: Path, swept: SweepDesign) -> RunRows:
    """The measures of every run of a sweep that has ended.

    Parameters
    ----------
    out : Path
        As of `compare_points`.
    swept : SweepDesign
    """
    return {label: _runs(out / label, swept) for label in swept.points}


def point_results(
    found: RunRows, swept: SweepDesign, paired_to: str | None = None, out: Path = Path()
) -> list[PointResult]:
    """The same as `compare_points`, from the measures of runs.

    Parameters
    ----------
    found : mapping
        Of all the sweep's points, see `run_rows`.
    swept : SweepDesign
    paired_to : str, optional
        As of `compare_points`.
    out : Path
        What a message names.

    Raises
    ------
    ScenarioError
        If neither an algorithm nor a point is called so.
    """
    known = {name for algorithms in found.values() for name in algorithms}
    if paired_to is not None and paired_to not in known and paired_to not in found:
        raise ScenarioError(
            f"{out}: paired to {paired_to}: there is no such algorithm or point; there are "
            f"{', '.join((*sorted(known), *found))}" + did_you_mean(paired_to, (*known, *found))
        )

    def other(label: str, algorithm: str) -> Mapping[int, Row] | None:
        if paired_to in known:
            return None if algorithm == paired_to else found[label].get(str(paired_to), {})
        to = paired_to or next(iter(found))
        return None if label == to else found[to].get(algorithm, {})

    return [
        PointResult(
            label, swept.points[label], algorithm, len(runs), _cells(runs, other(label, algorithm))
        )
        for label, algorithms in found.items()
        for algorithm, runs in algorithms.items()
    ]


def _runs(folder: Path, swept: SweepDesign) -> dict[str, dict[int, Row]]:
    """The numbers of a point's runs by algorithm and seed."""
    found: dict[str, dict[int, Row]] = {}
    for seed in swept.seeds:
        done = {path.parent.name: path.parent for path in _summaries(folder, seed)}
        rival = done.get(swept.against or "")
        for name, own in done.items():
            numbers = row(load(own)) | time_to_target(own, swept.target)
            if rival is not None and own != rival:
                numbers |= lead(own, rival)
            found.setdefault(name, {})[seed] = numbers
    return found


def _summaries(folder: Path, seed: int) -> list[Path]:
    return sorted(folder.glob(f"seed-{seed}/*/summary.json"))


def _cells(runs: Mapping[int, Row], other: Mapping[int, Row] | None) -> dict[str, Estimate]:
    cells = {}
    for name in MEASURES:
        said = {seed: row[name] for seed, row in runs.items() if row.get(name) is not None}
        if any(_is_spoilt(name, row) for row in runs.values()):
            continue  # a mean over the seeds that did not diverge would be of the lucky ones
        if not said:
            continue
        values = list(said.values())
        mean, half = mean_and_half_width(values)
        std_seeds = statistics.stdev(values) if len(values) > 1 else None
        pairs = [
            value - other[seed][name]
            for seed, value in said.items()
            if other is not None and seed in other and other[seed].get(name) is not None
        ]
        diff, diff_half_width = mean_and_half_width(pairs) if pairs else (None, None)
        cells[name] = Estimate(mean, half, len(values), std_seeds, diff, diff_half_width)
    return cells


def _is_spoilt(name: str, row: Row) -> bool:
    """True if a run has no such number because models of it are not finite."""
    diverged = bool(row.get("nodes_diverged") or row.get("nodes_caught"))
    return diverged and row.get(name) is None and MEASURES[name].is_of_models


def measures_to_show(found: Sequence[PointResult], show: Sequence[str]) -> list[str]:
    """The measures to show: those asked for, else those of the default that any run has."""
    if show:
        return list(show)
    return [name for name in DEFAULT if any(name in line.estimates for line in found)]


def tidy_rows(found: Sequence[PointResult]) -> list[Row]:
    """One row a point, algorithm and measure, for CSV.

    Returns
    -------
    list of dict
        `point`, the swept keys, `algorithm metric mean low high seeds std_seeds diff diff_low
        diff_high`: mean over `seeds` with its interval, standard deviation over seeds, and mean
        difference to the first point over the seeds that both have, with its interval.
    """
    return [
        {
            "point": line.point,
            **{key: csv_cell(value) for key, value in line.values.items()},
            "algorithm": line.algorithm,
            "metric": name,
            "mean": cell.mean,
            **_ends("", cell.mean, cell.half_width),
            "seeds": cell.seeds,
            "std_seeds": cell.std_seeds,
            "diff": cell.diff,
            **_ends("diff_", cell.diff, cell.diff_half_width),
        }
        for line in found
        for name, cell in line.estimates.items()
    ]


def _ends(prefix: str, mean: float | None, half: float | None) -> Row:
    known = mean is not None and half is not None
    return {
        f"{prefix}low": mean - half if known else None,  # type: ignore[operator]
        f"{prefix}high": mean + half if known else None,  # type: ignore[operator]
    }
