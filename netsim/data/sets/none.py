"""No data, for methods with code of their own for learning."""

from pathlib import Path
from typing import ClassVar, Literal

import numpy as np

from netsim.data.sets import DataSet, Outline, Samples


class NoData(DataSet):
    """No samples to train on or to measure with.

    The default where every method brings its own learning (`@netsim.api.algorithm(learns=False)`).
    """

    kind: Literal["none"] = "none"

    needs_files: ClassVar[bool] = False
    full_size: ClassVar[tuple[int, int]] = (0, 0)

    def outline(self) -> Outline:
        """Describe the data set without reading it."""
        return Outline((1,), 1, 0, 0)

    def read(self, folder: Path | None) -> Samples:
        """Return one row, from which models take the shape of inputs and which nobody has."""
        nobody = np.zeros(0, dtype=np.int64)
        return Samples(
            x=np.zeros((1, 1), dtype=np.float32),
            y=np.zeros(1, dtype=np.int64),
            train=nobody,
            test=nobody,
            num_classes=1,
            class_names=("none",),
            name="none",
            notes="no samples: the methods bring their own learning",
        )
