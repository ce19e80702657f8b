"""Services of the image sets: reading, choosing rows, normalising."""

from abc import abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from netsim.data import files
from netsim.data.sets import DataSet, Outline, Samples
from netsim.data.split import limit_rows
from netsim.registry import Count, Index

_IMAGE_COLUMNS = ("image", "img")
_LOSSY = "images are JPEG copies, not the original pixels: say so beside a paper's number"


def normalise_pixels(
    pixels: NDArray[np.uint8], mean: Sequence[float], std: Sequence[float], full_scale: float = 255
) -> NDArray[np.float32]:
    """Pixels scaled to [0, 1], then standardised per channel.

    Parameters
    ----------
    pixels : (n, C, H, W) uint8
    mean, std : C floats
        Of the training images in [0, 1].
    full_scale : float
        The pixel value that is 1.

    Returns
    -------
    (n, C, H, W) float32
    """
    x = pixels.astype(np.float32)  # in place from here: a CIFAR set is 0.7 GB
    x /= np.float32(full_scale)
    x -= np.asarray(mean, dtype=np.float32)[:, None, None]
    x /= np.asarray(std, dtype=np.float32)[:, None, None]
    return x


class ImageSet(DataSet):
    """Images in Parquet files.

    Parameters
    ----------
    train_rows : int, optional
        Number of training images, the same share of each class. Absent: all.
    test_rows : int, optional
        Number of test images, the same share of each class. Absent: all.
    split_seed : int
        Chooses those rows, and a hold-out where the set has none. It is not the scenario's seed, so
        runs over several seeds use the same rows.

    Attributes
    ----------
    shape : (C, H, W)
    num_classes : int
    mean, std : tuple of float
        Per channel, of all training images scaled to [0, 1].
    label_columns : tuple of str
        Accepted names, in order of preference.
    how_to_get : str
    rescaled : bool
        Whether the files' images have any size and are scaled to `shape`.
    """

    train_rows: Count | None = None
    test_rows: Count | None = None
    split_seed: Index = 0

    name: ClassVar[str]
    shape: ClassVar[tuple[int, int, int]]
    num_classes: ClassVar[int]
    mean: ClassVar[tuple[float, ...]]
    std: ClassVar[tuple[float, ...]]
    label_columns: ClassVar[tuple[str, ...]] = ("label",)
    how_to_get: ClassVar[str]
    rescaled: ClassVar[bool] = False

    @abstractmethod
    def read(self, folder: Path | None) -> Samples:
        """Read the samples from the files; called by `load`."""

    def outline(self) -> Outline:
        """Describe the data set without reading it."""
        train, test = self.full_size
        return Outline(
            self.shape, self.num_classes, self.train_rows or train, self.test_rows or test
        )

    def _files(self, folder: Path | None, pattern: str) -> list[Path]:
        places = files.image_folders(self.name)
        return files.find_files(self.name, folder, places, (pattern,), self.how_to_get)

    def _limit(
        self, y: NDArray[np.int64], train: NDArray[np.int64], test: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        return (
            limit_rows(y, train, self.train_rows, self.split_seed, "train_rows", self.name),
            limit_rows(y, test, self.test_rows, self.split_seed, "test_rows", self.name),
        )

    def _samples(
        self,
        table: pa.Table,
        y: NDArray[np.int64],
        train: NDArray[np.int64],
        test: NDArray[np.int64],
        class_names: tuple[str, ...],
        file: Path,
        note: str = "",
        groups: NDArray[np.int64] | None = None,
    ) -> Samples:
        """Decode the chosen rows only; training rows come first in the result."""
        rows = np.concatenate([train, test])
        name = files.column(table, _IMAGE_COLUMNS, file)
        chosen = table.select([name]).take(rows)
        pixels, encoding = files.images(chosen, name, self.shape, file, self.rescaled)
        notes = [note] if note else []
        if encoding == "JPEG":
            notes.append(_LOSSY)
        return Samples(
            x=normalise_pixels(pixels, self.mean, self.std),
            y=y[rows],
            train=np.arange(len(train)),
            test=np.arange(len(train), len(rows)),
            num_classes=len(class_names),
            class_names=class_names,
            name=self.name,
            notes="; ".join(notes),
            scale=(self.mean, self.std),
            groups=None if groups is None else groups[rows],
        )


class SplitImageSet(ImageSet):
    """Images that come with their own split, in `train-*.parquet` and `test-*.parquet`.

    Attributes
    ----------
    test_part : str
        What the files of the test images begin with.
    """

    test_part: ClassVar[str] = "test"

    def read(self, folder: Path | None) -> Samples:
        """Read the samples from the files; called by `load`."""
        parts = [self._files(folder, f"{split}-*.parquet") for split in ("train", self.test_part)]
        tables = [files.read_table(part) for part in parts]
        files.require_same_classes(tables)
        labels = []
        names: tuple[str, ...] = ()
        for part, table in zip(parts, tables, strict=True):
            name = files.column(table, self.label_columns, part[0])
            labels.append(files.labels(table, name, self.num_classes, part[0]))
            names = names or files.class_names(table, name, self.num_classes)
        image = files.column(tables[0], _IMAGE_COLUMNS, parts[0][0])
        files.column(tables[1], (image,), parts[1][0])
        both = pa.concat_tables([t.select([image]) for t in tables], promote_options="permissive")
        y = np.concatenate(labels)
        train, test = self._limit(y, *np.split(np.arange(len(y)), [len(labels[0])]))
        return self._samples(both, y, train, test, names, parts[0][0])
