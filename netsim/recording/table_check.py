"""The check of a table: that its columns are of the types and in the ranges that `schema` says."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from netsim.errors import ScenarioError, one_line
from netsim.recording.parquet_parts import Column
from netsim.traces.bounded_tables import BROKEN, read_parquet

MOST_BYTES = 1 << 28
"""A part may take so much memory."""
MOST_PART_ROWS = 1_000_000
"""Ten times what a part of a table is given."""
MOST_WORD = 100_000
MOST_TIME_S = 9.2e9
"""A virtual time in nanoseconds has 63 bits."""
MOST_COUNT = 1 << 53
MOST_REAL = 1e150
"""Its square is a number, too."""
_KINDS = {
    "time": "times",
    "id": "whole numbers",
    "count": "whole numbers",
    "real": "numbers",
    "word": "words",
    "flag": "true or false",
    "counts": "lists of whole numbers",
}


class TableCheck:
    """Reader of the parts of one table, which must fit each other.

    Parameters
    ----------
    nodes : int
        How many there are.
    in_order : (str, str) or None
        Columns of which the second is never less than the first.
    """

    def __init__(
        self, columns: Sequence[Column], nodes: int, in_order: tuple[str, str] | None = None
    ) -> None:
        self._columns = {column.name: column for column in columns}
        self._nodes, self._in_order = nodes, in_order
        self._names: list[str] | None = None
        self._last: dict[str, float] = {}

    def part(self, path: Path, wanted: Sequence[str] | None) -> Any:
        """The columns of one part.

        Raises
        ------
        ScenarioError
        """
        with refused(path):
            found = read_parquet(
                path,
                wanted,
                known=self._columns,
                follow_links=False,
                most_bytes=MOST_BYTES,
                most_rows=MOST_PART_ROWS,
            )
        names = found.column_names
        if len(set(names)) < len(names):
            raise ScenarioError(f"{path}: has a column twice")
        for name, column in self._columns.items():
            if wanted is None and name not in names and not column.is_later:
                raise ScenarioError(f"{path}: has no column {name}")
        names = [name for name in wanted or self._columns if name in names]
        if self._names not in (None, names):
            raise ScenarioError(f"{path}: has other columns than the part before it")
        self._names = names
        arrays = [self._cells(path, self._columns[name], found[name]) for name in names]
        made = pa.Table.from_arrays(arrays, names)
        if self._in_order is not None and set(self._in_order) <= set(names):
            first, second = (made[name].to_numpy() for name in self._in_order)
            _require(
                path, self._in_order[1], second < first, second, f"less than {self._in_order[0]}"
            )
        return made

    def _cells(self, path: Path, column: Column, cells: Any) -> Any:
        """A column in the type that it is read in, once it has been checked."""
        place = f"{path}: column {column.name}"
        if not _is_of(column, cells.type):
            raise ScenarioError(
                f"{place}: holds {one_line(cells.type)[:80]}, must hold {_KINDS[column.kind]}"
            )
        kind = _TYPES.get(column.kind)
        try:
            cells.validate(full=True)
            if kind is not None:
                cells = cells.cast(pa.int64() if pa.types.is_integer(kind) else kind)
        except pa.ArrowInvalid as problem:
            raise ScenarioError(f"{place}: {one_line(problem)[:200]}") from None
        if cells.null_count and not column.is_unknown:
            row = cells.is_null().to_pylist().index(True)
            raise ScenarioError(f"{place}, row {row}: is empty")
        if column.kind == "word":
            if column.is_unknown:
                cells = cells.cast(pa.string()).fill_null("")
            return self._words(place, column, cells)
        if column.kind == "flag":
            return cells.combine_chunks()
        if column.kind == "counts":
            return _counts(place, cells)
        values = np.asarray(cells.to_numpy())
        if column.is_node:
            too_many = f"the run has nodes 0 to {self._nodes - 1}"
            _require(path, column.name, (values < 0) | (values >= self._nodes), values, too_many)
            return pa.array(values).cast(kind)
        most = _MOST[column.kind]
        with np.errstate(invalid="ignore"):
            inside = (values >= max(column.least, -most)) & (values <= most)
        if column.is_unknown:  # numbers of an algorithm's own may be any
            inside |= (column.least < -most) | ~np.isfinite(values)
        least = f"at least {column.least:g}" if column.least > -most else "finite"
        _require(path, column.name, ~inside, values, f"must be {least} and at most {most:g}")
        if column.ascends and len(values):
            before = np.append(self._last.get(column.name, 0.0), values[:-1])
            _require(path, column.name, values < before, values, "less than in the row before it")
            self._last[column.name] = float(values[-1])
        return pa.array(values).cast(kind)

    def _words(self, place: str, column: Column, cells: Any) -> Any:
        if not pa.types.is_dictionary(cells.type):
            cells = cells.dictionary_encode()
        whole = whole_words(cells.cast(pa.dictionary(pa.int32(), pa.string())))
        if whole.dictionary.null_count:
            raise ScenarioError(f"{place}: has an empty word")
        names = whole.dictionary.to_pylist()
        codes = whole.indices.to_numpy()
        used = np.zeros(len(names), dtype=np.bool_)
        used[codes] = True
        for code, name in enumerate(names):
            known = name in column.words if column.words else len(name) <= MOST_WORD
            if used[code] and not known:
                row = int((codes == code).argmax())
                must = (
                    f"must be one of {', '.join(column.words)}" if column.words else "is too long"
                )
                raise ScenarioError(f'{place}, row {row}: "{one_line(name[:60])}": {must}')
        return whole


def whole_words(column: Any) -> Any:
    """A column of words as one dictionary array, whatever parts it comes in."""
    whole = column.unify_dictionaries().combine_chunks()
    if not isinstance(whole, pa.ChunkedArray):
        return whole
    return whole.chunk(0) if whole.num_chunks else pa.array([], column.type)


_TYPES = {"time": pa.float64(), "real": pa.float64(), "id": pa.int32(), "count": pa.int64()}
_MOST = {"time": MOST_TIME_S, "real": MOST_REAL, "id": 2**31 - 1, "count": MOST_COUNT}


def _is_of(column: Column, kind: Any) -> bool:
    """Return whether a type is one in which a column may be written."""
    types = pa.types
    if types.is_null(kind):
        return column.is_unknown
    if column.kind in ("id", "count"):
        return bool(types.is_integer(kind))
    if column.kind in ("time", "real"):
        return bool(types.is_floating(kind) or types.is_integer(kind))
    if column.kind == "flag":
        return bool(types.is_boolean(kind))
    if column.kind == "counts":
        return bool(types.is_list(kind) and types.is_integer(kind.value_type))
    if types.is_dictionary(kind):
        kind = kind.value_type
    return bool(types.is_string(kind) or types.is_large_string(kind))


def _counts(place: str, cells: Any) -> Any:
    whole = cells.cast(pa.list_(pa.int64())).combine_chunks()
    whole = pa.concat_arrays(whole.chunks) if isinstance(whole, pa.ChunkedArray) else whole
    lengths = whole.value_lengths().to_numpy()
    odd = lengths != (lengths[0] if len(lengths) else 0)
    if odd.any():
        raise ScenarioError(f"{place}, row {int(odd.argmax())}: has another length than row 0")
    numbers = whole.flatten()
    if numbers.null_count or (len(numbers) and numbers.to_numpy().min() < 0):
        raise ScenarioError(f"{place}: holds other things than counts")
    return whole


def _require(
    path: Path, name: str, wrong: NDArray[np.bool_], values: NDArray[Any], must: str
) -> None:
    """Raise ScenarioError for the first row that is wrong."""
    if wrong.any():
        row = int(wrong.argmax())
        raise ScenarioError(f"{path}: column {name}, row {row}: {values[row]}: {must}")


@contextmanager
def refused(path: Path) -> Iterator[None]:
    """Turn what reading a broken table raises into a ScenarioError that names the file."""
    try:
        yield
    except ScenarioError:
        raise
    except FileNotFoundError:
        raise ScenarioError(f"{path}: is missing") from None
    except (*BROKEN, TypeError, NotImplementedError) as problem:
        reason = one_line(problem)[:300]
        raise ScenarioError(f"{path}: not a table of a run: {reason}") from None
