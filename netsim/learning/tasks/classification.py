"""Classification: one class a sample, by cross-entropy; judged by accuracy."""

from collections.abc import Mapping
from typing import ClassVar, Literal

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from netsim.data.sets import Samples
from netsim.errors import ScenarioError
from netsim.learning.tasks import Examples, Task


class Classification(Task):
    """Logits (n, C) of samples with one class each.

    Attributes
    ----------
    also
        Metrics beside accuracy and loss, on all four sets of samples: `macro_f1`, the mean over
        classes of F1, and `auc`, the mean over classes of the area under the curve of one class
        against the rest. They take evaluation more time. Example: `["macro_f1", "auc"]`
    """

    kind: Literal["classification"] = "classification"
    also: tuple[Literal["macro_f1", "auc"], ...] = ()

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

    def metrics(self, outputs: Tensor, targets: Tensor) -> Mapping[str, float]:
        """Metrics of `also`; without `auc` where all samples are of one class."""
        found = {}
        if "macro_f1" in self.also:
            found["macro_f1"] = macro_f1(outputs, targets)
        if "auc" in self.also and bool((targets != targets[0]).any()):
            found["auc"] = auc(outputs, targets)
        return found


def macro_f1(outputs: Tensor, targets: Tensor) -> float:
    """Mean over the classes that are true or predicted of 2 TP / (2 TP + FP + FN).

    Parameters
    ----------
    outputs, targets : torch.Tensor
        (n, C) and (n,).
    """
    classes = outputs.shape[1]
    table = torch.bincount(targets * classes + outputs.argmax(1), minlength=classes**2)
    table = table.view(classes, classes).double()
    both = table.sum(0) + table.sum(1)
    seen = both > 0
    return float((2.0 * table.diagonal()[seen] / both[seen]).mean())


def auc(outputs: Tensor, targets: Tensor) -> float:
    """Mean over classes of the area under the receiver operating curve, one class against the rest.

    A sample's score for a class is its softmax; classes that no sample or every sample has are left
    out. The area is the share of pairs of a sample of the class and another one in which the first
    has the higher score, ties as a half (Mann and Whitney 1947).

    Parameters
    ----------
    outputs, targets : torch.Tensor
        (n, C) and (n,), of two classes at least.
    """
    from scipy.stats import rankdata  # here: reading a scenario needs no statistics

    scores = torch.softmax(outputs.double(), dim=1).numpy()
    ranks, y = rankdata(scores, axis=0), targets.numpy()
    areas = []
    for c in np.unique(y):
        own = y == c
        n, rest = int(own.sum()), int((~own).sum())
        if rest:
            areas.append((ranks[own, c].sum() - n * (n + 1) / 2) / (n * rest))
    return float(np.mean(areas))
