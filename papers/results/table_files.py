"""The files of papers/tables: read, checked key by key, and for whether they agree."""

import re
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from netsim import ScenarioError
from papers.results.problems import problem, unknown
from papers.results.tables import (
    TABLES,
    Column,
    Curve,
    Measure,
    PaperTable,
    Reading,
    Row,
    by_rounds,
    cells,
    slug,
)

WHOLE = "table"
"""Name of the table itself where readings have a group and a folder."""

NOT_PAGES = ("over_radio", "readme")
"""Files of papers that are no table's page."""

NOT_MEASURES = (
    *("column", "row", "reading", "rounds", "seed"),
    *("choose", "cpu_s", "estimated_s", "commit", "settings"),
)
"""Other columns of the numbers that are kept."""

_PAGE = re.compile(r"[a-z0-9_]+")
_PRINTED = re.compile(r"-?|-?\d+(?:\.\d+)?(?: ± \d+(?:\.\d+)?| \(\d+(?:\.\d+)?\))?")
_KINDS: dict[str, Any] = {
    "measures": Measure,
    "columns": Column,
    "rows": Row,
    "readings": Reading,
    "curves": Curve,
}


def names() -> list[str]:
    """All tables, by name."""
    return sorted(path.stem for path in TABLES.glob("*.toml"))


def load(name: str, folder: Path = TABLES) -> PaperTable:
    """A table by its name.

    Raises
    ------
    ScenarioError
        If there is none, if a key is not known or of the wrong kind, or if the table does not
        agree with itself.
    """
    path = folder / f"{name}.toml"
    if not path.is_file():
        raise ScenarioError(unknown(name, names(), str(folder)))
    try:
        raw = tomllib.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ScenarioError(f"{path}: is not TOML: {error}") from error
    try:
        table = PaperTable(name=name, **{k: v for k, v in raw.items() if k != "name"})
    except ValidationError as error:
        lines = [f"{path}: {problem(one, raw, PaperTable, _KINDS)}" for one in error.errors()]
        raise ScenarioError("\n".join(lines)) from error
    try:
        told = list(_disagreements(table))
    except ScenarioError as error:  # a name or a rule that there is not
        told = [str(error)]
    if told:
        raise ScenarioError("\n".join(f"{path}: {one}" for one in told))
    return table


def _disagreements(table: PaperTable) -> Iterator[str]:
    """A line for each thing that one key says and another does not bear."""
    if not _PAGE.fullmatch(table.page) or table.page in NOT_PAGES:
        told = f"must be of a-z, 0-9 and _, and none of {', '.join(NOT_PAGES)}"
        yield f'page = "{table.page}": {told}: it is a file of papers'
    for key in ("measures", "columns", "rows", "seeds"):
        if not getattr(table, key):
            yield f"{key}: must have one at least"
    yield from _names(table)
    yield from _seeds(table)
    yield from _printed(table)
    if table.by_rounds and table.rounds is None:
        yield "rounds: is required where [by_rounds] says what follows them"
    for rule in table.by_rounds.values():
        by_rounds(rule, 1)
    yield from _references(table)


def _names(table: PaperTable) -> Iterator[str]:
    """Names make folders, columns of CSV and cells of tables in Markdown."""
    for key, some in (
        ("measures", table.measures),
        ("columns", table.columns),
        ("rows", table.rows),
        ("readings", table.readings),
        ("curves", table.curves),
    ):
        own = [one.name for one in some]
        for name in own:
            if not name.strip() or set(name) & set("|\r\n"):
                yield f'{key} ("{name}").name: must not be empty, nor have | or line breaks'
            elif key in ("columns", "rows", "readings") and slug(name) in ("", ".", ".."):
                yield f'{key} ("{name}").name: needs letters or digits: a folder is called so'
        if key in ("measures", "curves"):
            yield from (f'{key}: two are called "{name}"' for name in _twice(own))
    measured = [m.name for m in table.measures]
    spreads = [f"{m.name}, nodes" for m in table.measures if m.nodes]
    for name in measured:
        if name in (*NOT_MEASURES, *spreads):
            yield f'measures ("{name}").name: the kept numbers have a column of that name already'
    for reading in table.readings:
        if reading.group == WHOLE:
            yield f'readings ("{reading.name}").group: "{WHOLE}" is the table itself'
    ids = [" / ".join(cell.id) for cell in cells(table)]
    yield from (f"two cells are called {one}: give one another name" for one in _twice(ids))


def _twice(some: Sequence[Any]) -> list[Any]:
    return list(dict.fromkeys(one for one in some if some.count(one) > 1))


def _seeds(table: PaperTable) -> Iterator[str]:
    places = [("seeds", table.seeds)]
    places += [(f'columns ("{c.name}").seeds', c.seeds) for c in table.columns]
    places += [(f'readings ("{r.name}").seeds', r.seeds) for r in table.readings]
    for place, seeds in places:
        yield from (f"{place}: {seed} is there twice" for seed in _twice(seeds))


def _printed(table: PaperTable) -> Iterator[str]:
    for row in table.rows:
        place = f'rows ("{row.name}").printed'
        if row.printed and len(row.printed) != len(table.columns):
            yield f"{place}: {len(row.printed)} cells, but there are {len(table.columns)} columns"
        for cell in row.printed:
            if not _PRINTED.fullmatch(cell):
                yield f'{place}: "{cell}": must be as "75.2", "75.2 ± 1.3", "75.2 (1.3)" or "-"'


def _references(table: PaperTable) -> Iterator[str]:
    """Curves and readings are of rows and columns that there are."""
    for curve in table.curves:
        table.column(curve.column)
        for name in curve.rows:
            table.row(name)
    for reading in table.readings:
        if reading.against:
            table.row(reading.against)
        for name in reading.columns:
            if table.column(name).missing:
                yield f'readings ("{reading.name}").columns: "{name}" is not to be played'
