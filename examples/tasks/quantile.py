"""Quantile regression: a bound that so large a share of the targets stays below.

Source: Koenker and Bassett, "Regression quantiles", Econometrica 46, 1978: the mean of
max(level * e, (level - 1) * e) over errors e = target - bound is least at the quantile.
"""

from collections.abc import Mapping
from typing import ClassVar, Literal

import torch
from torch import Tensor

from netsim.data.sets import Samples
from netsim.learning.tasks import Examples, Task
from netsim.learning.tasks.regression import Regression
from netsim.registry import Fraction


class Quantile(Task):
    """Targets as in a regression; judged by the loss above and the share of targets `below`.

    Attributes
    ----------
    level
        The share of the targets that should be below.
    """

    kind: Literal["quantile"] = "quantile"
    level: Fraction = 0.9

    main: ClassVar[str] = "pinball"
    lower: ClassVar[frozenset[str]] = frozenset({"loss", "pinball"})

    def examples(self, samples: Samples) -> Examples:
        """Inputs and targets (n, K), as for a regression."""
        return Regression().examples(samples)

    def losses(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """Of each sample, (n,)."""
        error = targets - outputs.reshape(targets.shape)
        return torch.maximum(self.level * error, (self.level - 1) * error).mean(1)

    def metrics(self, outputs: Tensor, targets: Tensor) -> Mapping[str, float]:
        """The mean loss, and the share of targets that are below the bound."""
        below = (targets <= outputs.reshape(targets.shape)).double().mean()
        return {"pinball": float(self.losses(outputs, targets).mean()), "below": float(below)}
