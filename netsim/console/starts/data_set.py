"""Points in the plane around one centre a class."""

from pathlib import Path
from typing import ClassVar, Literal

import numpy as np

from netsim.data.sets import DataSet, Outline, Samples
from netsim.registry import Count, Index, Positive


class Starting(DataSet):
    """Normal clouds on a circle; needs no files.

    Attributes
    ----------
    classes : int
    rows : int
        Of each class, a quarter of them for testing.
    spread : float
        Standard deviation of a cloud; the circle's radius is 1.
    split_seed : int
        What is drawn; not the scenario's seed, so that all runs are measured on the same rows.
    """

    kind: Literal["starting"] = "starting"
    classes: Count = 4
    rows: Count = 200
    spread: Positive = 0.3
    split_seed: Index = 0

    needs_files: ClassVar[bool] = False

    def outline(self) -> Outline:
        """Describe the data set without reading it."""
        test = self.rows // 4
        return Outline((2,), self.classes, self.classes * (self.rows - test), self.classes * test)

    def read(self, folder: Path | None) -> Samples:
        """Draw the points; a set of files reads them from `folder`, the data folder."""
        draws = np.random.default_rng(self.split_seed)
        y = np.repeat(np.arange(self.classes), self.rows)
        angle = 2.0 * np.pi * y / self.classes
        centres = np.stack([np.cos(angle), np.sin(angle)], axis=1)
        x = centres + self.spread * draws.standard_normal(centres.shape)
        order = draws.permutation(len(y))
        test = self.classes * (self.rows // 4)
        return Samples(
            x=x.astype(np.float32),
            y=y.astype(np.int64),
            train=np.sort(order[test:]),
            test=np.sort(order[:test]),
            num_classes=self.classes,
            class_names=tuple(str(number) for number in range(self.classes)),
            name="starting",
            notes=f"drawn by seed {self.split_seed}",
        )
