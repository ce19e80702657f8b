"""MovieLens: ratings of films by users (Harper and Konstan, ACM TiiS 2015)."""

from pathlib import Path
from typing import Annotated, ClassVar, Literal

import numpy as np
import pyarrow as pa
import pyarrow.csv
from numpy.typing import NDArray
from pydantic import Field

from netsim.data import files
from netsim.data.sets import DataSet, Outline, Samples
from netsim.data.split import hold_out
from netsim.errors import DataError, one_line
from netsim.registry import Index
from netsim.traces import bounded
from netsim.traces.bounded_tables import BROKEN, read_csv

_FOLDERS = {
    "latest_small": ("tabular/movielens_latest_small", "movielens/ml-latest-small"),
    "1m": ("tabular/movielens_1m", "movielens/ml-1m"),
    "10m": ("tabular/movielens_10m", "movielens/ml-10M100K"),
}
_SIZES = {"latest_small": (610, 9_724, 100_836), "1m": (6_040, 3_706, 1_000_209)}
_SIZES["10m"] = (69_878, 10_677, 10_000_054)
"""Users, films that have ratings, ratings."""


class Movielens(DataSet):
    """Pairs of a user and a film, in classes by rating; `groups` are the users.

    Inputs are the numbers of the user and of the film, in the order of their ids. Classes are the
    ratings: ten of half a star to five, in "1m" five whole ones.

    Parameters
    ----------
    edition : {"latest_small", "1m", "10m"}
        100,836 ratings of 610 users, 1,000,209 of 6,040, or 10,000,054 of 69,878.
    test_fraction : float
        Share of each user's ratings held out.
    split_seed : int
        Chooses the hold-out. It is not the scenario's seed.
    """

    kind: Literal["movielens"] = "movielens"
    edition: Literal["latest_small", "1m", "10m"] = "latest_small"
    test_fraction: Annotated[float, Field(gt=0, lt=1)] = 0.2
    split_seed: Index = 0

    full_size: ClassVar[tuple[int, int]] = (80_669, 20_167)

    def outline(self) -> Outline:
        """Describe the data set without reading it."""
        users, films, ratings = _SIZES[self.edition]
        test = round(ratings * self.test_fraction)
        classes = 5 if self.edition == "1m" else 10
        return Outline((2,), classes, ratings - test, test, min(users, films))

    def read(self, folder: Path | None) -> Samples:
        """Read the samples from the files; called by `load`."""
        names = ("ratings.csv.gz", "ratings.csv", "ratings.dat")
        how = (
            "take it from https://grouplens.org/datasets/movielens and put its folder into "
            "<data folder>/movielens"
        )
        file = files.find_files("movielens", folder, _FOLDERS[self.edition], names, how)[0]
        users, films, stars = _ratings(file)
        steps = 1.0 if self.edition == "1m" else 0.5
        classes = np.arange(1, (5 if self.edition == "1m" else 10) + 1) * steps
        y = np.searchsorted(classes, stars).astype(np.int64)
        if not np.isin(stars, classes).all():
            raise DataError(f"{file}: ratings must be steps of {steps:g} up to 5")
        of_user = np.unique(users, return_inverse=True)[1].astype(np.int64)
        of_film = np.unique(films, return_inverse=True)[1].astype(np.int64)
        train, test = hold_out(of_user, self.test_fraction, self.split_seed)
        return Samples(
            x=np.stack([of_user, of_film], axis=1).astype(np.float32),
            y=y,
            train=train,
            test=test,
            num_classes=len(classes),
            class_names=tuple(f"{value:g}" for value in classes),
            name="movielens",
            notes=(
                f"{of_user.max() + 1} users, {of_film.max() + 1} films; hold-out of "
                f"{self.test_fraction:g} of each user's ratings by seed {self.split_seed}"
            ),
            groups=of_user,
        )


def _ratings(file: Path) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Users, films and stars, (n,) each."""
    options = pa.csv.ReadOptions()
    try:
        text = bounded.read_plain_file(file, str(file), bounded.MOST_BYTES)
        if file.suffix == ".dat":
            text = text.replace(b"::", b",")
            options = pa.csv.ReadOptions(column_names=["userId", "movieId", "rating", "timestamp"])
        table = read_csv(text, str(file), read_options=options)
        columns = [table.column(name) for name in ("userId", "movieId", "rating")]
        users, films = (column.cast(pa.int64()).to_numpy() for column in columns[:2])
        return users, films, columns[2].cast(pa.float64()).to_numpy()
    except BROKEN as error:
        raise DataError(f"{file}: is no table of ratings ({one_line(error)})") from error
