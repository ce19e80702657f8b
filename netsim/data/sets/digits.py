"""Digits: 1,797 handwritten digits inside the scikit-learn wheel (UCI, Alpaydin, Kaynak 1998)."""

from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from netsim.data.sets import DataSet, Outline, Samples
from netsim.data.sets._images import normalise_pixels
from netsim.data.split import hold_out
from netsim.errors import DataError
from netsim.registry import Index

_SCALE = ((0.3053,), (0.3760,))


class Digits(DataSet):
    """Images of 10 digits, 1 x 8 x 8; needs no files.

    Parameters
    ----------
    test_fraction : float
        Share of each class held out.
    split_seed : int
        Chooses the hold-out. It is not the scenario's seed, so runs over several seeds are
        measured on the same rows.
    """

    kind: Literal["digits"] = "digits"
    test_fraction: Annotated[float, Field(gt=0, lt=1)] = 0.3
    split_seed: Index = 0

    needs_files: ClassVar[bool] = False
    full_size: ClassVar[tuple[int, int]] = (1_258, 539)

    def outline(self) -> Outline:
        """Describe the data set without reading it."""
        return Outline((1, 8, 8), 10, *self.full_size)

    def read(self, folder: Path | None) -> Samples:
        """Read the samples; `folder` is not looked at."""
        table = np.loadtxt(_table(), delimiter=",", dtype=np.int64)
        y = table[:, -1].copy()
        train, test = hold_out(y, self.test_fraction, self.split_seed)
        pixels = table[:, :-1].reshape(-1, 1, 8, 8).astype(np.uint8)
        return Samples(
            x=normalise_pixels(pixels, *_SCALE, full_scale=16),
            y=y,
            train=train,
            test=test,
            num_classes=10,
            class_names=tuple(str(digit) for digit in range(10)),
            name="digits",
            notes=f"stratified hold-out of {self.test_fraction:g} by seed {self.split_seed}",
            scale=_SCALE,
        )


def _table() -> Path:
    """Return the file of the wheel; `import sklearn` would take most of a second to find it."""
    spec = find_spec("sklearn")
    if spec is None or not spec.submodule_search_locations:
        raise DataError("digits: scikit-learn is not installed; pip install scikit-learn")
    return Path(spec.submodule_search_locations[0], "datasets", "data", "digits.csv.gz")
