"""Columns of users' CSV files with a header, checked row by row.

Cells are separated by commas, semicolons, tabs or blanks, as the header has them, and a column's
name says what it counts in: `t_ms`, `x_km`, `bandwidth_kbps`, `time [s]`.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
from numpy.typing import NDArray

from netsim.traces.bounded_tables import BROKEN, read_csv
from netsim.traces.files import Text, is_comment, no_column, parse_number, quote, read_text
from netsim.traces.moments import HOW, LATEST_S, is_time_of_day, parse_moment
from netsim.traces.remarks import note_columns, note_commented

SECONDS = {"s": 1.0, "sec": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9, "min": 60.0, "h": 3600.0}
METRES = {"m": 1.0, "km": 1e3, "cm": 1e-2, "mm": 1e-3}
BITS_PER_S = {
    f"{prefix}{unit}": factor * bits
    for prefix, factor in (("", 1.0), ("k", 1e3), ("m", 1e6), ("g", 1e9))
    for unit, bits in (("bps", 1.0), ("bit/s", 1.0), ("bits/s", 1.0), ("b/s", 1.0))
}
"""Units by what a column's name ends with, in small letters."""

_MEGA = {"MW": "mw", "Mm": "mm", "Ms": "ms"}
"""Endings that in small letters mean a thousandth, and as they stand a million times the unit."""

_BYTES = re.compile(r"[kKMG]?B(?:ps|/s)$|[kKMG]?[Bb]ytes?(?:/s|ps|_per_s)$|^[KMG]?BPS$|_[KMG]?BPS$")
"""Endings that mean bytes, or may."""


class Columns:
    """The columns of one CSV file; `#` and `%` start a comment line.

    Parameters
    ----------
    text : Text
    names : sequence of str
        Columns that the file must have.

    Raises
    ------
    DataError
        Here and in every method: what is wrong in which row, and what is allowed.
    """

    def __init__(self, text: Text, names: Sequence[str] = ()) -> None:
        self.text = text
        lines = enumerate(text.content.splitlines(), start=1)
        said = [(at, line) for at, line in lines if not is_comment(line)]
        if not said:
            self._fail("holds no rows")
        note_commented(text)
        self._lines = np.array([at for at, _ in said[1:]])
        self.needed: list[str] = list(names)
        self._read: set[str] = set()
        self._found = False  # a column that says a quantity
        if said[0][1].lstrip().startswith("<"):
            self._fail(
                "is XML or a page of the web, and no table; fetch the file again", said[0][0]
            )
        separator = _separator(said[0][1])
        rows = [line for _, line in said]
        if separator == " ":
            rows = [" ".join(line.split()) for line in rows]
        self._table = self._parsed([line.strip() for line in rows], separator)
        for name in names:
            self._index(name)
        if self._table.num_rows == 0:
            self._fail("has no rows")

    @classmethod
    def of(cls, table: str, path: str, folder: Path | None, names: Sequence[str]) -> "Columns":
        """Open the columns of a file that a scenario names.

        Parameters
        ----------
        table, path, folder
            See `netsim.traces.files.read_text`.
        names : sequence of str
            Columns that the file must have.
        """
        found = cls(read_text(path, folder, table), names)
        found.note_unread()
        return found

    def note_unread(self) -> None:
        """Have those columns remarked on that nothing will have read when the world is made."""
        note_columns(self.text.where, self.names, self._read)

    def _parsed(self, rows: list[str], separator: str) -> Any:
        ragged: list[pa.csv.InvalidRow] = []

        def refuse(row: pa.csv.InvalidRow) -> str:
            ragged.append(row)
            return "error"

        header = [name.strip() for name in _split_cells(rows[0], separator)]
        if header and all(parse_number(name) is not None for name in header):
            self._fail("its first line holds numbers; begin it with the names of the columns", 1)
        if len(set(header)) < len(header):
            twice = next(name for name in header if header.count(name) > 1)
            first, second = [k for k, name in enumerate(header, start=1) if name == twice][:2]
            self._fail(f"columns {first} and {second} have the same name; take one out")
        try:
            # One thread: the files are small, and other threads are for tensor work.
            alone = pa.csv.ReadOptions(use_threads=False, column_names=header)
            split = pa.csv.ParseOptions(delimiter=separator, invalid_row_handler=refuse)
            # texts, and what they mean is said here: of itself it takes 0x10 and nan for numbers
            as_they_are = pa.csv.ConvertOptions(
                column_types=dict.fromkeys(header, pa.string()), strings_can_be_null=False
            )
            content = "".join(f"{line}\n" for line in rows[1:])
            if not content:
                return pa.table({name: pa.array([], pa.string()) for name in header})
            found = read_csv(
                content.encode(),
                self.text.where,
                read_options=alone,
                parse_options=split,
                convert_options=as_they_are,
            )
        except BROKEN as error:
            if ragged:
                row, at = ragged[0], None
                if row.number is not None and row.number <= len(self._lines):
                    at = int(self._lines[row.number - 1])
                self._fail(
                    f"has {row.actual_columns} columns, the header {row.expected_columns}; "
                    "separate them as in the header, and write decimals with a point",
                    at,
                )
            raise self.text.error(f"can't be read as CSV ({error})") from error
        return pa.table(
            {name: pc.utf8_trim_whitespace(found.column(name)) for name in found.column_names}
        )

    @property
    def names(self) -> list[str]:
        """Names of the columns, in order."""
        return list(self._table.column_names)

    def __contains__(self, name: str) -> bool:
        return name in self._table.column_names

    def __len__(self) -> int:
        return int(self._table.num_rows)

    def _fail(self, what: str, line: int | None = None) -> NoReturn:
        raise self.text.error(what, line)

    def _index(self, name: str) -> int:
        if name not in self:
            wanted = self.needed or [name]
            self._fail(no_column(name, self.names, wanted, is_of_kind=self._found))
        self._read.add(name)
        return self.names.index(name)

    def _first_row(self, wrong: NDArray[np.bool_]) -> int:
        return int(np.argmax(wrong))

    def require(self, ok: NDArray[np.bool_], what: str, column: str = "") -> None:
        """Raise DataError(`what`) with the first row that is not ok, and its cell of a column.

        Parameters
        ----------
        ok : (n,) bool
        what : str
        column : str
            "": no cell is told.
        """
        if not ok.all():
            row = self._first_row(~ok)
            cell = f", and is {quote(self.texts(column)[row])}" if column else ""
            self._fail(what + cell, self.line(row))

    def texts(self, name: str) -> list[str]:
        """A column as it is written, without blanks around the cells."""
        return list(self._table.column(self._index(name)).to_pylist())

    def line(self, row: int) -> int:
        """The line of a row, from 1."""
        return int(self._lines[row])

    def numbers(self, name: str, empty: float | None = None) -> NDArray[np.float64]:
        """A column of finite numbers, (n,); `empty` replaces empty cells, None: they are errors."""
        return self._convert(name, empty, parse_number, f"{name} must be a number")

    def times(self, name: str, unit_s: float, empty: float | None = None) -> NDArray[np.float64]:
        """A column of times in seconds, (n,): numbers in a unit, times of day, or dates.

        Parameters
        ----------
        name : str
        unit_s : float
            What numbers count in [s].
        empty : float or None
            In place of empty cells; None: they are errors.
        """
        found = self._convert(
            name, empty, lambda word: parse_moment(word, unit_s), f"{name} must be a number ({HOW})"
        )
        self.require(
            ~(np.abs(found) > LATEST_S) | np.isinf(found),
            f"{name} is too late for a time in seconds; it may count ms, us or ns: divide, or name "
            "the column so (t_ms)",
            name,
        )
        return found

    def of_day(self, name: str) -> bool:
        """Return whether a column holds times of day."""
        return any(map(is_time_of_day, self.texts(name)))

    def require_days(self, name: str, t_s: NDArray[np.float64], node: NDArray[np.int64]) -> None:
        """Refuse times of day that fall from one row of a node to the next: a day lies between.

        Parameters
        ----------
        name : str
            The column of times.
        t_s : (n,) float64
            What it says [s].
        node : (n,) int64
            Whose each row is.
        """
        if not self.of_day(name):
            return
        by_node, fell = np.argsort(node, kind="stable"), np.zeros(len(node), dtype=bool)
        fell[by_node[1:]] = (np.diff(node[by_node]) == 0) & (np.diff(t_s[by_node]) < 0)
        self.require(
            ~fell, f"{name} falls from one row of a node to the next; times of day need dates"
        )

    def _convert(
        self, name: str, empty: float | None, read: Callable[[str], float | None], what: str
    ) -> NDArray[np.float64]:
        column = self._table.column(self._index(name))
        hollow = np.asarray(pc.equal(column, "").to_numpy(), dtype=bool)
        try:
            if pc.any(pc.match_substring_regex(column, "[xXpP]")).as_py():
                raise pa.ArrowInvalid("hexadecimal")
            full = pc.if_else(pc.equal(column, ""), "0", column)
            found = np.asarray(full.cast(pa.float64()).to_numpy(), dtype=np.float64)
            found = found * (read("1") or 1.0)
        except pa.ArrowException:
            values = [0.0 if word == "" else read(word) for word in column.to_pylist()]
            bad = np.array([value is None for value in values])
            if bad.any():
                row = self._first_row(bad)
                comma = "; write decimals with a point" if "," in column[row].as_py() else ""
                self._fail(f"{what}, and is {quote(column[row].as_py())}{comma}", self.line(row))
            found = np.array(values, dtype=np.float64)
        self.require(np.isfinite(found) | hollow, f"{name} must be a finite number", name)
        if empty is None:
            self.require(~hollow, f"{name} is empty; it must be a number")
        return found if empty is None else np.where(hollow, empty, found)

    def ids(self, name: str) -> NDArray[np.int64]:
        """A column of node ids, (n,)."""
        found = self.numbers(name)
        self.require(
            (found >= 0) & (found % 1 == 0) & (found < 2**53),
            f"{name} must be a node's number, 0, 1, ...",
        )
        return found.astype(np.int64)

    def find(self, wanted: str, units: Mapping[str, float], also: Sequence[str] = ()) -> str:
        """The column of a quantity, whatever its unit; it must be there once.

        Parameters
        ----------
        wanted : str
            Its name in the unit that counts, such as `t_s`; errors ask for it.
        units : mapping of str to float
            Endings, and their size in that unit.
        also : sequence of str
            Other beginnings of its name than that of `wanted`; "": a bare unit is a name, too.

        Raises
        ------
        DataError
            If none or several fit, or the unit of the one that fits is not said or not known; dates
            and times of day need none.
        """
        stem = wanted.rpartition("_")[0]
        stems = {stem, *also}
        found = [name for name in self.names if self._unit(name, stems, units) is not None]
        exact = [name for name in found if name == wanted]
        self._found = self._found or bool(found)
        if len(found) == 1 or exact:
            self._require_no_mega((exact or found)[0], units)
            return (exact or found)[0]
        if found:
            self._fail(
                f"{_shorten(found[0])} and {_shorten(found[1])} both may be {wanted}; take one out"
            )
        for name in self.names:
            plain = plain_name(name)
            if counts_bytes(name) and self._begins(plain, stems, "bps" in units):
                self._fail(
                    f"column {_shorten(name)} counts bytes, or may; write bits, and name it "
                    f"{wanted}"
                )
            if plain in stems - {""}:
                if units is SECONDS and all(
                    parse_number(word) is None for word in self.texts(name)
                ):
                    return name  # dates and times of day have no unit
                self._fail(
                    f"no column {wanted}; column {_shorten(name)} does not say what it counts in: "
                    f"name it {wanted}, or by its unit ({', '.join(sorted(units)[:6])})"
                )
        self._index(wanted)
        raise AssertionError

    def _require_no_mega(self, name: str, units: Mapping[str, float]) -> None:
        end = re.split("[ _]", _separate_unit(name))[-1]
        small = _MEGA.get(end)
        if small is not None and small in units:
            self._fail(
                f"column {_shorten(name)}: {end} may be a thousandth or a million {small[1:]}; "
                f"name it by {small} for thousandths, else write {small[1:]}"
            )

    @staticmethod
    def _begins(plain: str, stems: set[str], of_rates: bool) -> bool:
        return of_rates or any(stem and plain.startswith(stem) for stem in stems)

    @staticmethod
    def _unit(name: str, stems: set[str], units: Mapping[str, float]) -> float | None:
        if units is BITS_PER_S and counts_bytes(name):
            return None
        plain = plain_name(name)
        for stem in stems:
            rest = plain.removeprefix(f"{stem}_") if stem else plain
            if (rest != plain or not stem) and rest in units:
                return units[rest]
        return None

    def factor(self, name: str, units: Mapping[str, float]) -> float:
        """Unit of a column that `find` has found."""
        return unit_of(name, units) or 1.0


def unit_of(name: str, units: Mapping[str, float]) -> float | None:
    """The unit that a name ends with, in that of `units`; None: it says none."""
    plain = plain_name(name)
    ends = [end for end in units if plain == end or plain.endswith(f"_{end}")]
    return units[max(ends, key=len)] if ends else None


def counts_bytes(name: str) -> bool:
    """Return whether a name ends with a unit of bytes, or one that may be."""
    return _BYTES.search(_separate_unit(name)) is not None


def plain_name(name: str) -> str:
    """A name in small letters, its unit behind an underscore: `Time [ms]` is `time_ms`."""
    return _separate_unit(name).lower()


def _separate_unit(name: str) -> str:
    """Put the unit of a name behind an underscore: `Rate (KB/s)` is `Rate_KB/s`."""
    plain = re.sub(r"[\[(]\s*([^\])]*?)\s*[\])]", r"_\1", name.strip().strip('"'))
    return re.sub(r"[\s_]+", "_", plain).strip("_")


def _shorten(name: str) -> str:
    return name if len(name) <= 24 else f"{name[:24]}..."


def _separator(header: str) -> str:
    for separator in ";\t,":
        if separator in header:
            return separator
    return " " if len(header.split()) > 1 else ","


def _split_cells(line: str, separator: str) -> list[str]:
    return [cell.strip().strip('"') for cell in line.split(separator)]
