"""CSV files of papers/numbers: written whole, and read so that a damaged line is named."""

import csv
import io
import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from netsim import ScenarioError
from papers.results.files import write_text

_REMEDY = "restore the file (git checkout), or delete the line and have its run collected again"

T = TypeVar("T")
K = TypeVar("K", bound=Hashable)


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


def parsed(
    path: Path, columns: Sequence[str], parse: Callable[[Mapping[str, str]], tuple[K, T]]
) -> dict[K, T]:
    """Parse the lines of a CSV, by their keys.

    Parameters
    ----------
    path : Path
    columns : sequence of str
        Those that it must have, and no others; in any order.
    parse : callable
        (line) -> (of what, anything).

    Raises
    ------
    ScenarioError
        If a column is missing or not known, if a line is damaged, or if two are of the same; names
        the line.
    """
    lines = csv_lines(path)
    if lines:
        _check_columns(path, list(lines[0]), columns)
    found: dict[K, T] = {}
    line_of: dict[K, int] = {}
    for number, line in enumerate(lines, 2):
        try:
            key, value = parse(line)
        except ValueError as error:
            raise ScenarioError(f"{path}: line {number}: {error}; {_REMEDY}") from error
        if key in found:
            told = f"is of the same run as line {line_of[key]}; delete one of them"
            raise ScenarioError(f"{path}: line {number}: {told}")
        found[key], line_of[key] = value, number
    return found


def _check_columns(path: Path, there: Sequence[str], wanted: Sequence[str]) -> None:
    missing = [name for name in wanted if name not in there]
    strange = [name for name in there if name not in wanted]
    told = [f"has no column {', '.join(map(repr, missing))}"] if missing else []
    told += [f"has a column {', '.join(map(repr, strange))} of no measure"] if strange else []
    if told:
        remedy = "rename the column or the table's measure; a new measure needs a column, empty"
        raise ScenarioError(f"{path}: line 1: {' and '.join(told)}; {remedy}")


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
    if not lines:
        raise ScenarioError(f"{path}: is empty, without so much as names of columns; {_REMEDY}")
    for number, line in enumerate(lines, 1):
        if len(line) != len(lines[0]):
            told = f"has {len(line)} cells, the first line {len(lines[0])}"
            raise ScenarioError(f"{path}: line {number}: {told}; {_REMEDY}")
    return [dict(zip(lines[0], line, strict=True)) for line in lines[1:]]


def finite(text: str) -> float:
    """A number that is one.

    Raises
    ------
    ValueError
        If it is infinite, or none.
    """
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text!r} is not a finite number")
    return value
