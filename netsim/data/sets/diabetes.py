"""Diabetes: 442 patients, and how far their disease came in a year (Efron et al., 2004).

Inside the scikit-learn wheel. Source: Efron, Hastie, Johnstone and Tibshirani, "Least angle
regression", Annals of Statistics 32, 2004.
"""

from pathlib import Path
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from netsim.data.sets import DataSet, Outline, Samples
from netsim.data.split import hold_out
from netsim.registry import Index


class Diabetes(DataSet):
    """Ten features (age, sex, body mass, blood) and a number to predict; needs no files.

    `groups` are the two sexes. Features and targets are standardised by the training rows.

    Parameters
    ----------
    test_fraction : float
        Share of the rows held out.
    split_seed : int
        Chooses the hold-out. It is not the scenario's seed, so runs over several seeds are
        measured on the same rows.
    scale : {"standard", "raw"}
        Unit of the targets: standard deviations of the training rows, or as published, 25 to 346.
    """

    kind: Literal["diabetes"] = "diabetes"
    test_fraction: Annotated[float, Field(gt=0, lt=1)] = 0.3
    split_seed: Index = 0
    scale: Literal["standard", "raw"] = "standard"

    needs_files: ClassVar[bool] = False
    full_size: ClassVar[tuple[int, int]] = (309, 133)

    def outline(self) -> Outline:
        """Describe the data set without reading it."""
        return Outline((10,), 1, *self.full_size)

    def read(self, folder: Path | None) -> Samples:
        """Read the samples; `folder` is not looked at."""
        from sklearn.datasets import load_diabetes  # half a second, only for those who use it

        bunch = load_diabetes(scaled=False)
        x, y = bunch.data.astype(np.float64), bunch.target.astype(np.float64)
        sex = np.unique(x[:, 1], return_inverse=True)[1].astype(np.int64)
        train, test = hold_out(sex, self.test_fraction, self.split_seed)
        x = (x - x[train].mean(axis=0)) / x[train].std(axis=0)
        if self.scale == "standard":
            y = (y - y[train].mean()) / y[train].std()
        return Samples(
            x=x.astype(np.float32),
            y=y,
            train=train,
            test=test,
            num_classes=1,
            class_names=(),
            name="diabetes",
            notes=(
                f"hold-out of {self.test_fraction:g} by seed {self.split_seed}; "
                f"targets {self.scale}"
            ),
            groups=sex,
        )
