"""Numbers from users' CSV files with a header, checked row by row."""

from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

import numpy as np
import pyarrow as pa
import pyarrow.csv
from numpy.typing import NDArray

from netsim.traces.bounded_tables import BROKEN, read_csv
from netsim.traces.files import is_comment, no_column, read_text


class Columns:
    """The columns of one CSV file, which must have at least `names`; `#` starts a comment line.

    Parameters
    ----------
    table, path, folder
        See `netsim.traces.files.read_text`.
    names : sequence of str
        Columns that the file must have.

    Raises
    ------
    DataError
        Here and in every method: what is wrong in which row, and what is allowed.
    """

    def __init__(self, table: str, path: str, folder: Path | None, names: Sequence[str]) -> None:
        self._text = read_text(path, folder, table)
        lines = enumerate(self._text.content.splitlines(), start=1)
        said = [(at, line) for at, line in lines if not is_comment(line)]
        self._lines = [at for at, _ in said[1:]]
        try:
            # One thread: the files are small, and other threads are for tensor work.
            alone = pa.csv.ReadOptions(use_threads=False)
            content = "".join(f"{line}\n" for _, line in said)
            read = read_csv(content.encode(), self._text.where, read_options=alone)
        except BROKEN as error:
            raise self._text.wrong(f"can't be read as CSV ({error})") from error
        known = [name.strip() for name in read.column_names]
        for name in names:
            if name not in known:
                self._fail(no_column(name, known, names))
        if len(set(known)) < len(known):
            self._fail(f"two columns are called {next(n for n in known if known.count(n) > 1)}")
        self._table = read.rename_columns(known)
        if self._table.num_rows == 0:
            self._fail("has no rows")

    def __contains__(self, name: str) -> bool:
        return name in self._table.column_names

    def _fail(self, what: str, line: int | None = None) -> NoReturn:
        raise self._text.wrong(what, line)

    def require(self, ok: NDArray[np.bool_], what: str) -> None:
        """Raise DataError(`what`), naming the first row that is not ok; `ok` is (n,)."""
        if not ok.all():
            self._fail(what, self._lines[int(np.argmin(ok))])

    def _first_without_number(self, column: pa.ChunkedArray) -> int | None:
        for line, cell in zip(self._lines, column.cast(pa.string()), strict=True):
            try:
                cell.cast(pa.float64())
            except pa.ArrowException:
                return line
        return None

    def numbers(self, name: str, empty: float | None = None) -> NDArray[np.float64]:
        """A column of finite numbers, (n,); `empty` replaces empty cells, None: they are errors."""
        column = self._table.column(name)
        try:
            found = np.asarray(column.cast(pa.float64()).to_numpy(), dtype=np.float64)
        except pa.ArrowException:
            self._fail(f"{name} must be a number", self._first_without_number(column))
        hollow = np.asarray(column.is_null().to_numpy())
        self.require(hollow | np.isfinite(found), f"{name} must be a finite number")
        if empty is None:
            self.require(~hollow, f"{name} is empty or no number")
        return found if empty is None else np.where(hollow, empty, found)

    def ids(self, name: str) -> NDArray[np.int64]:
        """A column of node ids, (n,)."""
        found = self.numbers(name)
        self.require(
            (found >= 0) & (found % 1 == 0) & (found < 2**53),
            f"{name} must be a node's number, 0, 1, ...",
        )
        return found.astype(np.int64)
