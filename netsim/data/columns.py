"""Columns of a table as arrays: inputs, targets, users."""

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from PIL import Image

from netsim.data import files
from netsim.errors import DataError, one_line
from netsim.registry import did_you_mean
from netsim.traces import bounded
from netsim.traces.bounded_tables import read_csv

_MOST_IMAGE_BYTES = 1 << 26
_LONGEST_HEADER = 1 << 24
"""Bytes of CSV in which the names of the columns are looked for."""
_MANY_ROWS = 100
"""From so many rows on, whole numbers most of which differ are hardly classes."""


LARGEST = (2.0 - 2.0**-23) * 2.0**127
"""The largest number that is finite in float32."""


class Targets(NamedTuple):
    """Targets of learning.

    Attributes
    ----------
    y : (n,) or (n, ...) array
        Class numbers (int64), or numbers (float64).
    class_names : tuple of str
        Empty without classes.
    """

    y: NDArray[Any]
    class_names: tuple[str, ...]


class Source(NamedTuple):
    """Source of a table, for errors, and the folder of files that it names.

    Attributes
    ----------
    name : str
    folder : Path or None
    parts : tuple of (str, Path or None, int)
        The files whose rows lie below one another: what a part is called, its file, and how many
        rows it has.
    """

    name: str
    folder: Path | None = None
    parts: tuple[tuple[str, Path | None, int], ...] = ()

    def row_place(self, row: int) -> str:
        """Place of a row of the table: its file, and the line or the row there."""
        for name, path, rows in self.parts:
            if row < rows:
                line = None if path is None else files.line_of(path, row)
                return f"{name} row {row + 1}" if line is None else f"{name} line {line}"
            row -= rows
        return f"row {row + 1}"

    def error(self, key: str, value: object, what: str) -> DataError:
        """Make an error about a column, to be raised.

        Parameters
        ----------
        key : str
            Of [data], that names it.
        value : object
            What it says.
        what : str
            What is wrong.
        """
        return DataError(f'[data] {key} = "{one_line(value)}": {self.name}: {what}')


def column_without_gaps(table: pa.Table, name: str, key: str, source: Source) -> pa.ChunkedArray:
    """A column without gaps.

    Parameters
    ----------
    table : pyarrow.Table
    name, key : str
        Of the column, and of the key of [data] that names it.
    source : Source

    Raises
    ------
    DataError
        If there is none, or a cell is empty.
    """
    known = table.column_names
    if name not in known:
        raise source.error(
            key,
            name,
            f"has no such column{did_you_mean(name, known)}; it has "
            f"{one_line(', '.join(known))}: say which by {key}",
        )
    column = table.column(name)
    if column.null_count:
        row = int(np.argmax(np.asarray(column.is_null().to_numpy())))
        raise source.error(
            key,
            name,
            f"{column.null_count:,} cells of the column are empty, the first at "
            f"{source.row_place(row)}; leave out these rows",
        )
    return column


def in_float32(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Mask of the numbers that are finite and stay so in float32, in which models compute."""
    half = values.dtype == np.float16  # in which the limit itself is infinite
    found: NDArray[np.bool_] = np.isfinite(values) if half else np.abs(values) <= LARGEST
    return found


def holds_images(kind: pa.DataType) -> bool:
    """Return whether a column's type is that of images as `datasets` stores them."""
    return bool(pa.types.is_struct(kind) and kind.get_field_index("bytes") >= 0)


def holds_numbers(kind: pa.DataType) -> bool:
    """Return whether a column has one number a row."""
    types = pa.types
    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind))


def is_list(kind: pa.DataType) -> bool:
    """Return whether a column has a list a row."""
    types = pa.types
    return bool(types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind))


def number_column(table: pa.Table, name: str, key: str, source: Source) -> NDArray[Any]:
    """A column of numbers, (n,), or of lists of equally many, (n, ...).

    Parameters
    ----------
    table, name, key, source
        As of `column_without_gaps`.

    Raises
    ------
    DataError
        If it is anything else, or a number is not finite.
    """
    column = column_without_gaps(table, name, key, source)
    values, shape = column.combine_chunks(), [len(column)]
    if isinstance(values, pa.ChunkedArray):  # of no chunk, or of too many bytes for one
        values = pa.concat_arrays(values.chunks) if values.num_chunks else pa.array([], column.type)
    while is_list(values.type):
        every = pc.list_value_length(values)
        lengths = pc.unique(every).drop_null().to_pylist()
        if len(lengths) > 1:
            inner = len(values) // max(1, len(column))
            odd = int(np.argmax(np.asarray(every) != every[0].as_py())) // max(1, inner)
            raise source.error(
                key,
                name,
                f"its lists have {min(lengths)} to {max(lengths)} entries, the first of another "
                f"length than row 1's at {source.row_place(odd)}; fill them up to one length",
            )
        shape.append(lengths[0] if lengths else 0)
        values = values.flatten()
    if not holds_numbers(values.type):
        raise source.error(
            key, name, f"the column is of type {one_line(values.type)}, not of numbers"
        )
    if values.null_count:
        empty = np.asarray(values.is_null().to_numpy(zero_copy_only=False))
        row = int(np.argmax(empty)) // max(1, len(empty) // max(1, len(column)))
        raise source.error(
            key, name, f"a list has an empty entry at {source.row_place(row)}; leave out these rows"
        )
    found = np.asarray(values.to_numpy(zero_copy_only=False)).reshape(shape)
    if found.dtype == bool:
        found = found.astype(np.int64)
    finite = in_float32(found).reshape(len(found), -1).all(axis=1)
    if not finite.all():
        raise source.error(
            key,
            name,
            f"{int((~finite).sum()):,} cells of the column are nan or infinite, or beyond "
            f"{LARGEST:.1g}, the first at {source.row_place(int(np.argmin(finite)))}; leave out "
            "these rows",
        )
    return found


def image_column(
    table: pa.Table, name: str, shape: tuple[int, int, int] | None, source: Source
) -> NDArray[np.uint8]:
    """A column of images, (n, C, H, W): encoded in it, or names of files.

    Parameters
    ----------
    table : pyarrow.Table
    name : str
    shape : (C, H, W) or None
        What images are scaled to; None: all are as the first one.
    source : Source

    Raises
    ------
    DataError
        If a file is missing, an image can't be decoded or has another size.
    """
    column = column_without_gaps(table, name, "input", source)
    cells = column.to_pylist()
    encoded = [_image_bytes(cell, row, name, source) for row, cell in enumerate(cells)]
    given = shape
    if given is None:
        try:
            with Image.open(io.BytesIO(encoded[0]), formats=files.FORMATS) as first:
                width, height = first.size
                given = (1 if first.mode in files.GREY else 3), height, width
        except Exception as error:  # a decoder raises what it likes
            raise source.error("input", name, "the image in row 0 can't be decoded") from error
    kind = pa.struct([("bytes", pa.binary())])
    whole = pa.table({name: pa.array([{"bytes": one} for one in encoded], kind)})
    said = shape is not None
    found, _ = files.images(whole, name, given, Path(source.name), rescaled=said, greyed=said)
    return found


def _image_bytes(cell: Any, row: int, name: str, source: Source) -> bytes:
    """The bytes of an image that lie in a cell, or in the file that it names."""
    if isinstance(cell, dict):
        if cell.get("bytes") is not None:
            return bytes(cell["bytes"])
        cell = cell.get("path")
    if not isinstance(cell, str) or not cell:
        raise source.error("input", name, f"row {row} has neither an image nor a file's name")
    path = Path(cell) if source.folder is None else source.folder / cell
    where = f'[data] input = "{one_line(name)}": {source.name}: row {row}: {one_line(path)}'
    try:
        return bounded.read_plain_file(path, where, _MOST_IMAGE_BYTES)
    except FileNotFoundError:
        raise DataError(
            f"{where}: no such image file; names are relative to the data folder"
        ) from None
    except bounded.BROKEN as error:
        raise bounded.unreadable_error(where, error) from error


def target_column(
    table: pa.Table, name: str, source: Source, as_numbers: bool | None = None
) -> Targets:
    """A target column: classes, if its cells are whole numbers or texts, else numbers.

    Parameters
    ----------
    table : pyarrow.Table
    name : str
    source : Source
    as_numbers : bool or None
        Whether cells are numbers to predict; None: as their type says.

    Raises
    ------
    DataError
        If it is neither.
    """
    column = column_without_gaps(table, name, "target", source)
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if not holds_numbers(kind) and not is_list(kind):
        values = column.to_pylist()
        if as_numbers or not all(isinstance(value, str) for value in values):
            raise source.error(
                "target", name, f"the column is of type {one_line(column.type)}, not of numbers"
            )
        return _classes_in_order(np.array(values))
    found = number_column(table, name, "target", source)
    whole = np.issubdtype(found.dtype, np.integer)
    if as_numbers is False and not whole and np.spacing(np.abs(found).max(initial=0)) > 1:
        raise source.error(
            "target",
            name,
            f"holds numbers to {np.abs(found).max():g} as {one_line(kind)}, which does not tell "
            "neighbouring whole numbers apart; begin every class with a letter",
        )
    if as_numbers is False and not whole and found.ndim == 1 and (found % 1 == 0).all():
        found, whole = found.astype(np.int64), True  # classes that were written as 0.0, 1.0
    if as_numbers is None and whole and found.ndim == 1 and not files.schema_names(table, name):
        different = len(np.unique(found))
        if len(found) >= _MANY_ROWS and different > len(found) // 2:
            raise source.error(
                "target",
                name,
                f"has {different:,} different whole numbers in {len(found):,} rows, which would be "
                'as many classes; say learn = "numbers" if they are to be predicted, learn = '
                '"classes" if they are classes, or name another target',
            )
    if as_numbers or (as_numbers is None and not whole):
        return Targets(found.astype(np.float64), ())
    names = files.schema_names(table, name)
    if not names and found.ndim == 1:
        if pa.types.is_integer(kind):
            _require_one_spelling(table, name, "target", source)
        return _classes_in_order(found)
    if not whole or found.min(initial=0) < 0 or (names and found.max(initial=0) >= len(names)):
        last = f" to {len(names) - 1}" if names else " on"
        raise source.error(
            "target",
            name,
            f"class numbers are from 0{last}, the column has {found.min()} to {found.max()}; "
            "leave out rows without a label",
        )
    known = names or tuple(map(str, range(int(found.max(initial=0)) + 1)))
    return Targets(found.astype(np.int64), known)


def _classes_in_order(values: NDArray[Any]) -> Targets:
    """Classes in the order of their values."""
    names, y = np.unique(values, return_inverse=True)
    return Targets(y.astype(np.int64), tuple(map(str, names.tolist())))


def user_numbers(table: pa.Table, name: str, source: Source) -> NDArray[np.int64]:
    """Number of the user of each row, (n,); users in the order of their names.

    Parameters
    ----------
    table, name, source
        As of `target_column`.

    Raises
    ------
    DataError
        If the column names no users, or a user in two ways ("1" and "01").
    """
    values = column_without_gaps(table, name, "user", source).to_pylist()
    if not all(isinstance(value, str | int) for value in values):
        raise source.error(
            "user",
            name,
            "users are texts or whole numbers up to 2^64, the column is of type "
            f"{one_line(table[name].type)}; begin every user with a letter",
        )
    is_text = any(isinstance(value, str) for value in values)
    if not is_text:
        _require_one_spelling(table, name, "user", source)
    found: Sequence[Any] = [str(value) for value in values] if is_text else values
    return np.unique(np.array(found), return_inverse=True)[1].astype(np.int64)


def _require_one_spelling(table: pa.Table, name: str, key: str, source: Source) -> None:
    """Raise if names that are read as numbers (true and false) are written in two ways.

    Parameters
    ----------
    table, name, key, source
        As of `column_without_gaps`.
    """
    values = table.column(name)
    seen: dict[Any, str] = {}
    word = "user" if key == "user" else "class"
    for _, path, rows in source.parts:
        own, values = values.slice(0, rows), values.slice(rows)
        if path is None or not files.is_csv(path):
            continue
        for value, cell in zip(own.to_pylist(), _as_written(path, name), strict=True):
            first = seen.setdefault(value, cell)
            if first != cell:
                what = "are both true" if value is True else "are both false"
                what = what if isinstance(value, bool) else "are one number"
                raise source.error(
                    key,
                    name,
                    f'"{one_line(first)}" and "{one_line(cell)}" {what}; write a {word} in one '
                    f"way, or begin every {word} with a letter",
                )


def _as_written(path: Path, name: str) -> list[str]:
    """Cells of a CSV file's column as texts, without blanks around them."""
    content = bounded.read_plain_file(path, str(path), bounded.MOST_BYTES)
    header = content[:_LONGEST_HEADER].decode("utf-8-sig", errors="replace").lstrip("\r\n")
    names = next(csv.reader(io.StringIO(header)))
    written = next(one for one in names if one.strip() == name)
    as_text = pa.csv.ConvertOptions(include_columns=[written], column_types={written: pa.string()})
    cells = read_csv(content, str(path), convert_options=as_text).column(written)
    return list(pc.utf8_trim_whitespace(cells).to_pylist())
