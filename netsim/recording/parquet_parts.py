"""Tables written as Parquet parts, none of which is ever seen incomplete.

A table is a folder of `part-00000.parquet`, `part-00001.parquet`, ... A part is written under a
name that readers skip (it starts with a dot) and then renamed, so a killed run leaves only whole
parts behind. Rows wait in one flat list, because appending to it costs least; they become arrays
once per part.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from netsim.errors import ScenarioError
from netsim.recording.whole_files import make_folder, sync_names, write_whole
from netsim.units import NS_PER_S

Rows = dict[str, NDArray[Any]]
"""A table in memory: equally long arrays by column name."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table."""

    name: str  # in the file
    # `time` is given in whole nanoseconds and written in seconds; `id` is a small integer; `count`
    # a whole number of any size; `real` a number; `word` one of few strings; `counts` as many whole
    # numbers in each row
    kind: Literal["time", "id", "count", "real", "word", "flag", "counts"]
    least: float = 0.0  # no number is less
    # whether numbers may be missing (NaN, empty), or words (which are read as empty texts)
    is_unknown: bool = False
    is_node: bool = False  # whether it names nodes
    words: tuple[str, ...] = ()  # those that there are; empty: any
    is_later: bool = False  # whether tables of older runs lack it
    ascends: bool = False  # whether no row has less than the one before it


def columns_of(row: type[tuple[Any, ...]]) -> tuple[Column, ...]:
    """Columns of a class of rows, a `NamedTuple` of which each field is annotated with one."""
    return tuple(field.__metadata__[0] for field in row.__annotations__.values())


class Extent(NamedTuple):
    """Written part of a table: its files, and the rows in them."""

    parts: int
    rows: int


_DTYPES = {"time": np.int64, "id": np.int32, "count": np.int64, "real": np.float64}


class Words(dict[str, int]):
    """Codes of strings in order of first appearance."""

    def __missing__(self, word: str) -> int:
        self[word] = code = len(self)
        return code


def write_table(path: Path, table: Any) -> None:
    """Write a pyarrow table as Parquet, never seen incomplete."""
    write_whole(path, lambda file: pq.write_table(table, file))


class Parts:
    """Collects the rows of a table and writes them as the parts of one folder.

    Parameters
    ----------
    folder : Path or None
        Created if need be; must be empty. None: nothing is written.
    part_rows : int
        Rows of a part.
    is_replay : bool
        Whether the folder holds the rows that come first, so that none is written before `go_on`.

    Attributes
    ----------
    values : list
        The waiting rows, one after the other, `width` values each: a caller adds a row by `add`, or
        to the list itself. It stays the same list object.
    rows_written : int
        Rows of the parts that are in the folder.
    on_the_way : callable
        Rows as `take` returns them -> those to write: given what waited, before it is written.

    Raises
    ------
    ScenarioError
        If the folder already holds something: two runs must not mix in one table.
    """

    def __init__(
        self,
        folder: Path | None,
        columns: Sequence[Column],
        part_rows: int,
        is_replay: bool = False,
    ) -> None:
        self.columns = tuple(columns)
        self.width = len(self.columns)
        self.full = self.width * part_rows
        self.values: list[Any] = []
        self.words = {c.name: Words() for c in self.columns if c.kind == "word"}
        self._folder = folder
        self._parts = self._synced = 0
        self.rows_written = 0
        self.on_the_way: Callable[[Rows], Rows] = lambda rows: rows
        self._broken = False  # a part is missing: what comes after it must not follow it
        self._is_replay = is_replay
        if folder is not None and not is_replay:
            make_folder(folder)
            if any(folder.iterdir()):
                raise ScenarioError(f"{folder}: already holds a run; choose another --out folder")

    def add(self, row: tuple[Any, ...]) -> None:
        """Let a row wait, until there are enough for a part."""
        self.values += row
        if len(self.values) >= self.full:
            self.flush()

    def take(self) -> Rows:
        """Remove the waiting rows and return them: times in ns, words as codes into `words`."""
        rows: Rows = {}
        for i, column in enumerate(self.columns):
            cells = self.values[i :: self.width]
            if column.kind == "word":
                codes = self.words[column.name]
                rows[column.name] = np.fromiter(map(codes.__getitem__, cells), np.int32, len(cells))
            else:
                rows[column.name] = np.array(cells, dtype=_DTYPES[column.kind])
        self.values.clear()
        return rows

    def write(self, rows: Rows) -> None:
        """Write rows as `take` returns them, as the next part; none after one that failed."""
        if self._folder is None or self._is_replay or self._broken:
            return
        self._broken = True  # until this part is there
        arrays = []
        for column in self.columns:
            cells = rows[column.name]
            if column.kind == "time":
                arrays.append(pa.array(cells / NS_PER_S))
            elif column.kind == "word":
                words = pa.array(list(self.words[column.name]), pa.string())
                arrays.append(pa.DictionaryArray.from_arrays(cells, words))
            else:
                arrays.append(pa.array(cells))
        table = pa.Table.from_arrays(arrays, [c.name for c in self.columns])
        write_table(self._folder / f"part-{self._parts:05d}.parquet", table)
        self._parts += 1
        self.rows_written += table.num_rows
        self._broken = False

    def flush(self) -> None:
        """Write the waiting rows, if there are any."""
        if self.values:
            self.write(self.on_the_way(self.take()))

    def close(self) -> None:
        """Write the waiting rows; an empty table gets one empty part, which has its columns."""
        self.flush()
        if not self._parts:
            self.write(self.take())

    def withdraw_empty(self) -> None:
        """Remove the empty part of a table without rows: it is a statement about a whole run."""
        if self._parts and not self.rows_written:
            assert self._folder is not None
            for path in part_files(self._folder):
                path.unlink(missing_ok=True)

    def extent(self) -> Extent:
        """Return the written part of the table; the names of its files are on the disk itself."""
        if self._folder is not None and self._synced < self._parts:
            sync_names(self._folder)
            self._synced = self._parts
        return Extent(self._parts, self.rows_written)

    def go_on(self, extent: Extent) -> None:
        """Write again, after the rows that an earlier process had written."""
        self._parts, self.rows_written = extent
        self._synced, self._is_replay = self._parts, False

    def readable(self, rows: Rows) -> Rows:
        """Rows as `take` returns them, in the form in which they are read: seconds, and strings."""
        seen = dict(rows)
        for column in self.columns:
            if column.kind == "time":
                seen[column.name] = rows[column.name] / NS_PER_S
            elif column.kind == "word":
                words = np.array(list(self.words[column.name]), dtype=object)
                seen[column.name] = words[rows[column.name]]
        return seen


def part_files(folder: Path) -> list[Path]:
    """The files of a table's parts, in order; empty if it was not written."""
    return sorted(folder.glob("part-*.parquet"))


def join(parts: Sequence[Rows]) -> Rows:
    """Concatenate tables of the same columns, row-wise."""
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
