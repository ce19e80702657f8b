"""FEMNIST: handwritten characters by writer (Caldas et al., "LEAF", 2018)."""

from pathlib import Path
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from netsim.data import files
from netsim.data.sets import Outline, Samples
from netsim.data.sets._images import ImageSet
from netsim.data.split import hold_out

_FIRST_SMALL_LETTER = 36
"""Ten digits and 26 capitals come before."""


class Femnist(ImageSet):
    """Images of 3,597 writers, 1 x 28 x 28; `groups` are the writers.

    Parameters
    ----------
    letters : {"a-j", "all"}
        The ten small letters that Ditto's subsample has, which DPFL takes, or all 62 characters.
    test_fraction : float
        Share of each writer's images held out.

    Notes
    -----
    Ditto's subsample is a file of its own; this set is the whole of FEMNIST, of which a partition
    by groups (`by_group`) takes writers.
    """

    kind: Literal["femnist"] = "femnist"
    letters: Literal["a-j", "all"] = "a-j"
    test_fraction: Annotated[float, Field(gt=0, lt=1)] = 0.2

    name: ClassVar[str] = "femnist"
    shape: ClassVar[tuple[int, int, int]] = (1, 28, 28)
    full_size: ClassVar[tuple[int, int]] = (50_000, 12_500)  # about, of ten letters
    mean: ClassVar[tuple[float, ...]] = (0.9637,)
    std: ClassVar[tuple[float, ...]] = (0.1597,)
    how_to_get: ClassVar[str] = (
        "hf download flwrlabs/femnist --repo-type dataset --local-dir <data folder>/femnist"
    )

    def outline(self) -> Outline:
        """Describe the data set without reading it."""
        train, test = self.full_size
        classes = 10 if self.letters == "a-j" else 62
        return Outline(self.shape, classes, self.train_rows or train, self.test_rows or test)

    def read(self, folder: Path | None) -> Samples:
        """Read the samples from the files; called by `load`."""
        found = self._files(folder, "train-*.parquet")
        table = files.read_table(found)
        y = files.labels(table, "character", 62, found[0])
        names = files.class_names(table, "character", 62)
        if self.letters == "a-j":
            chosen = np.flatnonzero((y >= _FIRST_SMALL_LETTER) & (y < _FIRST_SMALL_LETTER + 10))
            table, y = table.take(chosen), y[chosen] - _FIRST_SMALL_LETTER
            names = tuple("abcdefghij")
        column = files.column(table, ("writer_id",), found[0])
        writers, groups = np.unique(table.column(column).to_pylist(), return_inverse=True)
        groups = groups.astype(np.int64)
        train, test = hold_out(groups, self.test_fraction, self.split_seed)
        train, test = self._limit(y, train, test)
        note = (
            f"{len(writers)} writers; hold-out of {self.test_fraction:g} of each one's images by "
            f"seed {self.split_seed}"
        )
        return self._samples(table, y, train, test, names, found[0], note, groups)
