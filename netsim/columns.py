"""Numbers that users bring: CSV files with a header, checked row by row."""

import io
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

import numpy as np
import pyarrow as pa
import pyarrow.csv
from numpy.typing import NDArray

from netsim.registry import did_you_mean
from netsim.traces.files import read_text


class Columns:
    """The columns of one CSV file, which must have at least `names`.

    Parameters
    ----------
    table, path, folder
        See `netsim.traces.files.read_text`.
    names : sequence of str

    Raises
    ------
    DataError
        Here and in every method: what is wrong in which row, and what is allowed.
    """

    def __init__(self, table: str, path: str, folder: Path | None, names: Sequence[str]) -> None:
        self._text = read_text(path, folder, table)
        try:
            # one thread: the files are small, and threads are for the tensors
            alone = pa.csv.ReadOptions(use_threads=False)
            self._table = pa.csv.read_csv(io.BytesIO(self._text.content.encode()), alone)
        except pa.ArrowException as error:
            raise self._text.wrong(f"can't be read as CSV ({error})") from error
        for name in names:
            if name not in self._table.column_names:
                self._fail(
                    f"no column {name}; it has {', '.join(self._table.column_names)}, "
                    f"and needs {', '.join(names)}" + did_you_mean(name, self._table.column_names)
                )
        if self._table.num_rows == 0:
            self._fail("has no rows")

    def __contains__(self, name: str) -> bool:
        return name in self._table.column_names

    def _fail(self, what: str, line: int | None = None) -> NoReturn:
        raise self._text.wrong(what, line)

    def require(self, ok: NDArray[np.bool_], what: str) -> None:
        """Every row must be ok, or the first that is not is named."""
        if not ok.all():
            # the header is line 1
            self._fail(what, int(np.argmin(ok)) + 2)

    def numbers(self, name: str, empty: float | None = None) -> NDArray[np.float64]:
        """A column of finite numbers, (n,); what stands for an empty cell, if one may be."""
        column = self._table.column(name)
        try:
            found = np.asarray(column.cast(pa.float64()).to_numpy(), dtype=np.float64)
        except pa.ArrowException:
            self._fail(f"column {name} must hold numbers")
        hollow = np.asarray(column.is_null().to_numpy())
        self.require(hollow | np.isfinite(found), f"{name} must be a finite number")
        if empty is None:
            self.require(~hollow, f"{name} is empty or no number")
        return found if empty is None else np.where(hollow, empty, found)

    def ids(self, name: str) -> NDArray[np.int64]:
        """A column of node ids, (n,)."""
        found = self.numbers(name)
        self.require((found >= 0) & (found % 1 == 0), f"{name} must be a node's number, 0, 1, ...")
        return found.astype(np.int64)
