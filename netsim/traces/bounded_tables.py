"""Parquet, Arrow, CSV and JSON lines from outside, read only as far as memory allows.

A column of one value packs to almost nothing: 200 million rows lie in a megabyte. So rows and
columns are counted in a file's own description before any are read, and what has been read is
weighed on the way, whatever that description says.
"""

import io
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.json
import pyarrow.parquet as pq

from netsim.errors import DataError
from netsim.traces import bounded

MOST_TABLE_BYTES = 3 << 29
"""A table may take so much memory: 1.5 GiB."""
MOST_COLUMNS = 10_000
_MOST_CELLS = MOST_TABLE_BYTES // 16
"""Cells of CSV, which may become numbers of 8 bytes or texts with 8 bytes around them."""
_MOST_FOOTER_BYTES, _MOST_PIECES = 1 << 26, 1 << 17
"""Limits of a file's own lists: bytes; and row groups, columns or pages in one list."""
_ALONE_JSON = pa.json.ReadOptions(use_threads=False, block_size=1 << 30)
"""One thread: Arrow's own, once started, can end the process in SIGABRT when it exits after torch.

A line of JSON may be as long as a block.
"""
_ROWS_AT_ONCE, _FEWEST_ROWS_AT_ONCE = 8192, 16
_BYTES_AT_ONCE = 1 << 29

BROKEN = (*bounded.BROKEN, pa.ArrowException, MemoryError, KeyError)
"""Errors of reading a broken table."""


def read_parquet(
    path: Path,
    columns: Sequence[str] | None = None,
    *,
    known: Collection[str] = (),
    follow_links: bool = True,
    most_bytes: int | None = None,
    most_rows: int = _MOST_CELLS,
) -> pa.Table:
    """Read a Parquet file.

    Parameters
    ----------
    path : Path
        Begins errors about it.
    columns : sequence of str or None
        Which to read; None: all.
    known : collection of str
        Where `columns` is None: read no others than these; empty: all.
    follow_links : bool
        Whether the file may be a link to one.
    most_bytes : int, optional
        How much memory it may take; None: `MOST_TABLE_BYTES`.
    most_rows : int
        How many rows it may have.

    Raises
    ------
    DataError
        If it is no plain file, or takes too much memory.
    Exception
        One of `BROKEN`: it can't be read.
    """
    most_bytes = MOST_TABLE_BYTES if most_bytes is None else most_bytes
    with bounded.open_plain_file(path, str(path), follow_links) as file:
        parts = _parquet(path, file)
        schema = parts.schema_arrow
        if columns is None and known:
            columns = [name for name in schema.names if name in known]
        missing = [name for name in columns or () if name not in schema.names]
        if missing:
            raise KeyError(f"no column {missing[0]}")
        widths = [_width(field.type) for field in schema if not columns or field.name in columns]
        _require_room(path, parts.metadata, sum(widths), most_bytes, most_rows)
        found = list(_batches(path, parts, columns, most_bytes))
        wanted = schema if columns is None else pa.schema([schema.field(c) for c in columns])
        return pa.Table.from_batches(found, wanted)


def rows_of(path: Path) -> int:
    """Number of rows that a Parquet file states; not through a link; errors as above."""
    with bounded.open_plain_file(path, str(path), follow_links=False) as file:
        return int(_parquet(path, file).metadata.num_rows)


def _parquet(path: Path, file: io.BufferedReader) -> Any:
    """An open Parquet file; its description of itself may not be large."""
    size = file.seek(0, io.SEEK_END)
    file.seek(max(0, size - 8))
    said, mark = int.from_bytes(file.read(4), "little"), file.read(4)
    file.seek(0)
    if mark == b"PAR1" and said > _MOST_FOOTER_BYTES:
        raise DataError(f"{path}: describes itself in more than {_MOST_FOOTER_BYTES >> 20} MiB")
    return pq.ParquetFile(
        file, page_checksum_verification=True, thrift_container_size_limit=_MOST_PIECES
    )


def _width(kind: Any) -> int:
    """Bytes that a value of a type takes at least."""
    try:
        return max(1, int(kind.bit_width) // 8)
    except ValueError:  # texts, lists: where they end, at least
        return 4


def _require_room(path: Path, said: Any, row_bytes: int, most_bytes: int, most_rows: int) -> None:
    rows, columns = said.num_rows, said.num_columns
    if columns > MOST_COLUMNS:
        raise DataError(f"{path}: has {columns:,} columns, at most {MOST_COLUMNS:,} are read")
    if rows > most_rows:
        raise DataError(f"{path}: has {rows:,} rows, at most {most_rows:,} are read")
    groups = (said.row_group(i).total_byte_size for i in range(said.num_row_groups))
    size = max(rows * row_bytes, sum(groups))
    if size > most_bytes:
        raise DataError(
            f"{path}: its {rows:,} rows take {size / 2**30:.3g} GiB, at most "
            f"{most_bytes / 2**30:g} GiB are read; keep the rows and columns that are used"
        )


def _batches(
    path: Path, parts: Any, columns: Sequence[str] | None, most_bytes: int
) -> Iterator[Any]:
    """The rows, in pieces of which none is large even if one long text is in every row."""
    left = most_bytes
    for group in range(parts.num_row_groups):
        said = parts.metadata.row_group(group)
        longest = max(
            (said.column(i).total_uncompressed_size for i in range(said.num_columns)), default=0
        )
        rows = min(_ROWS_AT_ONCE, max(_FEWEST_ROWS_AT_ONCE, _BYTES_AT_ONCE // max(longest, 1)))
        for batch in parts.iter_batches(rows, [group], columns, use_threads=False):
            left -= batch.nbytes
            if left < 0:
                raise DataError(
                    f"{path}: its rows take more than {most_bytes / 2**30:g} GiB; keep the rows "
                    "and columns that are used"
                )
            yield batch


def read_csv(content: bytes, where: str, **options: Any) -> pa.Table:
    """Read CSV.

    Parameters
    ----------
    content : bytes
    where : str
        The beginning of errors about it.
    **options
        As `pyarrow.csv.read_csv` takes them.

    Raises
    ------
    DataError
        If it has too many columns or cells.
    Exception
        One of `BROKEN`: it can't be read.
    """
    if content[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise DataError(f"{where}: line 1: is text in UTF-16; save it as UTF-8")
    first = content[: max(content.find(b"\n"), 0) or len(content)]
    split: pa.csv.ParseOptions | None = options.get("parse_options")
    mark = b"," if split is None else split.delimiter.encode()
    if max(first.count(mark), first.count(b"\r")) >= MOST_COLUMNS:
        raise DataError(f"{where}: has more than {MOST_COLUMNS:,} columns")
    cells = content.count(mark) + content.count(b"\n") + content.count(b"\r")
    if cells > _MOST_CELLS:
        raise DataError(
            f"{where}: has {cells:,} cells, at most {_MOST_CELLS:,} are read; keep the rows and "
            "columns that are used"
        )
    if split is None:  # the caller does not know what divides its columns
        _require_commas(first, where)
        options["parse_options"] = pa.csv.ParseOptions(newlines_in_values=b'"' in content)
    _require_utf8(first, where)
    options = {"read_options": pa.csv.ReadOptions()} | options
    options["read_options"].use_threads = False  # see _ALONE_JSON
    found = pa.csv.read_csv(pa.BufferReader(content), **options)
    if any(pa.types.is_binary(field.type) for field in found.schema):
        _require_utf8(content, where)
    return found


def _require_utf8(content: bytes, where: str) -> None:
    try:
        content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise DataError(
            f"{where}: line {line}: is not text in UTF-8 (byte {error.start}); save it as UTF-8"
        ) from None


def _require_commas(header: bytes, where: str) -> None:
    """Refuse a header that something else than commas divides into columns."""
    if b"," in header:
        return
    for mark, name in ((b";", "semicolons"), (b"\t", "tabs"), (b"|", "bars (|)")):
        if mark in header:
            raise DataError(
                f"{where}: line 1: {name} divide its columns; write commas between columns, and "
                "points in numbers"
            )


def read_json_lines(content: bytes, where: str) -> pa.Table:
    """Read JSON lines: an object a line, its keys are the columns.

    Parameters
    ----------
    content : bytes
    where : str
        The beginning of errors about it.

    Raises
    ------
    DataError
        If it has too many cells.
    Exception
        One of `BROKEN`: it can't be read.
    """
    cells = content.count(b",") + content.count(b"\n")
    if cells > _MOST_CELLS:
        raise DataError(
            f"{where}: has {cells:,} cells, at most {_MOST_CELLS:,} are read; keep the rows and "
            "columns that are used"
        )
    _require_utf8(content, where)
    return pa.json.read_json(pa.BufferReader(content), read_options=_ALONE_JSON)


def read_arrow(path: Path) -> pa.Table:
    """Read a file of Arrow's streaming format, as `datasets` saves.

    Raises
    ------
    DataError
        If it is no plain file, or takes too much memory.
    Exception
        One of `BROKEN`: it can't be read.
    """
    with bounded.open_plain_file(path, str(path)) as file, pa.ipc.open_stream(file) as stream:
        left, found = MOST_TABLE_BYTES, []
        for batch in stream:
            left -= batch.nbytes
            if left < 0:
                raise DataError(
                    f"{path}: its rows take more than {MOST_TABLE_BYTES / 2**30:g} GiB; keep the "
                    "rows and columns that are used"
                )
            found.append(batch)
        return pa.Table.from_batches(found, stream.schema)
