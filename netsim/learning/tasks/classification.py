"""Classification: one class a sample, by cross-entropy; judged by accuracy."""

from typing import ClassVar, Literal

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from netsim.data.sets import Samples
from netsim.errors import ScenarioError
from netsim.learning.tasks import Examples, Task


class Classification(Task):
    """Logits (n, C) of samples with one class each."""

    kind: Literal["classification"] = "classification"

    main: ClassVar[str] = "accuracy"
    has_classes: ClassVar[bool] = True
    kernel_loss: ClassVar[Literal["cross_entropy"]] = "cross_entropy"

    def examples(self, samples: Samples) -> Examples:
        """Inputs and class numbers; see the base class."""
        if not samples.has_classes:
            kind = "labelling" if np.issubdtype(samples.y.dtype, np.integer) else "regression"
            whole = kind == "regression" and samples.y.ndim == 1 and (samples.y % 1 == 0).all()
            hint = (
                "its targets are whole numbers written with a point: if they are classes, write "
                '[data] learn = "classes", of arrays give integers; if they are numbers, '
                if whole
                else ""
            )
            raise ScenarioError(
                f'[task] kind = "{self.kind}": needs one class a sample, the data set '
                f'"{samples.name}" has none; {hint}write [task] kind = "{kind}", or take '
                "another data set"
            )
        classes = samples.num_classes
        return Examples(samples.x, samples.y, classes, (classes,))

    def losses(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """Cross-entropy of each sample."""
        found = torch.log_softmax(outputs, dim=-1).gather(-1, targets.unsqueeze(-1))
        return -found.squeeze(-1)

    def are_finite(self, outputs: Tensor, targets: Tensor) -> bool:
        """True if each sample's greatest output is finite; minus infinity is a chance of 0."""
        return bool(outputs.amax(1).isfinite().all())

    def loss(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """Mean cross-entropy."""
        return F.cross_entropy(outputs, targets)

    def gradient(self, outputs: Tensor, targets: Tensor, weight: Tensor) -> Tensor:
        """Softmax minus one at the label, weighted; see the base class.

        Parameters
        ----------
        outputs, targets, weight
            (n, C), (n,) and (n, 1).
        """
        labels = targets.unsqueeze(1)
        # torch.softmax takes five times as long for few classes.
        powers = (outputs - outputs.amax(dim=1, keepdim=True)).exp_()
        powers.div_(powers.sum(dim=1, keepdim=True))
        ones = powers.new_full((1, 1), -1.0).expand_as(labels)
        return powers.scatter_add_(1, labels, ones).mul_(weight)
