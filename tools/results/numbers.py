"""The numbers of a table as docs/results/numbers keeps them: one line of CSV a run."""

import csv
import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from netsim.errors import ScenarioError
from netsim.recording.whole_files import write_text
from netsim.results.sweep_comparison import mean_and_half_width
from tools.results import playing
from tools.results.tables import RESULTS, Cell, PaperTable, cells

NUMBERS = RESULTS / "numbers"

Where = tuple[str, str, str, int | None]
"""Column, row, reading, and rounds where they are cut."""

_FIRST = ("column", "row", "reading", "rounds", "seed")
_LAST = ("choose", "cpu_s", "estimated_s", "commit", "settings")
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
    settings : str
        `playing.settings` of its scenario.
    """

    values: Mapping[str, float]
    choose: float | None = None
    cpu_s: float | None = None
    estimated_s: float | None = None
    commit: str = ""
    settings: str = ""


Numbers = dict[Where, dict[int, Result]]
"""Results by cell and seed."""

CurveOf = tuple[str, str, int]
"""Curve, name of the row, seed."""

Curves = dict[CurveOf, dict[float, float]]
"""A curve's values by the time."""


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


def write(table: PaperTable, numbers: Numbers, curves: Curves) -> None:
    """Keep numbers and curves as CSV, in the order of the table's cells; none of them: no file."""
    path = NUMBERS / f"{table.name}.csv"
    if not numbers and not path.exists():
        return
    measured = [m.name for m in table.measures]
    measured += [f"{m.name}, nodes" for m in table.measures if m.nodes]
    order = {cell.id: place for place, cell in enumerate(cells(table))}
    rows = []
    for key in sorted(numbers, key=lambda w: (order[w[:3]], -(w[3] or 1 << 30))):
        *cell, rounds = key
        for seed, result in sorted(numbers[key].items()):
            values = [_short(result.values.get(name)) for name in measured]
            last = (_short(result.choose), result.cpu_s, result.estimated_s)
            rows.append([*cell, rounds, seed, *values, *last, result.commit, result.settings])
    write_csv(path, (*_FIRST, *measured, *_LAST), rows)
    if curves:
        rows_order = [row.name for row in table.rows]
        lines = [
            (*key, t_s, _short(curves[key][t_s]))
            for key in sorted(curves, key=lambda k: (k[0], rows_order.index(k[1]), k[2]))
            for t_s in curves[key]
        ]
        path = NUMBERS / f"{table.name}.curves.csv"
        write_csv(path, ("curve", "row", "seed", "t_s", "value"), lines)


def _short(value: float | None) -> float | None:
    return None if value is None else round(value, _DIGITS)


def write_csv(path: Path, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Write lines as CSV; a full disk leaves the file as it was.

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
    write_text(path, text.getvalue())


def kept(table: PaperTable) -> Numbers:
    """The numbers as they were kept; none if they never were."""
    found: Numbers = {}
    for key, seed, result in parsed(NUMBERS / f"{table.name}.csv", _result):
        found.setdefault(key, {})[seed] = result
    return found


def _result(line: Mapping[str, str]) -> tuple[Where, int, Result]:
    rounds = int(line["rounds"]) if line["rounds"] else None
    values = {
        name: float(text) for name, text in line.items() if name not in (*_FIRST, *_LAST) and text
    }
    choose, cpu_s, estimated_s = (float(line[n]) if line[n] else None for n in _LAST[:3])
    result = Result(values, choose, cpu_s, estimated_s, line["commit"], line["settings"])
    return (line["column"], line["row"], line["reading"], rounds), int(line["seed"]), result


def kept_curves(table: PaperTable) -> Curves:
    """The curves as they were kept."""

    def point(line: Mapping[str, str]) -> tuple[CurveOf, float, float]:
        key = (line["curve"], line["row"], int(line["seed"]))
        return key, float(line["t_s"]), float(line["value"])

    found: Curves = {}
    for key, t_s, value in parsed(NUMBERS / f"{table.name}.curves.csv", point):
        found.setdefault(key, {})[t_s] = value
    return found


def curve_points(curves: Curves) -> list[CurvePoint]:
    """The curves as means over seeds."""
    by_moment: dict[tuple[str, str, float], list[float]] = {}
    for (curve, row, _), values in curves.items():
        for t_s, value in values.items():
            by_moment.setdefault((curve, row, t_s), []).append(value)
    return [
        CurvePoint(*moment, *mean_and_half_width(values), len(values))
        for moment, values in by_moment.items()
    ]


def has(table: PaperTable, numbers: Numbers, run: playing.Run) -> bool:
    """Whether a run's numbers are kept, and of the settings that the table has now.

    Parameters
    ----------
    table : PaperTable
    numbers : mapping
        As `kept` gives them.
    run : playing.Run
    """
    found = numbers.get(where(run.cell, run.rounds), {}).get(run.seed)
    return found is not None and found.settings == playing.settings(table, run)


T = TypeVar("T")


def parsed(path: Path, parse: Callable[[Mapping[str, str]], T]) -> list[T]:
    """What the lines of a CSV say.

    Parameters
    ----------
    path : Path
    parse : callable
        (line) -> anything.

    Raises
    ------
    ScenarioError
        If a line is damaged; names it.
    """
    found = []
    for number, line in enumerate(csv_lines(path), 2):
        try:
            found.append(parse(line))
        except KeyError as error:
            raise ScenarioError(f"{path}: line 1: has no column {error}; {_REMEDY}") from error
        except ValueError as error:
            raise ScenarioError(f"{path}: line {number}: {error}; {_REMEDY}") from error
    return found


def csv_lines(path: Path) -> list[dict[str, str]]:
    """The lines of a CSV; none if there is no file.

    Raises
    ------
    ScenarioError
        If it is damaged; names the line.
    """
    if not path.is_file():
        return []
    try:
        with path.open(encoding="utf-8", newline="") as file:
            lines = list(csv.reader(file))
    except (csv.Error, UnicodeDecodeError) as error:
        raise ScenarioError(f"{path}: {error}; {_REMEDY}") from error
    for number, line in enumerate(lines, 1):
        if len(line) != len(lines[0]):
            told = f"has {len(line)} cells, the first line {len(lines[0])}"
            raise ScenarioError(f"{path}: line {number}: {told}; {_REMEDY}")
    return [dict(zip(lines[0], line, strict=True)) for line in lines[1:]]


_REMEDY = "restore the file (git checkout), or delete the line and have its run collected again"
