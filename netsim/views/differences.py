"""Means over seeds and paired differences, each with its interval."""

from collections.abc import Mapping
from typing import Any

from netsim.views import OnPage, Panel, Shown
from netsim.views.gathering.numbers import short
from netsim.views.gathering.sweep_comparison import LEVEL, Estimate, mean_and_half_width
from netsim.views.gathering.sweep_tables import SweepTables, described

TITLE = "Differences and their intervals"
PLACE = 20


def of_sweep(sweep: SweepTables) -> Shown | None:
    """Return what `gather` finds, for the page."""
    found = gather(sweep)
    return None if found is None else Shown([Panel(OnPage("differences", found))])


def gather(sweep: SweepTables) -> dict[str, Any] | None:
    """By point and algorithm: means, differences to the first point and to the first algorithm.

    A triple is mean, half its interval (None: one seed) and how many seeds.
    """
    names = sweep.measures
    if not names:
        return None
    values = _by_run(sweep)
    first = sweep.algorithms[0]
    rows = []
    for line in sweep.lines:
        mine, theirs = values[line.point, line.algorithm], values.get((line.point, first), {})
        rows.append(
            {
                "point": line.point,
                "algorithm": line.algorithm,
                "mean": [_mean(line.estimates.get(name)) for name in names],
                "to_point": [_diff(line.estimates.get(name)) for name in names],
                "to_algorithm": [
                    None if line.algorithm == first else _paired(mine, theirs, name)
                    for name in names
                ],
            }
        )
    return {
        "measures": [described(name) for name in names],
        "first_point": next(iter(sweep.design.points)),
        "first_algorithm": first,
        "algorithms": sweep.algorithms,
        "level": LEVEL,
        "rows": rows,
    }


def _by_run(sweep: SweepTables) -> dict[tuple[str, str], dict[int, Mapping[str, Any]]]:
    found: dict[tuple[str, str], dict[int, Mapping[str, Any]]] = {}
    for run in sweep.runs:
        found.setdefault((run.point, run.algorithm), {})[run.seed] = run.numbers
    return found


def _mean(cell: Estimate | None) -> list[Any] | None:
    return None if cell is None else _triple(cell.mean, cell.half_width, cell.seeds)


def _diff(cell: Estimate | None) -> list[Any] | None:
    if cell is None or cell.diff is None:
        return None
    return _triple(cell.diff, cell.diff_half_width, cell.seeds)


def _paired(
    mine: Mapping[int, Mapping[str, Any]], theirs: Mapping[int, Mapping[str, Any]], name: str
) -> list[Any] | None:
    """Mean difference to another algorithm over the seeds that both have."""
    pairs = [
        numbers[name] - theirs[seed][name]
        for seed, numbers in mine.items()
        if seed in theirs and numbers.get(name) is not None and theirs[seed].get(name) is not None
    ]
    return _triple(*mean_and_half_width(pairs), len(pairs)) if pairs else None


def _triple(mean: float, half: float | None, seeds: int) -> list[Any]:
    return [*short([mean], 6), None if half is None else short([half])[0], seeds]
