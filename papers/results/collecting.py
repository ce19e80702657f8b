"""From the folders of runs to the numbers that are kept, beside those that were kept before.

The folders may be on several machines, or gone: what is kept stays in its file. What is of other
settings than the table's now is kept, too, but does not count, until a run of today's settings
takes its place.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import netsim
from netsim import NetsimError, ScenarioError
from papers.results import numbers, playing, records
from papers.results.cell_runs import Run, other_settings, settings
from papers.results.numbers import Curves, Numbers, Result, drawn, where
from papers.results.tables import Cell, PaperTable, cells


@dataclass
class Found:
    """Contents of the folders of a table's runs.

    Attributes
    ----------
    numbers : Numbers
    curves : Curves
    told : list of str
        A line for each number that is other than it was, and for each run of other settings.
    damaged : list of str
        A line for each run that can't be read, or lacks a measure.
    """

    numbers: Numbers = field(default_factory=dict)
    curves: Curves = field(default_factory=dict)
    told: list[str] = field(default_factory=list)
    damaged: list[str] = field(default_factory=list)


def collect(table: PaperTable, runs: Path) -> Found:
    """Add all finished runs to what is kept.

    Parameters
    ----------
    table : PaperTable
    runs : Path
        The folder of all tables' runs.
    """
    kept, curves = numbers.kept(table), numbers.kept_curves(table)
    found = of_folders(table, runs)
    for key, seeds in found.numbers.items():
        for seed, result in seeds.items():
            before = kept.get(key, {}).get(seed)
            if before is not None:
                found.told += _differences(key, seed, before, result)
                choose = before.choose if result.choose is None else result.choose
                result = replace(result, choose=choose, estimated_s=before.estimated_s)
            kept.setdefault(key, {})[seed] = result
    _add_estimates(table, runs, kept)
    numbers.write(table, kept, curves | found.curves)
    return found


def of_folders(table: PaperTable, runs: Path) -> Found:
    """The results of all finished runs of the table's settings.

    Parameters
    ----------
    table : PaperTable
    runs : Path
        The folder of all tables' runs.
    """
    ledger, top = records.ledger(table, runs), runs / table.name
    found = Found()
    for cell in cells(table):
        for run in _there(table, cell, runs):
            try:
                if not run.is_done:
                    continue
                differing = other_settings(table, run)
                if differing:
                    told = f"{run.own}: other {', '.join(differing)}: not counted"
                    found.told.append(told)
                    continue
                lines = ledger.get(str(run.folder.relative_to(top)), [])
                played = netsim.open(run.own)
                [summary] = played.summaries.values()
                result = _result(table, run, summary, lines)
                curves = dict(_curves(table, run, played))
            except (NetsimError, OSError) as error:
                found.damaged.append(f"{error}: left out; move the run away and play it again")
                continue
            found.numbers.setdefault(where(cell, run.rounds), {})[run.seed] = result
            found.curves |= curves
    return found


def _add_estimates(table: PaperTable, runs: Path, kept: Numbers) -> None:
    """To each result what a run of its cell was estimated to take."""
    estimates = records.kept_estimates(table, runs)
    by_id = {cell.id: cell for cell in cells(table)}
    for key, seeds in kept.items():
        cell = by_id.get(key[:3])
        estimate = estimates.get(playing.estimate_key(table, cell, key[3])) if cell else None
        for seed, result in seeds.items():
            seeds[seed] = replace(result, estimated_s=estimate or result.estimated_s)


def _differences(
    key: numbers.Where, seed: int, before: Result, now: Result, within: float = 2e-6
) -> list[str]:
    """A line for each number that a second play gave otherwise."""
    name = f"{' / '.join(map(str, key[:3]))}, seed {seed}"
    told = [
        f"{name}: {measure} is {value:g}, was {before.values[measure]:g}"
        for measure, value in now.values.items()
        if measure in before.values and abs(value - before.values[measure]) > within
    ]
    if before.choose is not None and now.choose is None:
        told.append(f"{name}: the run has none of the numbers that choose, {before.choose:g} stays")
    return told


def _there(table: PaperTable, cell: Cell, runs: Path) -> Iterator[Run]:
    """The runs of a cell that have a folder, of whatever seeds and rounds."""
    top = runs.joinpath(table.name, *cell.id)
    for seed in sorted([*top.glob("seed-*"), *top.glob("rounds-*/seed-*")]):
        number = seed.name.removeprefix("seed-")
        cut = seed.parent.name.removeprefix("rounds-") if seed.parent != top else None
        if not number.isdecimal() or str(int(number)) != number:
            continue
        if cut is None:
            yield Run(cell, int(number), None, seed)
        elif cut.isdecimal() and table.can_be_cut(int(cut)):
            yield Run(cell, int(number), int(cut), seed)


def _result(
    table: PaperTable, run: Run, summary: Mapping[str, Any], lines: Sequence[Mapping[str, Any]]
) -> Result:
    values = {}
    for measure in table.measures:
        for name, path in ((measure.name, measure.path), (f"{measure.name}, nodes", measure.nodes)):
            if path:
                values[name] = _measured(run, summary, path)
    return Result(
        values,
        at(summary, table.choose) if table.choose else None,
        cpu_s=sum(line["cpu_s"] for line in lines) if lines else None,
        commit=str(lines[-1]["commit"]) if lines else "",
        settings=settings(table, run),
    )


def _measured(run: Run, summary: Mapping[str, Any], path: str) -> float:
    value = at(summary, path)
    if value is None:
        raise ScenarioError(f'{run.own}: its summary has no finite number "{path}"')
    return value


def at(summary: Mapping[str, Any], path: str) -> float | None:
    """The finite number at a path such as `accuracy.best.mean`; None if there is none."""
    value: Any = summary
    for key in path.split("."):
        value = value.get(key) if isinstance(value, Mapping) else None
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and math.isfinite(value) else None


def _curves(
    table: PaperTable, run: Run, played: netsim.Run
) -> Iterator[tuple[numbers.CurveOf, dict[float, float]]]:
    """The curves of a run."""
    for curve in table.curves:
        if run.rounds is None and drawn(curve, run.cell):
            rows = played.curve(curve.metric)
            values = dict(zip(rows["t_s"], rows["mean"], strict=True))
            yield (curve.name, run.cell.row.name, run.seed), values
