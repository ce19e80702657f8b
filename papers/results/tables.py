"""A printed table as data: what a file of papers/tables says, field by field."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import field
from itertools import product
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass

from netsim import ScenarioError
from papers.results.problems import named

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "papers"
TABLES = RESULTS / "tables"

Role = Literal["local", "baseline", "ours", "other"]

_ROUNDS = re.compile(r"(?:(\d+) \* )?rounds(?: / (\d+))?(?: ([+-]) (\d+))?")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")

STRICT = ConfigDict(extra="forbid")

Seeds = tuple[Annotated[int, Field(strict=True, ge=0)], ...]


@dataclass(frozen=True, config=STRICT)
class Measure:
    """A number of a run's summary.

    Attributes
    ----------
    name : str
        What the page calls it.
    path : str
        Where it stands in `summary.json`, such as `accuracy.mean`.
    unit : str
        "%" for shares, which are shown in percent; else what stands behind the number.
    nodes : str
        Path of its spread over nodes; empty: there is none.
    printed : bool
        Whether it may be what the paper prints, so that both are compared.
    """

    name: str
    path: str
    unit: str = "%"
    nodes: str = ""
    printed: bool = True


@dataclass(frozen=True, config=STRICT)
class Column:
    """A column: a point of the scenario.

    Attributes
    ----------
    name : str
    set : mapping
        Keys of the scenario and their values here.
    scenario : str
        Another one than the table's.
    seeds : tuple of int
        Others than the table's.
    missing : str
        Why it is not played, where it can't be.
    """

    name: str
    set: Mapping[str, Any] = field(default_factory=dict)
    scenario: str = ""
    seeds: Seeds = ()
    missing: str = ""


@dataclass(frozen=True, config=STRICT)
class Row:
    """A row: an entry of the scenario, and what the paper prints of it.

    Attributes
    ----------
    entry : str
        The label of the algorithm in the scenario.
    name : str
        What the page calls it.
    role : {"local", "baseline", "ours", "other"}
        "other" rows are shown and take no part in the verdict.
    printed : tuple of str
        A cell a column as the paper has it, "" where it has none.
    method : str
        Rows of one method compete: the one with the best validation accuracy counts. Empty: the
        row's own name.
    not_in_paper : bool
        Whether it is a baseline that the paper does not compare with, a variant of one included:
        the verdict is by the others, and says so where it is another one by all.
    scenario : str
        Another one than the column's.
    set : mapping
        Keys beside the column's.
    """

    entry: str
    name: str
    role: Role = "baseline"
    printed: tuple[str, ...] = ()
    method: str = ""
    not_in_paper: bool = False
    scenario: str = ""
    set: Mapping[str, Any] = field(default_factory=dict)

    @property
    def id(self) -> str:
        """Its name in folders and files."""
        return slug(self.name)

    @property
    def competes_as(self) -> str:
        """The method that it stands for."""
        return self.method or self.name


@dataclass(frozen=True, config=STRICT)
class Reading:
    """A change of the setting, played for some cells and compared with them seed by seed.

    Attributes
    ----------
    name : str
    group : str
        The heading under which the page shows it.
    set : mapping
        Keys beside those of column and row.
    columns, rows : tuple of str
        Names of those it is played for.
    seeds : tuple of int
        Others than the table's.
    against : str
        The row whose unchanged runs it is compared with; empty: the same row's.
    """

    name: str
    group: str
    set: Mapping[str, Any]
    columns: tuple[str, ...]
    rows: tuple[str, ...]
    seeds: Seeds = ()
    against: str = ""


@dataclass(frozen=True, config=STRICT)
class Curve:
    """A metric over time, at one column, of some rows.

    Attributes
    ----------
    name : str
    column : str
    metric : str
        Of the table `metrics/` of a run, such as `accuracy`.
    rows : tuple of str
        Names; none: all.
    """

    name: str
    column: str
    metric: str
    rows: tuple[str, ...] = ()


@dataclass(frozen=True, config=STRICT)
class PaperTable:
    """One table.

    Attributes
    ----------
    name : str
        Of its file, and of its folder of runs.
    page : str
        The page that shows it: papers/PAGE.md.
    paper, title : str
    scenario : str
    seeds : tuple of int
    unit : {"%", "fraction"}
        Of the printed cells.
    measures : tuple of Measure
        The verdict goes by the first.
    columns : tuple of Column
    rows : tuple of Row
    readings : tuple of Reading
    curves : tuple of Curve
    choose : str
        Path in the summary by which the entries of one method compete, on validation samples.
    about, spread, tuned, cut, remarks : str
        Prose: what is played, what the paper's deviations are over, what was tuned on what, what is
        smaller than in the paper, what was found.
    rounds : int or None
        Of the whole table; `play --rounds` cuts it, where `by_rounds` says how.
    by_rounds : mapping of str to str
        Keys that follow the number of rounds, as `rounds`, `rounds - 2`, `200 * rounds + 100`.
    order : int
        Its place among the tables of the page.
    """

    name: str
    page: str
    paper: str
    title: str
    scenario: str
    seeds: Seeds
    measures: tuple[Measure, ...]
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    unit: Literal["%", "fraction"] = "%"
    readings: tuple[Reading, ...] = ()
    curves: tuple[Curve, ...] = ()
    choose: str = ""
    about: str = ""
    spread: str = ""
    tuned: str = ""
    cut: str = ""
    remarks: str = ""
    rounds: Annotated[int, Field(strict=True, ge=1)] | None = None
    by_rounds: Mapping[str, str] = field(default_factory=dict)
    order: int = 0

    def column(self, name: str) -> Column:
        """The column of a name."""
        return named(name, self.columns, f"{self.name}: columns")

    def row(self, name: str) -> Row:
        """The row of a name."""
        return named(name, self.rows, f"{self.name}: rows")

    def can_be_cut(self, rounds: int) -> bool:
        """Return whether the table has a number of rounds for cuts, and more rounds itself."""
        return bool(self.by_rounds) and self.rounds is not None and 0 < rounds <= self.rounds

    def printed(self, row: Row, column: Column) -> float | None:
        """The printed mean of a row's method, as a share or in the measure's unit, or None."""
        own = [row, *(r for r in self.rows if r.competes_as == row.competes_as)]
        cells = next((r.printed for r in own if r.printed), ())
        cell = cells[self.columns.index(column)] if cells else ""
        found = _NUMBER.match(cell)
        if found is None:
            return None
        value = float(found[0])
        return value / 100 if self.unit == "%" and self.measures[0].unit == "%" else value


@dataclass(frozen=True)
class Cell:
    """One number of a table: what is played of it, once a seed.

    Attributes
    ----------
    column : Column
    row : Row
    reading : Reading or None
    seeds : tuple of int
    """

    column: Column
    row: Row
    reading: Reading | None
    seeds: tuple[int, ...]

    @property
    def id(self) -> tuple[str, str, str]:
        """Column, row and reading as folders are called; the reading of the table is `table`."""
        reading = slug(self.reading.name) if self.reading else "table"
        return slug(self.column.name), self.row.id, reading


def cells(table: PaperTable) -> Iterator[Cell]:
    """All cells that can be played, those of the table itself first."""
    for column in table.columns:
        for row in table.rows:
            if not column.missing:
                yield Cell(column, row, None, column.seeds or table.seeds)
    for reading in table.readings:
        for column_name, row_name in product(reading.columns, reading.rows):
            seeds = reading.seeds or table.seeds
            yield Cell(table.column(column_name), table.row(row_name), reading, seeds)


def keys(table: PaperTable, cell: Cell, rounds: int | None = None) -> dict[str, Any]:
    """The keys of the scenario that a cell changes.

    Parameters
    ----------
    table : PaperTable
    cell : Cell
    rounds : int, optional
        Fewer than the table's.

    Raises
    ------
    ScenarioError
        If the table does not say what a number of rounds changes, or has no more itself.
    """
    found = {**cell.column.set, **cell.row.set}
    if rounds is not None and rounds != table.rounds:
        if not table.by_rounds:
            told = "has no [by_rounds], so its rounds can't be cut: leave out --rounds"
            raise ScenarioError(f"{table.name}: {told}")
        if not table.can_be_cut(rounds):
            told = f"must be from 1 to {table.rounds}, the table's own"
            raise ScenarioError(f"{table.name}: --rounds {rounds}: {told}")
        found |= {key: by_rounds(rule, rounds) for key, rule in table.by_rounds.items()}
    return {**found, **(cell.reading.set if cell.reading else {})}


def by_rounds(rule: str, rounds: int) -> float | int:
    """The value of a rule such as `200 * rounds + 100`, whole if that is exact.

    Raises
    ------
    ScenarioError
        If it is no rule.
    """
    found = _ROUNDS.fullmatch(rule)
    if found is None:
        raise ScenarioError(f'by_rounds: "{rule}" is not of the form [A *] rounds [/ B] [+ C]')
    times, over, sign, more = found.groups()
    if over is not None and int(over) == 0:
        raise ScenarioError(f'by_rounds: "{rule}" divides by 0')
    value = rounds * int(times or 1) / int(over or 1) + int(f"{sign or '+'}{more or 0}")
    return int(value) if value == int(value) else value


def slug(name: str) -> str:
    """A name as a folder's."""
    return re.sub(r"[^a-z0-9_.=]+", "_", name.lower().replace("+", "_plus_")).strip("_")
