"""Wine: 178 wines of three cultivars, thirteen measurements each (UCI, Aeberhard 1992)."""

from pathlib import Path
from typing import ClassVar, Literal

import numpy as np
from sklearn.datasets import load_wine

from netsim.data.sets import DataSet, Outline, Samples
from netsim.data.split import hold_out
from netsim.registry import Index


class Wine(DataSet):
    """Standardised measurements; comes with scikit-learn, so it needs no files.

    Attributes
    ----------
    split_seed : int
        Chooses the quarter of each class that is held out.
    """

    kind: Literal["wine"] = "wine"
    split_seed: Index = 0

    needs_files: ClassVar[bool] = False

    def outline(self) -> Outline:
        """Describe the data set without reading it."""
        return Outline((13,), 3, 134, 44)

    def read(self, folder: Path | None) -> Samples:
        """Read the samples; `folder` is not looked at."""
        bunch = load_wine()
        y = bunch.target.astype(np.int64)
        train, test = hold_out(y, 0.25, self.split_seed)
        x = (bunch.data - bunch.data[train].mean(axis=0)) / bunch.data[train].std(axis=0)
        return Samples(
            x=x.astype(np.float32),
            y=y,
            train=train,
            test=test,
            num_classes=3,
            class_names=tuple(map(str, bunch.target_names)),
            name="wine",
            notes=f"a quarter of each class held out by seed {self.split_seed}",
        )
