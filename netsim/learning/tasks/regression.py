"""Regression: one or several numbers a sample, by the mean squared error; judged by its root."""

from collections.abc import Mapping
from typing import ClassVar, Literal

import numpy as np
import torch.nn.functional as F
from torch import Tensor

from netsim.data.sets import Samples
from netsim.errors import ScenarioError
from netsim.learning.tasks import Examples, Task


class Regression(Task):
    """Numbers (n, K): `rmse` and `mae` over samples and numbers, in the unit of the targets.

    Numbers of classes count as numbers, such as ratings.
    """

    kind: Literal["regression"] = "regression"

    main: ClassVar[str] = "rmse"
    lower: ClassVar[frozenset[str]] = frozenset({"loss", "rmse", "mae"})
    kernel_loss: ClassVar[Literal["mean_squared"]] = "mean_squared"

    def examples(self, samples: Samples) -> Examples:
        """Inputs and targets (n, K); see the base class."""
        y = samples.y
        if y.ndim > 2:
            raise ScenarioError(
                f'[task] kind = "regression": needs one or several numbers a sample, the targets '
                f'of the data set "{samples.name}" are of shape {y.shape[1:]} each'
            )
        y = y.astype(np.float64 if y.dtype == np.float64 else np.float32).reshape(len(y), -1)
        return Examples(samples.x, y, y.shape[1], (y.shape[1],))

    def losses(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """Squared error of each sample, the mean of its numbers."""
        return (outputs.reshape(targets.shape) - targets).square().mean(1)

    def loss(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """Mean squared error."""
        return F.mse_loss(outputs.reshape(targets.shape), targets)

    def gradient(self, outputs: Tensor, targets: Tensor, weight: Tensor) -> Tensor:
        """Twice the error over K, weighted; see the base class.

        Parameters
        ----------
        outputs, targets, weight
            (n, K), (n, K) and (n, 1).
        """
        error = outputs.reshape(targets.shape) - targets
        return error.mul_(weight * (2.0 / targets.shape[1])).reshape(outputs.shape)

    def metrics(self, outputs: Tensor, targets: Tensor) -> Mapping[str, float]:
        """Root of the mean squared error, and mean absolute error."""
        error = outputs.reshape(targets.shape).double() - targets.double()
        return {
            "rmse": float(error.square().mean().sqrt()),
            "mae": float(error.abs().mean()),
        }
