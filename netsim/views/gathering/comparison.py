"""Runs compared: their numbers by method, point and seed, and the differences of pairs.

Runs of one seed share their draws (data, initial models, wake-ups, fading) as far as their
scenarios agree. So the effect of a change is the mean of the differences of pairs, and its interval
is that of these differences, which is far narrower than the intervals of two separate means. A pair
is one seed of a sweep in two of its points or methods, or one node in two runs.

Intervals are Student's, 95 %: mean +- t(0.975, n - 1) s / sqrt(n), where s has the divisor n - 1.
One seed has none. Nodes of one run share their links and data: an interval over them tells what is
more than noise among these nodes; what holds for other seeds needs other seeds.
"""

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from netsim.errors import ScenarioError
from netsim.recording import run_folder
from netsim.recording.main_metric import MainMetric, is_share
from netsim.recording.metrics import curve, names, per_node_rows, spent
from netsim.recording.parquet_parts import Rows
from netsim.recording.summary_fields import DEFAULT, MEASURES, row
from netsim.scenario.labels import csv_cell
from netsim.units import BITS_PER_MEGABYTE
from netsim.views import Around, Row

LEVEL = 0.95
"""Of the intervals."""
FEWEST = 4
"""Seeds of a drawn interval. Two or three tell little of their spread, their interval is many times
as wide as they lie apart: figures show the seeds themselves, tables have the interval."""


# -- intervals and pairs ---------------------------------------------------------------------------


class Spread(NamedTuple):
    """A mean over a sample, and half its 95 % interval.

    Attributes
    ----------
    mean : float
    half_width : float or None
        None for fewer than two values, and for nan.
    size : int
    """

    mean: float
    half_width: float | None
    size: int

    @property
    def is_clear(self) -> bool:
        """True if the interval leaves out nought."""
        return self.half_width is not None and abs(self.mean) > self.half_width


def spread(values: Sequence[float]) -> Spread:
    """Mean of a sample of at least one, and half its 95 % interval."""
    mean = statistics.fmean(values)
    if len(values) < 2 or not math.isfinite(mean):
        return Spread(mean, None, len(values))
    half = half_widths_per_std(len(values)) * statistics.stdev(values)
    return Spread(mean, half, len(values))


def half_widths_per_std(seeds: int) -> float:
    """Half the 95 % interval of a mean over so many seeds, two at least, over their deviation."""
    return float(scipy.special.stdtrit(seeds - 1, (1 + LEVEL) / 2)) / math.sqrt(seeds)


def are_few(seeds: int) -> bool:
    """Return whether figures show single seeds, and no spread over so many."""
    return 1 < seeds < FEWEST


def spread_in_words(seeds: Iterable[int], spread_is: str) -> Around | None:
    """The meaning of what figures draw around means over so many seeds each, of a spread's words.

    None where nothing is a mean over several seeds.
    """
    counts = set(seeds)
    few = [word for n, word in ((2, "two"), (3, "three")) if n in counts]
    has_more = max(counts, default=0) >= FEWEST
    if not few:
        return Around(spread_is) if has_more else None
    return Around(spread_is, f"the {' or '.join(few)} seeds", has_more)


def paired(mine: Mapping[int, float], others: Mapping[int, float]) -> Spread | None:
    """Mean difference of the seeds that both have; None where they share none."""
    both = _differences(mine, others)
    return spread(both) if both else None


def _differences(mine: Mapping[int, float], others: Mapping[int, float]) -> list[float]:
    return [value - others[seed] for seed, value in mine.items() if seed in others]


@dataclass(frozen=True, eq=False)
class NodePairs:
    """A number of the same nodes in two runs."""

    nodes: NDArray[Any]
    """(N,) ids."""
    values: NDArray[np.float64]
    others: NDArray[np.float64]
    """In the one run and in the other, (N,)."""
    t_s: float = math.nan
    """Time of the measurement [s]; nan: over the run."""

    @property
    def differences(self) -> NDArray[np.float64]:
        """The one less the other."""
        return self.values - self.others


def node_pairs(
    metrics: Rows, others: Rows, metric: str, until_s: float = math.inf, column: str = "value"
) -> NodePairs | None:
    """Pair two runs node by node at the last time at which both measured a metric.

    Parameters
    ----------
    metrics, others : Rows
        Tables of metrics.
    until_s : float
        No later than this [s].
    column : str
        `value`, or what the node had spent by then: `steps`, `energy_j`.

    Returns
    -------
    NodePairs or None
        None where there is no such time; `nodes` is empty where other nodes were measured then.
    """
    mine, theirs = per_node_rows(metrics, metric), per_node_rows(others, metric)
    times = np.intersect1d(mine["t_s"], theirs["t_s"])
    times = times[times <= until_s]
    if not len(times):
        return None
    mine, theirs = ({k: v[r["t_s"] == times[-1]] for k, v in r.items()} for r in (mine, theirs))
    if not np.array_equal(mine["node"], theirs["node"]):
        nothing = np.zeros(0)
        return NodePairs(nothing, nothing, nothing, float(times[-1]))
    values, rival = (np.asarray(rows[column], dtype=np.float64) for rows in (mine, theirs))
    return NodePairs(mine["node"], values, rival, float(times[-1]))


def paired_nodes(
    metrics: Rows, others: Rows, main: MainMetric, their_main: MainMetric
) -> Spread | None:
    """Mean difference of two runs over their nodes, in the metric by which both are judged.

    Parameters
    ----------
    metrics, others : Rows
        Tables of metrics.
    main, their_main : MainMetric
        Of each run.

    Returns
    -------
    Spread or None
        None where they are judged by different metrics, or were never measured at one time on the
        same nodes.
    """
    if main != their_main or any(main.name not in names(rows) for rows in (metrics, others)):
        return None
    found = node_pairs(metrics, others, main.name)
    if found is None or not len(found.nodes):
        return None
    return spread(found.differences.tolist())


# -- numbers of one run ----------------------------------------------------------------------------


def numbers_of(folder: Path, target: float | None = None, rival: Path | None = None) -> Row:
    """The measures of a run, with what a target and a rival add to those of its summary.

    Parameters
    ----------
    folder : Path
        A run folder.
    target : float or None
        See `time_to_target`.
    rival : Path or None
        The run over which its lead is told; None, or the run itself: no lead is.
    """
    numbers = row(run_folder.summary(folder)) | time_to_target(folder, target)
    return numbers if rival is None or rival == folder else numbers | lead(folder, rival)


def require_possible(target: float | None, main: MainMetric) -> None:
    """Raise ScenarioError for a target that no value of a main metric reaches."""
    if target is not None and is_share(main.name) and not 0 <= target <= 1:
        raise ScenarioError(f"--target {target:g}: {main.name} is a share, from 0 to 1")


def time_to_target(folder: Path, target: float | None) -> Row:
    """Return the first time at which a run's mean main metric reached a target, and its cost.

    `time_to_target_s`; `megabytes_to_target` and `airtime_to_target_s`, what the whole network had
    transmitted by then; all None if it never did, the last two also where a run folder is too old
    to tell. `target_reached`: 1 or 0. Empty where nothing was measured, or no target was given.
    """
    if target is None:
        return {}
    main = MainMetric.of(run_folder.summary(folder))
    rows = run_folder.read(folder, "metrics")
    if main.name not in names(rows):
        return {}
    measured = curve(rows, main.name, main)
    is_reached = measured.mean <= target if main.is_lower_better else measured.mean >= target
    over = np.flatnonzero(is_reached)
    found: Row = {
        "time_to_target_s": None,
        "megabytes_to_target": None,
        "airtime_to_target_s": None,
        "target_reached": float(len(over) > 0),
    }
    if len(over):
        found["time_to_target_s"] = float(measured.t_s[over[0]])
        cost = spent(folder, measured.t_s[over[:1]])
        if cost is not None:
            found["megabytes_to_target"] = float(cost["bits_transmitted"][0]) / BITS_PER_MEGABYTE
            found["airtime_to_target_s"] = float(cost["airtime_s"][0])
    return found


def lead(folder: Path, other: Path) -> Row:
    """The lead of a run at its end over another one of its seed, at equal local steps.

    Each node's value at the end is compared with the same node's in the other run after as many
    local steps. Between two evaluations the other's value is interpolated linearly; after the
    node's last step there it is its last value.

    Returned is `lead`, where the main metric is accuracy, else `main_metric_lead`: the mean over
    nodes, positive where the first run is better. It is empty where one of both has no such
    numbers, or they have measured other nodes.
    """
    main = MainMetric.of(run_folder.summary(folder))
    columns = ("t_s", "node", "metric", "stage", "value", "steps")
    both = [run_folder.read(path, "metrics", columns) for path in (folder, other)]
    if any(main.name not in names(rows) for rows in both):
        return {}
    here, there = (per_node_rows(rows, main.name) for rows in both)
    last = here["t_s"] == here["t_s"][-1]
    nodes = here["node"][last]
    if not np.array_equal(nodes, there["node"][there["t_s"] == there["t_s"][-1]]):
        return {}
    ahead = [
        value - _at_steps(there, node, steps)
        for node, steps, value in zip(nodes, here["steps"][last], here["value"][last], strict=True)
    ]
    mean = (-1 if main.is_lower_better else 1) * float(np.mean(ahead))
    return {"lead" if main.name == "accuracy" else "main_metric_lead": mean}


def _at_steps(rows: Rows, node: int, steps: int) -> float:
    """A node's value when it had made that many local steps."""
    own = rows["node"] == node
    made, value = rows["steps"][own], rows["value"][own]
    # steps count when training begins: its model is there at the last of equal evaluations
    is_last = np.append(made[1:] != made[:-1], True)
    return float(np.interp(steps, made[is_last], value[is_last]))


# -- points of a sweep -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SweepDesign:
    """Keys that a sweep varies, and the measures that it shows."""

    points: Mapping[str, Mapping[str, Any]]
    """By label, which is the point's folder, the swept keys and their values; the others are
    compared with the first."""
    seeds: tuple[int, ...]
    target: float | None = None
    """Value of the main metric whose first crossing is told."""
    show: tuple[str, ...] = ()
    """Names of measures for table and figure; none: `summary_fields.DEFAULT`."""
    against: str | None = None
    """The algorithm over which the others' lead is told."""
    algorithms: tuple[str, ...] = ()
    """Names of all that are to be played."""
    select: str | None = None
    """The metric, or the path into summaries, that trials are judged by."""


@dataclass(frozen=True)
class Estimate:
    """One measure at one point, over seeds."""

    values: tuple[float, ...]
    """The measure of each run that has it."""
    difference: "Estimate | None" = None
    """Its differences to the first point, or what else was asked for, over the seeds that both
    have; None where they share none."""
    has_interval: bool = True
    """False where runs have 1 or 0: Student's interval is of numbers that spread."""

    @cached_property
    def _spread(self) -> Spread:
        return spread(self.values)

    @property
    def mean(self) -> float:
        """Mean over seeds."""
        return self._spread.mean

    @property
    def half_width(self) -> float | None:
        """Half the 95 % interval around the mean; None for one seed, and where there is none."""
        return self._spread.half_width if self.has_interval else None

    @property
    def seeds(self) -> int:
        """Number of runs that have the measure."""
        return len(self.values)

    @property
    def std_seeds(self) -> float | None:
        """Standard deviation with divisor n - 1; None for one seed."""
        return statistics.stdev(self.values) if self.seeds > 1 else None


@dataclass(frozen=True, slots=True)
class PointResult:
    """One algorithm at one point of the sweep."""

    point: str
    """Its label, which is its folder."""
    values: Mapping[str, Any]
    """The swept keys and their values."""
    algorithm: str
    seeds: int
    """Runs that have ended."""
    estimates: Mapping[str, Estimate]
    """By measure; those that no run has are left out."""


def folders_of_seed(point: Path, seed: int) -> list[Path]:
    """The runs of one seed at a point that have ended, one an algorithm, as the sweep has them."""
    ended = [path.parent for path in point.glob(f"seed-{seed}/*/summary.json")]
    return run_folder.ordered(point.parent, ended)


def estimates(runs: Mapping[int, Row], others: Mapping[int, Row]) -> dict[str, Estimate]:
    """Every measure over the seeds of some runs, with its difference to others; both by seed."""
    cells = {}
    for name in MEASURES:
        said = _values_by_seed(name, runs)
        if not said or _is_spoilt(name, runs):
            continue  # a mean over the seeds that did not diverge would be of the lucky ones
        of_others = {} if _is_spoilt(name, others) else _values_by_seed(name, others)
        differences = _differences(said, of_others)
        bounded = not MEASURES[name].is_yes_or_no
        difference = Estimate(tuple(differences), None, bounded) if differences else None
        cells[name] = Estimate(tuple(said.values()), difference, bounded)
    return cells


def _values_by_seed(name: str, runs: Mapping[int, Row]) -> dict[int, float]:
    """A measure by seed, of the runs that have it."""
    return {seed: found for seed, row in runs.items() if (found := row.get(name)) is not None}


def _is_spoilt(name: str, runs: Mapping[int, Row]) -> bool:
    """True if a run has no such number because models of it, or of its rival, are not finite."""
    for of_run in runs.values():
        value = of_run.get(name)
        diverged = of_run.get("nodes_diverged") or of_run.get("nodes_caught")
        if (
            not math.isfinite(value)
            if value is not None
            else diverged and MEASURES[name].is_of_models
        ):
            return True
    return False


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
        diff_high diff_seeds`: mean over `seeds` with its interval, standard deviation over seeds,
        and mean difference to the first point, with its interval, over the `diff_seeds` seeds that
        both have.
    """
    return [
        {
            "point": line.point,
            **{key: csv_cell(value) for key, value in line.values.items()},
            "algorithm": line.algorithm,
            "metric": name,
            **_columns(("mean", "low", "high", "seeds"), cell),
            "std_seeds": cell.std_seeds,
            **_columns(("diff", "diff_low", "diff_high", "diff_seeds"), cell.difference),
        }
        for line in found
        for name, cell in line.estimates.items()
    ]


def _columns(titles: Sequence[str], cell: Estimate | None) -> Row:
    """A mean, the ends of its interval, and its seeds; None where there is no such number."""
    low = high = None
    if cell is not None and cell.half_width is not None:
        low, high = cell.mean - cell.half_width, cell.mean + cell.half_width
    cells = (None, None, None, 0) if cell is None else (cell.mean, low, high, cell.seeds)
    return dict(zip(titles, cells, strict=True))
