"""EMNIST: handwritten digits and letters (Cohen, Afshar, Tapson, van Schaik, arXiv:1702.05373)."""

from pathlib import Path
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from netsim.data import files
from netsim.data.sets import Outline, Samples
from netsim.data.sets._images import ImageSet
from netsim.data.split import equally_many, hold_out

BALANCED = 400
"""Images of each class under `classes = "balanced"`: as many as each of the 47 has in the part of
ByClass that comes with netsim's data."""


class Emnist(ImageSet):
    """All EMNIST images found, 1 x 28 x 28, with a stratified hold-out made here.

    Parameters
    ----------
    classes : {"merged", "balanced", "byclass"}
        47 classes, where letters that look the same in both cases are one (ByMerge), the same with
        400 images of each (a stand-in for Balanced), or all 62.
    test_fraction : float
        Share of each class held out. A quarter leaves each merged class of the 52,687-image part
        at least 100 test images, so that a node can draw 100 of one class.

    Notes
    -----
    The images that come with netsim's data are a part of the official ByClass test file and no
    official split: numbers are not comparable with those on EMNIST Balanced. `balanced` has its 47
    classes, equally many images of each and as many in all as its test set, 18,800 for 131,600, but
    other images, of which a quarter is held out.
    """

    kind: Literal["emnist"] = "emnist"
    classes: Literal["merged", "balanced", "byclass"] = "merged"
    test_fraction: Annotated[float, Field(gt=0, lt=1)] = 0.25

    name: ClassVar[str] = "emnist"
    full_size: ClassVar[tuple[int, int]] = (39_515, 13_172)
    shape: ClassVar[tuple[int, int, int]] = (1, 28, 28)
    mean: ClassVar[tuple[float, ...]] = (0.1727,)
    std: ClassVar[tuple[float, ...]] = (0.3313,)
    how_to_get: ClassVar[str] = (
        "write EMNIST ByClass (https://www.nist.gov/itl/products-and-services/emnist-dataset) to "
        "<data folder>/emnist/byclass-00000-of-00001.parquet, columns image (struct with bytes), "
        "label (62 classes) and label_merged (47)"
    )

    def outline(self) -> Outline:
        """Describe the data set without reading it."""
        train, test = self.full_size
        if self.classes == "balanced":
            test = round(self.test_fraction * 47 * BALANCED)
            train = 47 * BALANCED - test
        classes = 62 if self.classes == "byclass" else 47
        return Outline(self.shape, classes, self.train_rows or train, self.test_rows or test)

    def read(self, folder: Path | None) -> Samples:
        """Read the samples from the files; called by `load`."""
        found = self._files(folder, "*.parquet")
        table = files.read_table(found)
        merged = self.classes != "byclass"
        count = 47 if merged else 62
        name = files.column(table, ("label_merged" if merged else "label",), found[0])
        y = files.labels(table, name, count, found[0])
        if self.classes == "balanced":
            rows = equally_many(y, BALANCED, self.split_seed, found[0].name)
            table, y = table.take(rows), y[rows]
        train, test = self._limit(y, *hold_out(y, self.test_fraction, self.split_seed))
        note = (
            f"{len(y)} images pooled from {', '.join(file.name for file in found)}; stratified "
            f"hold-out of {self.test_fraction:g} by seed {self.split_seed}, not the official split"
        )
        names = files.class_names(table, name, count)
        return self._samples(table, y, train, test, names, found[0], note)
