"""Finding and reading the files of a data set: Parquet in the Hugging Face layout, CSV tables."""

import io
import json
import re
import threading
import warnings
from collections import Counter
from collections.abc import Sequence
from itertools import zip_longest
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from PIL import Image

from netsim.errors import DataError, one_line
from netsim.traces import bounded
from netsim.traces.bounded_tables import (
    BROKEN,
    read_arrow,
    read_csv,
    read_json_lines,
    read_parquet,
)
from netsim.traces.input_files import note_files

_SHARD = re.compile(r"-(\d{5})-of-(\d{5})\.(parquet|arrow)$")
FORMATS = ("PNG", "JPEG", "WEBP", "BMP", "GIF", "TIFF", "PPM")
"""Images are read in these: other formats run programs, or fetch files."""
_MOST_PIXELS = 1 << 24
"""Of an image that is scaled down."""
_decoding = threading.Lock()
"""Held while warnings are switched off, which holds for all threads."""
_HOW_TO_POINT = "point to it with [data] path, --data DIR or NETSIM_DATA"


def find_files(
    kind: str,
    folder: Path | None,
    folders: Sequence[str],
    patterns: Sequence[str],
    how_to_get: str,
    only: str | None = None,
) -> list[Path]:
    """The files of one part of a data set.

    Parameters
    ----------
    kind : str
        The data set's name in a scenario.
    folder : pathlib.Path or None
        The data folder.
    folders : sequence of str
        Places below it, in order of preference.
    patterns : sequence of str
        File patterns, in order of preference; the first with a match in a place is taken.
    how_to_get : str
        The remedy in the message.
    only : str or None
        The key of [data] that names files, where no file of another pattern may lie beside those
        that are taken. None: it may, as a set is often kept both packed and unpacked.

    Returns
    -------
    list of pathlib.Path
        In name order, all from one place and one pattern.

    Raises
    ------
    DataError
        If nothing is found, some shards of a set are missing, or (with `only`) files of two
        patterns are there.
    """
    wanted = " or ".join(patterns)
    if folder is None:
        raise DataError(
            f'[data] kind = "{kind}": needs {wanted}, and no data folder was given; '
            f"{_HOW_TO_POINT}. To get it: {how_to_get}"
        )
    places = list(dict.fromkeys(folder / name for name in folders))
    for place in places:
        for pattern in patterns:
            files = sorted(place.glob(pattern))
            if files:
                _require_all_shards(kind, files)
                if only is not None:
                    _require_no_others(kind, place, patterns, files, only)
                note_files(files)
                return files
    looked = ", ".join(str(place) for place in places)
    raise DataError(
        f'[data] kind = "{kind}": no file {wanted}; looked in {looked}; '
        f"{_HOW_TO_POINT}. To get it: {how_to_get}"
    )


def _require_no_others(
    kind: str, place: Path, patterns: Sequence[str], taken: list[Path], key: str
) -> None:
    """Raise if a pattern finds files beside those that another one found."""
    found = (path for pattern in patterns for path in sorted(place.glob(pattern)))
    other = next((path for path in found if path not in taken), None)
    if other is not None:
        first, second = (str(path.relative_to(place)) for path in (taken[0], other))
        raise DataError(
            f'[data] kind = "{kind}": {one_line(place)} holds both {one_line(first)} and '
            f"{one_line(second)}; say which by {key}, or leave one sort of them there"
        )


def _require_all_shards(kind: str, files: list[Path]) -> None:
    names = {file.name for file in files}
    for file in files:
        shard = _SHARD.search(file.name)
        if not shard:
            continue
        stem = file.name[: shard.start()]
        for number in range(int(shard[2])):
            name = f"{stem}-{number:05d}-of-{shard[2]}.{shard[3]}"
            if name not in names:
                raise DataError(
                    f'[data] kind = "{kind}": file {file.parent / name} is missing, '
                    f"beside {file.name}; copy all {int(shard[2])} parts"
                )


def image_folders(name: str) -> tuple[str, ...]:
    """Places below the data folder where an image set may lie, own layout first.

    Hub repositories put their Parquet files at the top, in `data/`, or in a folder named after the
    configuration, which is the set's name or `plain_text`.
    """
    bases = (f"images/{name}", name)
    return tuple(
        f"{base}{sub}" for base in bases for sub in ("", "/data", f"/{name}", "/plain_text")
    )


def read_table(files: Sequence[Path]) -> pa.Table:
    """Read tables and put them below one another.

    The suffix says what they are: `.parquet`, `.arrow` (as `datasets` saves), `.jsonl` or `.ndjson`
    (an object a line), all else CSV; text may be packed, `.gz`.

    Raises
    ------
    DataError
        If a file can't be read, or the files' columns differ.
    """
    return stack_tables(read_parts(files))


def stack_tables(tables: Sequence[pa.Table]) -> pa.Table:
    """Stack tables; a column of whole and other numbers becomes one of numbers.

    Raises
    ------
    DataError
        If a column is of one type here and of another there, or its class numbers stand for other
        names.
    """
    require_same_classes(tables)
    try:
        return pa.concat_tables(tables, promote_options="permissive")
    except pa.ArrowException as error:
        raise DataError(
            f"[data] files of a table differ in the type of a column: {one_line(error)}"
        ) from error


def read_parts(files: Sequence[Path]) -> list[pa.Table]:
    """Read tables, one a file; see `read_table`.

    Raises
    ------
    DataError
        If a file can't be read, or the files' columns differ.
    """
    tables = []
    for file in files:
        try:
            if file.suffix == ".parquet":
                tables.append(read_parquet(file))
            elif file.suffix == ".arrow":
                tables.append(read_arrow(file))
            else:
                content = bounded.read_plain_file(file, str(file), bounded.MOST_BYTES)
                tables.append((read_csv if is_csv(file) else read_json_lines)(content, str(file)))
            _require_texts(tables[-1])
        except BROKEN as error:
            raise bounded.unreadable_error(str(file), error) from error
    for file, table in zip(files, tables, strict=True):
        doubled = next((n for n, k in Counter(table.column_names).items() if k > 1), None)
        if doubled is not None:
            places = [i + 1 for i, one in enumerate(table.column_names) if one == doubled]
            raise DataError(
                f"{file}: columns {' and '.join(map(str, places[:2]))} are both called "
                f'"{one_line(doubled)}"; give each column a name of its own'
                " (where line 1 holds values, put a line of names before it)"
            )
        if sorted(table.column_names) != sorted(tables[0].column_names):
            raise DataError(
                f"{file}: its columns differ from those of {files[0].name}: "
                + one_line(", ".join(sorted({*table.column_names} ^ {*tables[0].column_names})))
            )
        for one in table.schema:
            first = tables[0].schema.field(one.name)
            if pa.types.is_string(one.type) != pa.types.is_string(first.type) and not (
                pa.types.is_null(one.type) or pa.types.is_null(first.type)
            ):
                raise DataError(
                    f'{file}: column "{one_line(one.name)}" is of type {one.type}, in '
                    f"{files[0].name} of type {first.type}; write it alike in all files"
                )
    return [table.select(tables[0].column_names) for table in tables]


def _require_texts(table: pa.Table) -> None:
    """Raise an ArrowException if a column of texts is not in UTF-8: Arrow looks late."""
    for name, one in zip(table.column_names, table.columns, strict=True):
        kind = one.type.value_type if pa.types.is_dictionary(one.type) else one.type
        if pa.types.is_string(kind) or pa.types.is_large_string(kind):
            try:
                one.validate(full=True)
            except pa.ArrowInvalid as error:
                raise pa.ArrowInvalid(f'column "{name}" is not text in UTF-8') from error


def is_csv(path: Path) -> bool:
    """Return whether `read_table` reads a file as CSV."""
    name = path.name.removesuffix(".gz")
    return not name.endswith((".parquet", ".arrow", ".jsonl", ".ndjson"))


def line_of(path: Path, row: int) -> int | None:
    """The line of a text file at which a row of its table begins, from 1; None: it has no lines.

    Parameters
    ----------
    path : Path
        Of CSV with a header, or of JSON lines.
    row : int
        From 0.
    """
    if path.suffix in (".parquet", ".arrow"):
        return None
    try:
        lines = bounded.read_plain_file(path, str(path), bounded.MOST_BYTES).splitlines()
    except BROKEN:
        return None
    left = row + 1 if is_csv(path) else row
    is_quoted = False
    for number, line in enumerate(lines, start=1):
        begins = not is_quoted and bool(line.strip())
        if begins and left == 0:
            return number
        left -= begins
        is_quoted ^= line.count(b'"') % 2 == 1
    return None


def column(table: pa.Table, names: Sequence[str], file: Path) -> str:
    """The first of `names` that the table has.

    Parameters
    ----------
    table : pyarrow.Table
    names : sequence of str
    file : pathlib.Path
        For the message.

    Raises
    ------
    DataError
        If it has none of them.
    """
    for name in names:
        if name in table.column_names:
            return name
    raise DataError(
        f"{file}: no column {' or '.join(names)}; it has " + one_line(", ".join(table.column_names))
    )


def labels(table: pa.Table, name: str, num_classes: int, file: Path) -> NDArray[np.int64]:
    """A label column, (n,) int64.

    Parameters
    ----------
    table : pyarrow.Table
    name : str
        Of the column.
    num_classes : int
    file : pathlib.Path
        For the message.

    Raises
    ------
    DataError
        If a label is not in 0 .. `num_classes` - 1.
    """
    try:
        y = table.column(name).cast(pa.int64()).to_numpy()
    except (pa.ArrowException, ValueError, TypeError) as error:
        raise DataError(f"{file}: column {name} is not a column of class numbers") from error
    if table.column(name).null_count or (len(y) and not 0 <= y.min() <= y.max() < num_classes):
        raise DataError(f"{file}: column {name} must hold class numbers 0 to {num_classes - 1}")
    return np.asarray(y, dtype=np.int64)


def class_names(table: pa.Table, name: str, num_classes: int) -> tuple[str, ...]:
    """Names of the classes from the schema (as `datasets` writes them), else their numbers.

    Parameters
    ----------
    table : pyarrow.Table
    name : str
        Of the label column.
    num_classes : int

    Returns
    -------
    tuple of str
        One a class.
    """
    names = schema_names(table, name)
    return names if len(names) == num_classes else tuple(map(str, range(num_classes)))


def schema_names(table: pa.Table, name: str) -> tuple[str, ...]:
    """Names of the classes of a column from the schema, as `datasets` writes them; else none."""
    metadata = table.schema.metadata or {}
    try:
        info = json.loads(metadata.get(b"huggingface", b"{}"))
        return tuple(map(str, info["info"]["features"][name]["names"]))
    except (ValueError, KeyError, TypeError, RecursionError):
        return ()


def require_same_classes(tables: Sequence[pa.Table]) -> None:
    """Refuse tables whose schemas name the classes of a column differently: numbers would mix.

    Raises
    ------
    DataError
        With the first number that stands for two names.
    """
    stated: dict[str, tuple[str, ...]] = {}
    for table in tables:
        for name in table.column_names:
            names = schema_names(table, name)
            first = stated.setdefault(name, names) or names
            if not names or first == names:
                stated[name] = first
                continue
            pairs = enumerate(zip_longest(first, names))
            number, (here, there) = next((k, pair) for k, pair in pairs if pair[0] != pair[1])
            classes = " and of ".join("nothing" if n is None else f'"{n}"' for n in (here, there))
            raise DataError(
                f'[data] column "{one_line(name)}": {number} is the class number of '
                f"{one_line(classes)} in files of one table; write all with the same names of "
                "classes"
            )


def images(
    table: pa.Table,
    name: str,
    shape: tuple[int, int, int],
    file: Path,
    rescaled: bool = False,
    greyed: bool = True,
) -> tuple[NDArray[np.uint8], str]:
    """Decode an image column, a struct with the encoded file in `bytes`.

    Pixels are those of the file: what 8 bits a channel can't hold, and what a decoder leaves out
    in silence (transparency, further frames), is refused.

    Parameters
    ----------
    table : pyarrow.Table
    name : str
    shape : (C, H, W)
        What every image must be; one channel is grey, three are RGB.
    file : pathlib.Path
        For the message.
    rescaled : bool
        Scale images of other sizes (bilinear) instead of refusing them.
    greyed : bool
        Whether images in colour become grey ones where `shape` has one channel; else they are
        refused.

    Returns
    -------
    x : (n, C, H, W) uint8
    encoding : str
        Format of the first image, such as "PNG".

    Raises
    ------
    DataError
        If an image can't be decoded, has another size, or holds what would be lost.
    """
    channels, height, width = shape
    x = np.empty((table.num_rows, height, width, channels), dtype=np.uint8)
    encoding = ""
    kind = table.schema.field(name).type
    if not pa.types.is_struct(kind) or kind.get_field_index("bytes") < 0:
        raise DataError(f"{file}: column {name} is {kind}, not a struct with bytes")
    encoded = (cell for chunk in table.column(name).chunks for cell in chunk.field("bytes"))
    with _decoding, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what Pillow says of odd images that it can read
        for row, cell in enumerate(encoded):
            try:
                with Image.open(io.BytesIO(cell.as_py()), formats=FORMATS) as opened:
                    encoding = encoding or str(opened.format)
                    _require_size(opened.size, None if rescaled else (width, height))
                    _require_exact(opened, greyed or channels > 1)
                    image = opened.convert("L" if channels == 1 else "RGB")
                if rescaled:
                    image = image.resize((width, height), Image.Resampling.BILINEAR)
                pixels = np.asarray(image)
            except _ImageError as error:
                raise DataError(f"{file}: row {row} {error}") from None
            except Exception as error:  # a decoder raises what it likes
                raise DataError(f"{file}: the image in row {row} can't be decoded") from error
            x[row] = pixels.reshape(height, width, channels)
    return np.ascontiguousarray(x.transpose(0, 3, 1, 2)), encoding


GREY = ("1", "L", "LA")
"""Modes of Pillow that have no colour and at most 8 bits."""


class _ImageError(ValueError):
    """An image is not read; says what it is, and what is read."""


def _require_exact(opened: Image.Image, is_colour_kept: bool) -> None:
    """Raise _ImageError if 8 bits a channel, grey or RGB, do not hold all of an image.

    Parameters
    ----------
    opened : PIL.Image.Image
    is_colour_kept : bool
        Whether an image in colour is read, else only grey ones are.
    """
    if opened.mode == "F" or opened.mode.startswith("I"):
        bits = "16" if ";16" in opened.mode else "32"
        raise _ImageError(
            f"has {bits} bits a pixel, and images have 8; scale its values to 0 to 255, or give "
            "lists of numbers"
        )
    frames = getattr(opened, "n_frames", 1)
    if frames > 1:
        raise _ImageError(f"has {frames} frames, and images have one; write one a row")
    if opened.has_transparency_data:
        alpha = opened.convert("RGBA").getchannel("A")
        if alpha.getextrema() != (255, 255):
            raise _ImageError(
                "has transparent pixels, whose colours nobody sees; put it on a background"
            )
    if not is_colour_kept and opened.mode not in GREY:
        red, green, blue = map(np.asarray, opened.convert("RGB").split())
        if (red != green).any() or (red != blue).any():
            raise _ImageError(
                "is in colour, and the first image is grey; set image_shape, whose first number "
                "says for all: 1 for grey, 3 for colours"
            )


def _require_size(size: tuple[int, int], wanted: tuple[int, int] | None) -> None:
    """Raise _ImageError, before an image is decoded, if (width, height) is not that wanted."""
    width, height = size
    if wanted is None and width * height > _MOST_PIXELS:
        raise _ImageError(f"is {height} x {width}, more than {_MOST_PIXELS:,} pixels")
    if wanted is not None and size != wanted:
        raise _ImageError(f"is {height} x {width}, not {wanted[1]} x {wanted[0]} pixels")
