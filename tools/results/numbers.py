"""The numbers of a table's runs: read from their folders, kept as CSV in docs/results/numbers."""

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from netsim.recording.parquet_parts import read
from netsim.results import metrics
from netsim.results.summary import load
from netsim.results.sweep_comparison import mean_and_half_width
from tools.results import playing
from tools.results.tables import RESULTS, Cell, Curve, PaperTable, cells

NUMBERS = RESULTS / "numbers"

Where = tuple[str, str, str, int | None]
"""Column, row, reading, and rounds where they are cut."""

_FIRST = ("column", "row", "reading", "rounds", "seed")
_LAST = ("choose", "cpu_s", "estimated_s", "commit")
_DIGITS = 6


@dataclass(frozen=True)
class Result:
    """What one run gave.

    Attributes
    ----------
    values : mapping of str to float
        By measure, and `NAME, nodes` for a spread over nodes.
    choose : float or None
        By which the entries of a method compete.
    cpu_s, estimated_s : float or None
        What it took, and what it was thought to take.
    commit : str
        Of the program that played it.
    """

    values: Mapping[str, float]
    choose: float | None = None
    cpu_s: float | None = None
    estimated_s: float | None = None
    commit: str = ""


Numbers = dict[Where, dict[int, Result]]
"""Results by cell and seed."""


@dataclass(frozen=True)
class CurvePoint:
    """A curve at one moment, over seeds."""

    curve: str
    row: str
    t_s: float
    mean: float
    half: float | None
    seeds: int


def where(cell: Cell, rounds: int | None = None) -> Where:
    """Where a cell's results are."""
    return (*cell.id, rounds)


def collect(table: PaperTable, runs: Path) -> tuple[Numbers, list[str]]:
    """The results of all finished runs, and a line for each that is of other settings.

    Parameters
    ----------
    table : PaperTable
    runs : Path
        The folder of all tables' runs.
    """
    told, top = playing.ledger(table, runs), runs / table.name
    estimates = playing.kept_estimates(table, runs)
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
            lines = told.get(str(run.folder.relative_to(top)), [])
            estimate = estimates.get(str(run.folder.parent.relative_to(top)))
            result = _result(table, load(run.own), lines, estimate)
            found.setdefault(where(cell, run.rounds), {})[run.seed] = result
    return found, left_out


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
    estimate: float | None,
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
        sum(line["cpu_s"] for line in lines) if lines else None,
        estimate,
        lines[-1]["commit"] if lines else "",
    )


def at(summary: Mapping[str, Any], path: str) -> float | None:
    """The number at a path such as `accuracy.best.mean`; None if there is none."""
    value: Any = summary
    for key in path.split("."):
        value = value.get(key) if isinstance(value, Mapping) else None
    return None if value is None else float(value)


def curves(table: PaperTable, runs: Path) -> list[CurvePoint]:
    """The table's curves, means over seeds."""
    found = []
    for curve in table.curves:
        for cell in cells(table):
            wanted = not curve.rows or cell.row.name in curve.rows
            if cell.reading is None and cell.column.name == curve.column and wanted:
                done = [run for run in _there(table, cell, runs) if run.is_done and not run.rounds]
                found += _curve(curve, cell, done)
    return found


def _curve(curve: Curve, cell: Cell, done: Sequence[playing.Run]) -> list[CurvePoint]:
    by_time: dict[float, list[float]] = {}
    for run in done:
        one = metrics.curve(read(run.own / "metrics"), curve.metric)
        for t_s, mean in zip(one.t_s.tolist(), one.mean.tolist(), strict=True):
            by_time.setdefault(t_s, []).append(mean)
    return [
        CurvePoint(curve.name, cell.row.name, t_s, *mean_and_half_width(values), len(values))
        for t_s, values in sorted(by_time.items())
    ]


def write(table: PaperTable, numbers: Numbers, points: Sequence[CurvePoint]) -> None:
    """Keep numbers and curves as CSV."""
    measured = [m.name for m in table.measures]
    measured += [f"{m.name}, nodes" for m in table.measures if m.nodes]
    rows = []
    for (*cell, rounds), seeds in numbers.items():
        for seed, result in sorted(seeds.items()):
            values = [_short(result.values.get(name)) for name in measured]
            last = (_short(result.choose), result.cpu_s, result.estimated_s, result.commit)
            rows.append([*cell, rounds, seed, *values, *last])
    write_csv(NUMBERS / f"{table.name}.csv", (*_FIRST, *measured, *_LAST), rows)
    if points:
        lines = [(p.curve, p.row, p.t_s, _short(p.mean), _short(p.half), p.seeds) for p in points]
        columns = ("curve", "row", "t_s", "mean", "half", "seeds")
        write_csv(NUMBERS / f"{table.name}.curves.csv", columns, lines)


def _short(value: float | None) -> float | None:
    return None if value is None else round(value, _DIGITS)


def write_csv(path: Path, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Write lines as CSV.

    Parameters
    ----------
    path : Path
    columns : sequence of str
    rows : iterable of sequence
        A cell a column.
    """
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text.getvalue(), encoding="utf-8")


def kept(table: PaperTable) -> Numbers:
    """The numbers as they were kept; none if they never were."""
    found: Numbers = {}
    for line in csv_lines(NUMBERS / f"{table.name}.csv"):
        rounds = int(line["rounds"]) if line["rounds"] else None
        values = {
            name: float(text)
            for name, text in line.items()
            if name not in (*_FIRST, *_LAST) and text
        }
        choose, cpu_s, estimated_s = (float(line[n]) if line[n] else None for n in _LAST[:3])
        result = Result(values, choose, cpu_s, estimated_s, line["commit"])
        key = (line["column"], line["row"], line["reading"], rounds)
        found.setdefault(key, {})[int(line["seed"])] = result
    return found


def kept_curves(table: PaperTable) -> list[CurvePoint]:
    """The curves as they were kept."""
    return [
        CurvePoint(
            line["curve"],
            line["row"],
            float(line["t_s"]),
            float(line["mean"]),
            float(line["half"]) if line["half"] else None,
            int(line["seeds"]),
        )
        for line in csv_lines(NUMBERS / f"{table.name}.curves.csv")
    ]


def csv_lines(path: Path) -> list[dict[str, str]]:
    """The lines of a CSV; none if there is no file."""
    if not path.is_file():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))
