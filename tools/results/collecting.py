"""From the folders of runs to the numbers that are kept, beside those that were kept before.

The folders may be on several machines, or gone: what is kept stays, as long as its settings are
those that the table has now.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from netsim.recording.parquet_parts import read
from netsim.results import metrics
from netsim.results.summary import load
from tools.results import numbers, playing
from tools.results.numbers import Curves, Numbers, Result, where
from tools.results.tables import Cell, PaperTable, cells


def collect(table: PaperTable, runs: Path) -> list[str]:
    """Add all finished runs to what is kept; a line for each that is left out or differs.

    Parameters
    ----------
    table : PaperTable
    runs : Path
        The folder of all tables' runs.
    """
    found, told = of_folders(table, runs)
    kept, left_out = _still_valid(table, numbers.kept(table))
    told += left_out
    for key, seeds in found.items():
        for seed, result in seeds.items():
            before = kept.get(key, {}).get(seed)
            told += [] if before is None else _differences(key, seed, before, result)
            estimate = before.estimated_s if before else None
            kept.setdefault(key, {})[seed] = replace(result, estimated_s=estimate)
    _add_estimates(table, runs, kept)
    curves = {
        key: values
        for key, values in numbers.kept_curves(table).items()
        if _has_numbers(table, kept, key)
    }
    numbers.write(table, kept, curves | _curves(table, runs, found))
    return told


def of_folders(table: PaperTable, runs: Path) -> tuple[Numbers, list[str]]:
    """The results of all finished runs, and a line for each that is of other settings.

    Parameters
    ----------
    table : PaperTable
    runs : Path
        The folder of all tables' runs.
    """
    ledger, top = playing.ledger(table, runs), runs / table.name
    found: Numbers = {}
    left_out = []
    for cell in cells(table):
        for run in _there(table, cell, runs):
            if not run.is_done:
                continue
            differing = playing.other_settings(table, run)
            if differing:
                left_out.append(f"{run.own}: other {', '.join(differing)}: not counted")
                continue
            lines = ledger.get(str(run.folder.relative_to(top)), [])
            result = _result(table, load(run.own), lines)
            result = replace(result, settings=playing.settings(table, run))
            found.setdefault(where(cell, run.rounds), {})[run.seed] = result
    return found, left_out


def _still_valid(table: PaperTable, kept: Numbers) -> tuple[Numbers, list[str]]:
    """What is kept of settings that the table has now, and a line for each that is not."""
    by_id = {cell.id: cell for cell in cells(table)}
    found: Numbers = {}
    left_out = []
    for (*cell_id, rounds), seeds in kept.items():
        cell = by_id.get((cell_id[0], cell_id[1], cell_id[2]))
        for seed, result in seeds.items():
            run = playing.run_of(table, cell, seed, rounds, Path()) if cell else None
            if cell is None or run is None or not numbers.has(table, kept, run):
                name = " / ".join(cell_id)
                left_out.append(f"{name}, seed {seed}, as kept: other settings: not counted")
            else:
                found.setdefault(where(cell, rounds), {})[seed] = result
    return found, left_out


def _add_estimates(table: PaperTable, runs: Path, kept: Numbers) -> None:
    """To each result what a run of its cell was estimated to take."""
    estimates = playing.kept_estimates(table, runs)
    by_id = {cell.id: cell for cell in cells(table)}
    for (*cell_id, rounds), seeds in kept.items():
        cell = by_id[cell_id[0], cell_id[1], cell_id[2]]
        estimate = estimates.get(playing.estimate_key(table, cell, rounds))
        for seed, result in seeds.items():
            seeds[seed] = replace(result, estimated_s=estimate or result.estimated_s)


def _differences(
    key: numbers.Where, seed: int, before: Result, now: Result, within: float = 2e-6
) -> list[str]:
    """A line for each number that a second play gave otherwise."""
    name = " / ".join(map(str, key[:3]))
    return [
        f"{name}, seed {seed}: {measure} is {value:g}, was {before.values[measure]:g}"
        for measure, value in now.values.items()
        if measure in before.values and abs(value - before.values[measure]) > within
    ]


def _there(table: PaperTable, cell: Cell, runs: Path) -> list[playing.Run]:
    """The runs of a cell that have a folder, of whatever seeds and rounds."""
    top = runs.joinpath(table.name, *cell.id)
    found = []
    for seed in sorted([*top.glob("seed-*"), *top.glob("rounds-*/seed-*")]):
        number = seed.name.removeprefix("seed-")
        cut = seed.parent.name.removeprefix("rounds-") if seed.parent != top else ""
        if number.isdecimal():
            found.append(playing.Run(cell, int(number), int(cut) if cut else None, seed))
    return found


def _result(
    table: PaperTable,
    summary: Mapping[str, Any],
    lines: Sequence[Mapping[str, Any]],
) -> Result:
    values = {}
    for measure in table.measures:
        for name, path in ((measure.name, measure.path), (f"{measure.name}, nodes", measure.nodes)):
            value = at(summary, path) if path else None
            if value is not None:
                values[name] = value
    return Result(
        values,
        at(summary, table.choose) if table.choose else None,
        cpu_s=sum(line["cpu_s"] for line in lines) if lines else None,
        commit=lines[-1]["commit"] if lines else "",
    )


def at(summary: Mapping[str, Any], path: str) -> float | None:
    """The number at a path such as `accuracy.best.mean`; None if there is none."""
    value: Any = summary
    for key in path.split("."):
        value = value.get(key) if isinstance(value, Mapping) else None
    return None if value is None else float(value)


def _curves(table: PaperTable, runs: Path, found: Numbers) -> Curves:
    """The curves of the runs that count."""
    curves: Curves = {}
    for curve in table.curves:
        for cell in cells(table):
            wanted = not curve.rows or cell.row.name in curve.rows
            if cell.reading is not None or cell.column.name != curve.column or not wanted:
                continue
            for seed in found.get(where(cell), {}):
                own = playing.run_of(table, cell, seed, None, runs).own
                one = metrics.curve(read(own / "metrics"), curve.metric)
                values = dict(zip(one.t_s.tolist(), one.mean.tolist(), strict=True))
                curves[curve.name, cell.row.name, seed] = values
    return curves


def _has_numbers(table: PaperTable, kept: Numbers, key: numbers.CurveOf) -> bool:
    """Whether the run of a kept curve still counts."""
    name, row, seed = key
    return any(
        seed in kept.get(where(cell), {})
        for curve in table.curves
        for cell in cells(table)
        if curve.name == name and cell.column.name == curve.column and cell.row.name == row
    )
