"""Rows as CSV that spreadsheets read as text and numbers, never as formulas."""

import csv
import io
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from netsim.recording.whole_files import make_folder, write_text

_FORMULA = re.compile(r"[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]")
"""Begins what spreadsheets compute."""
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|[+-]?(?:inf|nan)")


def csv_text(rows: Sequence[Mapping[str, Any]]) -> str:
    """Rows as CSV; empty cells where a run does not say."""
    text = io.StringIO(newline="")
    columns = dict.fromkeys(key for row in rows for key in row)
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(map(inert, columns))
    writer.writerows([inert(row.get(column)) for column in columns] for row in rows)
    return text.getvalue()


def inert(cell: Any) -> Any:
    """A cell of CSV that no program takes for a formula: a quotation mark goes before such text."""
    is_formula = isinstance(cell, str) and _FORMULA.match(cell) and not _NUMBER.fullmatch(cell)
    return f"'{cell}" if is_formula else cell


def write_csv(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write rows as CSV, whole."""
    text = csv_text(rows)
    make_folder(path.parent)
    write_text(path, text)
