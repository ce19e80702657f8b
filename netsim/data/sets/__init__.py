"""Data sets; one a file, its name is its `kind` in a scenario."""

from abc import abstractmethod
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from netsim.data.inspection import ColumnUse
from netsim.errors import DataError, one_line
from netsim.registry import Component, kind_of
from netsim.traces.input_files import FileStates, InputFile, collect_files, note_read, states_of

Scale = tuple[tuple[float, ...], tuple[float, ...]]
"""Means and deviations per channel by which pixels in [0, 1] were standardised."""


@dataclass(frozen=True, eq=False)
class Samples:
    """A data set in memory. It is shared by all who load it: nobody writes to its arrays.

    Attributes
    ----------
    x : (n, *input_shape) float32 or int64
        Normalised inputs; images as (C, H, W); numbers of words and the like as whole numbers.
    y : (n,) int64
        Class numbers, 0 to `num_classes` - 1; (n, *positions) where each position has one. Of a set
        without classes (n,) or (n, K) floating-point numbers, which a regression predicts.
    train, test : int64 arrays
        Row numbers; no row is in both.
    num_classes : int
        1 without classes.
    class_names : tuple of str
    name : str
        The data set's `kind`.
    notes : str
        What a reader of results must know: parts left out, the hold-out, the encoding.
    scale : (means, deviations) or None
        Of images.
    groups : (n,) int64 or None
        Natural group of each row (its writer, its user), where the set has such.
    input_limit : int or None
        Inputs are whole numbers below it (words, ids); None: any numbers, or not known.
    columns : ColumnUse or None
        Of a user's table: which columns are inputs, and why others are not.
    sha256 : str
        Of what was given as arrays, in hexadecimal digits; empty: it was read from files.
    """

    x: NDArray[Any]
    y: NDArray[Any]
    train: NDArray[np.int64]
    test: NDArray[np.int64]
    num_classes: int
    class_names: tuple[str, ...]
    name: str
    notes: str
    scale: Scale | None = None
    groups: NDArray[np.int64] | None = None
    input_limit: int | None = None
    columns: ColumnUse | None = None
    sha256: str = ""

    @property
    def has_classes(self) -> bool:
        """Return whether each sample has one class."""
        return self.y.ndim == 1 and np.issubdtype(self.y.dtype, np.integer)

    @property
    def input_shape(self) -> tuple[int, ...]:
        """Shape of one input."""
        return tuple(int(size) for size in self.x.shape[1:])


@dataclass(frozen=True)
class Outline:
    """Description of a data set that needs no reading, for estimates.

    Attributes
    ----------
    input_shape : tuple of int
    num_classes, train_rows, test_rows : int
    input_limit : int or None
        Inputs are whole numbers below it (words, ids); None: any numbers.
    """

    input_shape: tuple[int, ...]
    num_classes: int
    train_rows: int
    test_rows: int
    input_limit: int | None = None


class DataSet(Component):
    """Base of the data sets. A subclass states `kind` and reads its rows.

    Attributes
    ----------
    needs_files : bool
        Whether a data folder is needed; False for sets that come with a dependency.
    full_size : (int, int)
        Training and test rows of the whole set, for estimates that do without reading it.
    """

    needs_files: ClassVar[bool] = True
    full_size: ClassVar[tuple[int, int]]

    def outline(self) -> Outline:
        """Describe the data set without reading it; only estimates of hours call this."""
        raise NotImplementedError(f"{type(self).__name__} does not say how large it is")

    def load(self, folder: Path | None) -> Samples:
        """The samples, read again only where their files have changed since.

        Parameters
        ----------
        folder : pathlib.Path or None
            The data folder: `[data] path`, `--data` or `NETSIM_DATA`.

        Returns
        -------
        Samples

        Raises
        ------
        DataError
            If files are missing (which, where it was looked, how to get them), are not what they
            should be, or hold fewer rows than asked for.
        """
        where = folder.absolute() if folder is not None and self.needs_files else None
        samples, files, states = _load(self, where)
        if states_of(files) != states:
            _load.cache_clear()
            samples, files, states = _load(self, where)
        note_read(files)
        return samples

    @abstractmethod
    def read(self, folder: Path | None) -> Samples:
        """Read the samples from the files; called by `load`."""


@lru_cache(maxsize=2)  # decoding takes seconds; more than two sets would only take memory
def _load(
    data_set: DataSet, folder: Path | None
) -> tuple[Samples, tuple[InputFile, ...], FileStates]:
    try:
        with collect_files() as notes:
            samples = data_set.read(folder)
        files = notes.hashed()
        return samples, files, states_of(files)
    except (ArithmeticError, LookupError, TypeError, ValueError, MemoryError) as error:
        raise DataError(
            f'[data] kind = "{kind_of(data_set)}": its files hold what they should not '
            f"({one_line(error)}); fetch them again"
        ) from error
