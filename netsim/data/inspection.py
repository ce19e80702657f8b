"""Columns of a user's table before they become arrays: which are inputs, and why others are not.

Every column is used, left out for a reason that is told, or refused. A column that is nearly one of
numbers (one typo, a `?` for what is missing, decimal commas) is refused: were it left out, a model
would learn without it and nobody would know.
"""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from netsim.data import files
from netsim.data.columns import Source, holds_images, holds_numbers, is_list
from netsim.errors import DataError, one_line
from netsim.traces.files import as_seen

_UNNAMED = re.compile(
    r"(unnamed:? ?\d*(_level_\d+)?|__index_level_\d+__|\.\.\.\d+|)", re.IGNORECASE
)
"""Names that pandas, Arrow and readr give to columns without one."""
_NUMBER = r"^\s*[-+(\x{2212}]?[$€£]?\s*(\d[\d.,'_\s]*|\.\d+)([eE][-+]?\d+)?\s*[%$€£)]?\s*$"
"""A number in any spelling: thousands and decimals divided by points, commas, blanks."""
_PLAIN = r"^\s*[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?\s*$"
_MEASURE = r"^\s*[-+]?(?:\d+[.,]?\d*|[.,]\d+)\s*(?P<unit>[^\s\d.,:/-][^\s\d]{0,11})\s*$"
"""A number and its unit."""
_MISSING = (
    "",
    "?",
    "-",
    "nan",
    "null",
    "n/a",
    "#n/a",
    "<na>",
    "nat",
    "-nan",
    "#n/a n/a",
    "1.#ind",
    "-1.#ind",
    "1.#qnan",
    "-1.#qnan",
    "#null!",
    "#div/0!",
    "#value!",
    "#ref!",
    "#name?",
    "#num!",
    "#spill!",
    "#calc!",
)
"""Cells that stand for no value, in small letters: of people, of libraries, of spreadsheets."""
_NUMBERS_ROWS_FROM = 16
"""Fewer rows than this may be numbered by chance."""
_GAPS = 2
"""An index has fewer gaps than rows; what is measured and all different spreads farther."""
_TELLS_FROM = 50
"""In fewer rows than this a column may go with the classes by chance."""
_ROWS_OF_A_CLASS = 10
"""With fewer rows a class a column may have one value in all rows of each class by chance."""
_SAME = 1e-12
"""Largest difference of a correlation from 1 at which a column is the target in another unit."""
_COARSE = 0.01
"""Error of rounding that is remarked on, in parts of what a column spans."""


@dataclass
class ColumnUse:
    """Columns of a table: those used, and those left out with the reason.

    Attributes
    ----------
    inputs, targets : tuple of str
    user : str or None
    left_out : dict of str to str
        Why a column is no input, by name.
    remarks : list of str
        What may be an oversight.
    """

    inputs: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    user: str | None = None
    left_out: dict[str, str] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        """Entry of `environment.json`."""
        return {
            "inputs": list(self.inputs),
            "targets": list(self.targets),
            "user": self.user,
            "left_out": self.left_out,
            "remarks": self.remarks,
        }

    def sentences(self) -> list[str]:
        """Sentences for `netsim validate` and the page of a run."""
        found = []
        if self.left_out:
            by_reason: dict[str, list[str]] = {}
            for name, reason in self.left_out.items():
                by_reason.setdefault(reason, []).append(name)
            words = [f"{_first_names(names)} ({reason})" for reason, names in by_reason.items()]
            found.append(f"inputs are {_first_names(self.inputs)}; left out: {'; '.join(words)}")
        return [one_line(text) for text in (*found, *self.remarks)]


def _first_names(names: Sequence[str]) -> str:
    shown = ", ".join(name or '""' for name in names[:8])
    return shown if len(names) <= 8 else f"{shown} and {len(names) - 8} more"


def normalise_table(table: pa.Table, name: str) -> pa.Table:
    """A table whose columns have stripped names, each once, and types that are read.

    Parameters
    ----------
    table : pyarrow.Table
    name : str
        Of the file, for errors.

    Raises
    ------
    DataError
        If two columns have one name.
    """
    names = [one.strip().removeprefix("\ufeff") for one in table.column_names]
    doubled = next((one for one in names if names.count(one) > 1), None)
    if doubled is not None:
        places = [i + 1 for i, one in enumerate(names) if one == doubled]
        raise DataError(
            f"{name}: columns {' and '.join(map(str, places[:2]))} are both called "
            f'"{one_line(doubled)}"; give each column a name of its own'
        )
    columns = [_normalise_column(table.column(i)) for i in range(table.num_columns)]
    found = pa.table(columns, names=names) if columns else table
    return found.replace_schema_metadata(table.schema.metadata)


def _normalise_column(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column without dictionaries, decimals and large texts."""
    types, kind = pa.types, column.type
    if types.is_dictionary(kind):
        kind = kind.value_type
        column = column.cast(kind)
    if types.is_large_string(kind) or types.is_string_view(kind):
        return column.cast(pa.string())
    if types.is_decimal(kind):
        return column.cast(pa.int64() if _is_whole(column) else pa.float64())
    return column


def _is_whole(column: pa.ChunkedArray) -> bool:
    """Return whether decimals are whole numbers by their type, as databases have them."""
    try:
        column.cast(pa.int64())
    except pa.ArrowInvalid:
        return False
    return bool(column.type.scale <= 0)


def stack_parts(
    train: pa.Table, test: pa.Table, needed: Collection[str] | None, source: Source
) -> pa.Table:
    """Stack the training and the test table.

    Parameters
    ----------
    train, test : pyarrow.Table
    needed : collection of str or None
        The columns that keys name; None: all are, as inputs are those that are left over.
    source : Source

    Raises
    ------
    DataError
        If a column is in one alone, or of another type in the other.
    """
    files.require_same_classes([train, test])
    here, there = train.column_names, test.column_names
    wanted = [name for name in here if needed is None or name in needed]
    for names, others, part, other in (
        (here, there, "training", "test"),
        (there, here, "test", "training"),
    ):
        lacking = [n for n in names if n not in others and (needed is None or n in needed)]
        if lacking:
            raise DataError(
                f"[data] {source.name}: the {part} rows have column {_first_names(lacking)}, the "
                f"{other} rows have not; give both the same columns, or name the inputs by input"
            )
    for name in wanted:
        kinds = [_type_words(part.schema.field(name).type) for part in (train, test)]
        if kinds[0] != kinds[1] and "nothing" not in kinds:
            raise DataError(
                f'[data] {source.name}: column "{one_line(name)}" holds {kinds[0]} in the training '
                f"rows and {kinds[1]} in the test rows; write it alike in both"
                + _first_odd(train, test, name, source)
            )
    try:
        both = [part.select(wanted) for part in (train, test)]
        table = pa.concat_tables(both, promote_options="permissive")
    except pa.ArrowException as error:
        raise DataError(
            f"[data] {source.name}: columns of training and test rows differ in type: "
            f"{one_line(error)}"
        ) from error
    return table.replace_schema_metadata(train.schema.metadata)


def _type_words(kind: pa.DataType) -> str:
    """A type in words; whole numbers and others are one sort, as inputs mix them."""
    types = pa.types
    if types.is_null(kind):
        return "nothing"
    if types.is_boolean(kind):
        return "true and false"
    if holds_numbers(kind):
        return "numbers"
    if types.is_string(kind):
        return "texts"
    if types.is_temporal(kind):
        return "dates or times"
    return "lists" if is_list(kind) else str(kind)


def _first_odd(train: pa.Table, test: pa.Table, name: str, source: Source) -> str:
    """Place of the first text that makes a column of numbers one of texts; may be empty."""
    for part, first in ((train, 0), (test, train.num_rows)):
        column = part.column(name)
        if pa.types.is_string(column.type):
            odd = ~_matches(column, _NUMBER)
            if odd.any() and not odd.all():
                row = int(np.argmax(odd))
                return f"; {source.row_place(first + row)} holds {_cell(column, row)}"
    return ""


def _matches(column: pa.ChunkedArray, pattern: str) -> NDArray[np.bool_]:
    """Mask of the cells that a pattern describes; no empty one."""
    found = pc.fill_null(pc.match_substring_regex(column, pattern), False)
    return np.asarray(found.to_numpy(), dtype=bool)


def _cell(column: pa.ChunkedArray, row: int) -> str:
    value = column[row].as_py()
    return "nothing" if value is None else f'"{one_line(value)[:60]}"'


def require_no_spoilt_numbers(table: pa.Table, name: str, key: str, source: Source) -> None:
    """Refuse a column of texts most of which are numbers.

    Parameters
    ----------
    table : pyarrow.Table
    name : str
    key : str
        Of [data], that decides about the column.
    source : Source

    Raises
    ------
    DataError
    """
    column = table.column(name)
    if not pa.types.is_string(column.type) or not len(column):
        return
    numbers = _matches(column, _NUMBER) | _with_one_unit(column)
    if 2 * int(numbers.sum()) < len(column) - int(_is_missing(column).sum()) or not numbers.any():
        return
    odd = ~_matches(column, _PLAIN)
    if not odd.any():  # numbers in quotes, as JSON lines may have them
        what, row = "all its numbers are written as texts", 0
    else:
        row = int(np.argmax(odd))
        what = f"{int(odd.sum()):,} of {len(column):,} cells are no numbers"
    remedy = {
        "input": "write plain numbers (1234.5), leave out these rows or the column, or name the "
        "inputs by input",
        "target": 'write plain numbers, leave out these rows, or say learn = "classes" if they are '
        "names of classes",
    }[key]
    raise DataError(
        f'[data] {source.name}: column "{one_line(name)}": {what}, the first is '
        f"{_cell(column, row)} at {source.row_place(row)}; {remedy}"
    )


def _with_one_unit(column: pa.ChunkedArray) -> NDArray[np.bool_]:
    """Mask of the cells that are a number and the unit of most such cells, "kg" or "EUR"."""
    units = pc.struct_field(pc.extract_regex(column, _MEASURE), "unit")
    counts = pc.value_counts(units.drop_null()).to_pylist()
    common = max(counts, key=lambda one: one["counts"], default=None)
    if common is None or 2 * common["counts"] <= len(units) - units.null_count:
        return np.zeros(len(column), dtype=bool)
    found = pc.fill_null(pc.equal(units, common["values"]), False)
    return np.asarray(found.to_numpy(), dtype=bool)


def _is_missing(column: pa.ChunkedArray) -> NDArray[np.bool_]:
    small = pc.utf8_lower(pc.utf8_trim_whitespace(column))
    found = pc.fill_null(pc.is_in(small, value_set=pa.array(_MISSING)), True)
    return np.asarray(found.to_numpy(), dtype=bool)


def require_names(column: pa.ChunkedArray, name: str, key: str, source: Source) -> None:
    """Refuse texts that name nothing, or that blanks alone tell apart.

    Parameters
    ----------
    column : pyarrow.ChunkedArray
        Of texts without null.
    name, key : str
        Of the column, and of the key of [data] that names it.
    source : Source

    Raises
    ------
    DataError
    """
    if not pa.types.is_string(column.type):
        return
    missing = _is_missing(column)
    if missing.any():
        row = int(np.argmax(missing))
        raise source.error(
            key,
            name,
            f"{int(missing.sum()):,} cells of the column are empty or say that there is no value, "
            f"the first is {_cell(column, row)} at {source.row_place(row)}; leave out these rows",
        )
    seen: dict[str, str] = {}
    for one in column.unique().to_pylist():
        other = seen.setdefault(as_seen(one), one)
        if other != one:
            raise source.error(
                key,
                name,
                f"{_quoted(other)} and {_quoted(one)} differ in blanks alone, or in signs that are "
                "not seen; write them alike",
            )


def _quoted(text: str) -> str:
    """A text in quotes, unseen signs as escapes."""
    shown = one_line(text) if text == as_seen(text) else ascii(text)[1:-1]
    return f'"{shown[:60]}"'


def default_inputs(
    table: pa.Table, trained: int, y: NDArray[Any], use: ColumnUse, source: Source
) -> tuple[str, ...]:
    """The columns that models see where `input` does not say it; `use` is told of the others.

    Parameters
    ----------
    table : pyarrow.Table
    trained : int
        Its first rows, which the training file has.
    y : (n, ...) array
        Targets.
    use : ColumnUse
        With targets and user.
    source : Source

    Raises
    ------
    DataError
        If a column is nearly one of numbers, or there is no column of numbers or images.
    """
    rest = [f for f in table.schema if f.name not in use.targets and f.name != use.user]
    images = [f.name for f in rest if holds_images(f.type)]
    if images:
        use.left_out |= {
            f.name: "an image column is the input" for f in rest if f.name != images[0]
        }
        return (images[0],)
    found, lists = [], []
    parts = [rows for _, _, rows in source.parts] or [trained]
    for one in rest:
        require_no_spoilt_numbers(table, one.name, "input", source)
        if is_list(one.type):
            lists.append(one.name)
            continue
        reason = _exclusion_reason(table, one, parts, y)
        if reason is None:
            found.append(one.name)
        else:
            use.left_out[one.name] = reason
    if not found and len(lists) == 1:
        return (lists[0],)
    use.left_out |= dict.fromkeys(lists, "lists")
    if not found:
        raise DataError(
            f"[data] {source.name}: no column of images or numbers beside target and user; say "
            f"by input which of {one_line(', '.join(table.column_names))} models see"
            + (
                ""
                if not use.left_out
                else f" (left out: {one_line('; '.join(map(': '.join, use.left_out.items())))})"
            )
        )
    for name in found:
        if _is_line(np.asarray(table.column(name).to_numpy()), y):
            use.remarks.append(f'column "{name}" is the target but for a factor and an offset')
        _remark_on_constant(name, len(table.column(name).slice(0, trained).unique()), use)
    return tuple(found)


def _remark_on_constant(name: str, different: int, use: ColumnUse) -> None:
    if different == 1:
        use.remarks.append(f'column "{name}" has one value in all training rows')


def remark_on_numbers(name: str, values: NDArray[Any], trained: int, use: ColumnUse) -> None:
    """Add what may be an oversight in targets that are numbers: models predict them in float32.

    Parameters
    ----------
    name : str
    values : (n,) float64
    trained : int
        Rows of `values` that are training rows, the first ones.
    use : ColumnUse
    """
    _remark_on_constant(name, len(np.unique(values[:trained])), use)
    remark_on_rounding(name, values, "raw", use)


def numbers_rows(values: NDArray[Any], parts: Sequence[int]) -> bool:
    """Return whether a column is an index, which tells the target where rows lay sorted by it.

    It is one of whole numbers that all differ and rise or fall from row to row, or have few gaps,
    in whatever order: rows that were sorted by class, numbered, shuffled and split keep in it
    where they lay. All rows are numbered, or those of each part.

    Parameters
    ----------
    values : (n,) array
    parts : sequence of int
        Rows of each file, one below the other; what is beyond them is one more.
    """
    if values.dtype.kind not in "iuf" or (values != np.rint(values)).any():
        return False
    pieces = np.split(values, np.cumsum(parts))
    long = [one for one in pieces if len(one) >= _NUMBERS_ROWS_FROM]
    most = 2 * sum(map(len, long)) >= len(values)
    return _is_index(values) or (most and bool(long) and all(map(_is_index, long)))


def _is_index(values: NDArray[Any]) -> bool:
    """Return whether whole numbers all differ, and are in order or nearly without gaps."""
    ordered, where = np.unique(values, return_index=True)
    rows = len(values)
    if rows < _NUMBERS_ROWS_FROM or len(ordered) < rows:
        return False
    steps = np.diff(where)
    spans = ordered[-1].item() - ordered[0].item() + 1
    return bool((steps > 0).all() or (steps < 0).all() or spans < _GAPS * rows)


def _exclusion_reason(
    table: pa.Table, one: pa.Field, parts: Sequence[int], y: NDArray[Any]
) -> str | None:
    """Why a column is no input; None if it is one."""
    if _UNNAMED.fullmatch(one.name):
        return "has no name, as an index that was written along"
    if pa.types.is_null(one.type):
        return "empty"
    if not holds_numbers(one.type):
        return {"texts": "text", "dates or times": "dates or times"}.get(
            _type_words(one.type), str(one.type)
        )
    column = table.column(one.name)
    if column.null_count:
        return None  # refused where it is read
    values = np.asarray(column.to_numpy())
    if numbers_rows(values, parts):
        return "numbers the rows, as an index does; name the inputs by input to use it"
    if (
        len(values) >= _TELLS_FROM
        and y.ndim == 1
        and y.dtype.kind in "iu"
        and values.dtype.kind in "iubf"
    ):
        different, kinds = np.unique(values, return_inverse=True)
        classes = len(np.unique(y))
        pairs = len(np.unique(np.stack([kinds, y]), axis=1).T)
        is_many = len(values) >= _ROWS_OF_A_CLASS * classes
        if pairs == classes > 1 and len(different) > 1 and (len(different) == pairs or is_many):
            return "tells the target, one value a class; name the inputs by input to use it"
    if y.ndim == 1 and y.dtype.kind == "f" and np.array_equal(values, y):
        return "is the target once more; name the inputs by input to use it"
    return None


def _is_line(values: NDArray[Any], y: NDArray[Any]) -> bool:
    """Return whether numbers are a target's, but for a factor and an offset."""
    if y.dtype.kind != "f" or y.ndim != 1 or values.dtype.kind not in "iuf":
        return False
    a, b = (one - one.mean() for one in (values.astype(np.float64), y))
    sizes = np.linalg.norm(a) * np.linalg.norm(b)
    return bool(sizes > 0 and sizes < np.inf and abs(a @ b) > (1 - _SAME) * sizes)


def remark_on_rounding(name: str, values: NDArray[Any], scale: str, use: ColumnUse) -> None:
    """Add that models can hardly tell a column's values apart: its offset takes their digits.

    Parameters
    ----------
    name : str
    values : (n,) array of numbers
    scale : {"standard", "raw"}
        "raw" rounds the numbers themselves to float32; else they are differences in float64.
    use : ColumnUse
    """
    low, high = values.min().item(), values.max().item()
    kind = np.float32 if scale == "raw" else np.float64
    step = float(np.spacing(kind(max(abs(low), abs(high)))))
    if high > low and 0.5 * step > _COARSE * (high - low):
        use.remarks.append(
            f'column "{name}" spans {high - low:,.6g} and is rounded to steps of {step:,.6g} '
            f"({np.dtype(kind).name}): subtract what all its values have in common"
            + (', or take scale = "standard"' if kind is np.float32 else "")
        )


def remark_on_classes(y: NDArray[Any], names: Sequence[str], trained: int, use: ColumnUse) -> None:
    """Add what may be an oversight in class labels.

    Parameters
    ----------
    y : (n,) int64
    names : sequence of str
        Of the classes.
    trained : int
        Rows of `y` that are training rows, the first ones.
    use : ColumnUse
    """
    unseen = np.setdiff1d(y[trained:], y[:trained])
    if len(unseen):
        use.remarks.append(
            f"class {_first_names([names[k] for k in unseen.tolist()])} is in test rows alone: "
            "nobody can learn it"
        )
    small: dict[str, str] = {}
    for name in names:
        other = small.setdefault(name.lower(), name)
        if other != name and len(name) > 1:
            use.remarks.append(f'classes "{other}" and "{name}" differ in capitals alone')
    if "-1" in names and "0" in names:
        use.remarks.append("class -1: if it marks rows without a label, leave them out")
    if {"NA", "None", "none"} & set(names):
        use.remarks.append(
            "NA or None is a class: if it marks rows without a label, leave them out"
        )
