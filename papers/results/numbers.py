"""The numbers of a table as papers/numbers keeps them: one line of CSV a run."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from netsim import spread
from papers.results import cell_runs
from papers.results.csv_files import finite, parsed, write_csv
from papers.results.tables import RESULTS, Cell, Curve, PaperTable, cells

NUMBERS = RESULTS / "numbers"

Where = tuple[str, str, str, int | None]
"""Column, row, reading, and rounds where they are cut."""

_FIRST = ("column", "row", "reading", "rounds", "seed")
_LAST = ("choose", "cpu_s", "estimated_s", "commit", "settings")
_CURVE = ("curve", "row", "seed", "t_s", "value")
_DIGITS = 6


@dataclass(frozen=True)
class Result:
    """Result of one run.

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
        `cell_runs.settings` of its scenario.
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
    """Return the place of a cell's results."""
    return (*cell.id, rounds)


def write(table: PaperTable, numbers: Numbers, curves: Curves) -> None:
    """Keep numbers and curves as CSV, in the order of the table's cells; none of them: no file."""
    path = NUMBERS / f"{table.name}.csv"
    if not numbers and not path.exists():
        return
    order = {cell.id: place for place, cell in enumerate(cells(table))}

    def place(key: Where) -> tuple[int, int, Where]:
        return order.get(key[:3], len(order)), -(key[3] or 1 << 30), (*key[:3], None)

    rows = []
    for key in sorted(numbers, key=place):
        *cell, rounds = key
        for seed, result in sorted(numbers[key].items()):
            values = [_short(result.values.get(name)) for name in _measured(table)]
            last = (_short(result.choose), result.cpu_s, result.estimated_s)
            rows.append([*cell, rounds, seed, *values, *last, result.commit, result.settings])
    write_csv(path, _columns(table), rows)
    if curves:
        by_row = {row.name: number for number, row in enumerate(table.rows)}
        lines = [
            (*key, t_s, _short(curves[key][t_s]))
            for key in sorted(curves, key=lambda k: (k[0], by_row.get(k[1], len(by_row)), k))
            for t_s in curves[key]
        ]
        write_csv(_curve_file(table), _CURVE, lines)


def _measured(table: PaperTable) -> list[str]:
    """The columns of what is measured."""
    names = [measure.name for measure in table.measures]
    return names + [f"{measure.name}, nodes" for measure in table.measures if measure.nodes]


def _columns(table: PaperTable) -> tuple[str, ...]:
    return (*_FIRST, *_measured(table), *_LAST)


def _curve_file(table: PaperTable) -> Path:
    return NUMBERS / f"{table.name}.curves.csv"


def _short(value: float | None) -> float | None:
    return None if value is None else round(value, _DIGITS)


def kept(table: PaperTable) -> Numbers:
    """The numbers as they were kept, of whatever settings; none if they never were.

    Raises
    ------
    ScenarioError
        If the file is damaged, or its columns are not the table's measures.
    """
    shares = {m.name for m in table.measures if m.unit == "%"}

    def result(line: Mapping[str, str]) -> tuple[tuple[Where, int], Result]:
        values = {name: finite(line[name]) for name in _measured(table) if line[name]}
        for name in shares & values.keys():
            if not 0 <= values[name] <= 1:
                raise ValueError(f"{name} is {values[name]:g}, and a share is from 0 to 1")
        choose, cpu_s, estimated_s = (finite(line[n]) if line[n] else None for n in _LAST[:3])
        found = Result(values, choose, cpu_s, estimated_s, line["commit"], line["settings"])
        rounds = int(line["rounds"]) if line["rounds"] else None
        key = (line["column"], line["row"], line["reading"], rounds)
        return (key, int(line["seed"])), found

    found: Numbers = {}
    lines = parsed(NUMBERS / f"{table.name}.csv", _columns(table), result)
    for (key, seed), one in lines.items():
        found.setdefault(key, {})[seed] = one
    return found


def kept_curves(table: PaperTable) -> Curves:
    """The curves as they were kept."""

    def point(line: Mapping[str, str]) -> tuple[tuple[CurveOf, float], float]:
        key = (line["curve"], line["row"], int(line["seed"]))
        return (key, finite(line["t_s"])), finite(line["value"])

    found: Curves = {}
    for (key, t_s), value in parsed(_curve_file(table), _CURVE, point).items():
        found.setdefault(key, {})[t_s] = value
    return found


def counted(table: PaperTable, numbers: Numbers) -> tuple[Numbers, list[str]]:
    """Return the kept results of the table's present cells and settings; a line for each other one.

    Parameters
    ----------
    table : PaperTable
    numbers : Numbers
        As `kept` gives them.
    """
    by_id = {cell.id: cell for cell in cells(table)}
    found: Numbers = {}
    left_out = []
    for key, seeds in numbers.items():
        cell, name = by_id.get(key[:3]), " / ".join(key[:3])
        wanted = _settings(table, cell, key[3]) if cell else None
        for seed, result in seeds.items():
            if wanted is not None and result.settings == wanted:
                found.setdefault(key, {})[seed] = result
            else:
                why = "other settings" if cell else "the table has no such cell"
                left_out.append(f"{name}, seed {seed}, as kept: {why}: not counted")
    return found, left_out


def _settings(table: PaperTable, cell: Cell, rounds: int | None) -> str | None:
    """The digest of a cell's scenario, whatever the seed; None if it has no such rounds."""
    if rounds is not None and not table.can_be_cut(rounds):
        return None
    return cell_runs.settings(table, cell_runs.run_of(table, cell, 0, rounds, Path()))


def drawn(curve: Curve, cell: Cell) -> bool:
    """Return whether a curve is drawn of a cell."""
    own = cell.reading is None and cell.column.name == curve.column
    return own and (not curve.rows or cell.row.name in curve.rows)


def counted_curves(table: PaperTable, curves: Curves, numbers: Numbers) -> Curves:
    """The curves of runs whose numbers count.

    Parameters
    ----------
    table : PaperTable
    curves : Curves
        As `kept_curves` gives them.
    numbers : Numbers
        As `counted` gives them.
    """
    seeds = {
        (curve.name, cell.row.name): numbers.get(where(cell), {})
        for curve in table.curves
        for cell in cells(table)
        if drawn(curve, cell)
    }
    return {key: values for key, values in curves.items() if key[2] in seeds.get(key[:2], {})}


def curve_points(curves: Curves) -> list[CurvePoint]:
    """The curves as means over seeds."""
    by_moment: dict[tuple[str, str, float], list[float]] = {}
    for (curve, row, _), values in curves.items():
        for t_s, value in values.items():
            by_moment.setdefault((curve, row, t_s), []).append(value)
    return [CurvePoint(*moment, *spread(values)) for moment, values in by_moment.items()]


def has(table: PaperTable, numbers: Numbers, run: cell_runs.Run) -> bool:
    """Return whether all numbers of a run are kept, and of the table's present settings.

    Parameters
    ----------
    table : PaperTable
    numbers : mapping
        As `kept` gives them.
    run : cell_runs.Run
    """
    found = numbers.get(where(run.cell, run.rounds), {}).get(run.seed)
    if found is None or not set(_measured(table)) <= found.values.keys():
        return False
    return found.settings == cell_runs.settings(table, run)
