"""Find the first row of any table in which two runs of one scenario differ."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from netsim.errors import ScenarioError
from netsim.recording import run_folder
from netsim.recording.parquet_parts import Rows
from netsim.recording.schema import TABLES
from netsim.traces.arrays import Arrays

EVENTS = {"wakes": "t_s", "messages": "t_done_s"}
"""Tables of the event log, and their column of time."""
MEASURED = {"metrics": "t_s", "traffic": "t_s", "graph": "t_s"}
"""Tables of what was measured of it, and their column of time."""

FINGERPRINTS = {"event log": "event_log_sha256", "parameters": "parameters_sha256"}


@dataclass(frozen=True)
class Difference:
    """The first row in which a table of two runs differs."""

    table: str
    row: int  # counted from 0
    column: str  # empty if one of the tables has no such row
    t_s: float  # when it happened in the first run, or in the second if the first has no such row
    values: tuple[Any, Any]  # of the first run and of the second

    def __str__(self) -> str:
        place = f"{self.table}: row {self.row} (at {self.t_s:.9g} s)"
        if not self.column:
            there, gone = ("recorded", "rerun")[:: 1 if self.values[0] else -1]
            return f"{place}: there in the {there} run, missing in the {gone}"
        recorded, again = map(_shown, self.values)
        return f"{place}, column {self.column}: recorded {recorded}, rerun {again}"


def first_differences(recorded: Path, again: Path) -> list[Difference]:
    """The first difference of every table of two run folders, the earliest first.

    `recorded` and `again`: of the first run and of the second. A table that neither has is not
    looked at.

    Raises
    ------
    ScenarioError
        If a table can't be read.
    """
    differences = [
        difference
        for table, time in (EVENTS | MEASURED).items()
        if (difference := _first(recorded, again, table, time)) is not None
    ]
    tables = list(EVENTS | MEASURED)
    differences.sort(key=lambda d: (d.t_s, tables.index(d.table)))
    return differences


def other_differences(recorded: Path, again: Path) -> Iterator[str]:
    """Yield other differences of two run folders: the table of nodes, and the kept arrays."""
    one, two = (run_folder.nodes_if_any(folder) for folder in (recorded, again))
    if one.keys() != two.keys():
        yield f"nodes.parquet: columns {', '.join(sorted(one.keys() ^ two.keys()))}"
    for name in one.keys() & two.keys():
        row = _first_unequal(one[name], two[name])
        if row is not None:
            yield f"nodes.parquet: row {row}, column {name}"
    names = {p.name for folder in (recorded, again) for p in (folder / "kept").glob("*.npz")}
    for name in sorted(names):
        try:
            kept = [_arrays(folder / "kept" / name) for folder in (recorded, again)]
        except (OSError, ValueError, KeyError) as error:
            yield f"kept/{name}: can't be compared ({error})"
            continue
        for array in sorted(kept[0].keys() | kept[1].keys()):
            pair = [arrays.get(array) for arrays in kept]
            if pair[0] is None or pair[1] is None or not _equal(pair[0], pair[1]):
                yield f"kept/{name}: {array}"
                break


def _first(recorded: Path, again: Path, table: str, time: str) -> Difference | None:
    """The first row of a table that differs; only one column of both is in memory at a time."""
    folders = recorded, again
    if not any(run_folder.has(folder, table) for folder in folders):
        return None
    columns = _comparable(table, *(_columns(folder, table) for folder in folders))
    times = [_column(folder, table, time) for folder in folders]
    sizes = [len(t) for t in times]
    row, column, values = min(sizes), "", (sizes[0] > sizes[1], sizes[1] > sizes[0])
    for name in columns:
        one, two = (_column(folder, table, name)[:row] for folder in folders)
        if len(one) != len(two):
            raise ScenarioError(f"{recorded / table}: its parts have different columns")
        found = _first_unequal(one, two)
        if found is not None:
            row, column, values = found, name, (one[found], two[found])
    if not column and sizes[0] == sizes[1]:
        return None
    at = next(t for t in times if len(t) > row)
    return Difference(table, row, column, float(at[row]), values)


def _comparable(table: str, one: dict[str, None], two: dict[str, None]) -> list[str]:
    """Columns of two runs' tables, without those that an earlier release did not write."""
    later = {column.name for column in TABLES[table] if column.is_later}
    return [name for name in one | two if name not in later or (name in one and name in two)]


def _columns(folder: Path, table: str) -> dict[str, None]:
    first = next(run_folder.tables(folder, table), None)
    return dict.fromkeys(() if first is None else first.column_names)


def _column(folder: Path, table: str, name: str) -> NDArray[Any]:
    return run_folder.read(folder, table, [name])[name]


def _arrays(path: Path) -> Rows:
    arrays = Arrays("kept", str(path), None)
    return {name: arrays.get(name, kinds="biufcSU") for name in arrays.names}


def _first_unequal(one: NDArray[Any], two: NDArray[Any]) -> int | None:
    """The first index at which two arrays differ; NaN equals NaN."""
    common = min(len(one), len(two))
    if one.dtype == object or two.dtype == object:
        pairs = zip(one.tolist(), two.tolist(), strict=False)
        unequal = np.array([not _equal(a, b) for a, b in pairs], dtype=bool)
    else:
        a, b = one[:common], two[:common]
        unequal = (a != b) & ~((a != a) & (b != b))
    if unequal.any():
        return int(unequal.argmax())
    return common if len(one) != len(two) else None


def _equal(one: Any, two: Any) -> bool:
    found = np.asarray(one), np.asarray(two)
    numbers = all(array.dtype.kind in "fc" for array in found)
    return bool(np.array_equal(*found, equal_nan=numbers))


def _shown(value: Any) -> str:
    return str(value.item() if isinstance(value, np.generic) else value)
