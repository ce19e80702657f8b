"""Labelling: a class for each position of a sample, as of pixels (segmentation) or words."""

import math
from collections.abc import Mapping
from typing import ClassVar, Literal

import numpy as np
import torch
from torch import Tensor

from netsim.data.sets import Samples
from netsim.errors import ScenarioError
from netsim.learning.tasks import Examples, Task, _positions
from netsim.registry import Index


class Labelling(Task):
    """Logits (n, *positions, C); `label_accuracy` and `mean_iou`.

    `mean_iou` is the mean over classes of intersection over union: positions that are and are taken
    for a class, over those that are or are taken for it; classes that are neither are left out.

    Parameters
    ----------
    ignore : int, optional
        A label whose positions do not count, for example that of borders. Absent: all count.
    scores : {"last", "first"}
        Place of a model's C scores: after the positions ("last"), or before them ("first"), (n, C,
        *positions), as convolutional networks give them.
    """

    kind: Literal["labelling"] = "labelling"
    ignore: Index | None = None
    scores: Literal["last", "first"] = "last"

    main: ClassVar[str] = "label_accuracy"

    def examples(self, samples: Samples) -> Examples:
        """Inputs and labels; see the base class."""
        y = samples.y
        if y.ndim < 2 or not np.issubdtype(y.dtype, np.integer):
            raise ScenarioError(
                f'[task] kind = "labelling": needs a class for each position of a sample, the '
                f'data set "{samples.name}" has targets of shape {y.shape[1:]} and type {y.dtype}'
            )
        classes, positions = samples.num_classes, tuple(int(size) for size in y.shape[1:])
        shape = (*positions, classes) if self.scores == "last" else (classes, *positions)
        return Examples(samples.x, _positions.mask_ignored_labels(y, self.ignore), classes, shape)

    def losses(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """Cross-entropy of each sample, the mean of its positions."""
        return _positions.losses(*self._by_position(outputs, targets))

    def gradient(self, outputs: Tensor, targets: Tensor, weight: Tensor) -> Tensor:
        """See the base class.

        Parameters
        ----------
        outputs, targets, weight
            (n, *positions, C), (n, *positions) and (n, 1).
        """
        found = _positions.gradient(*self._by_position(outputs, targets), weight)
        return (found if self.scores == "last" else found.transpose(1, 2)).reshape(outputs.shape)

    def are_finite(self, outputs: Tensor, targets: Tensor) -> bool:
        """True if the greatest score of each position that counts is finite."""
        return _positions.are_finite(*self._by_position(outputs, targets))

    def counted(self, targets: Tensor) -> Tensor:
        """Mask (n,) of the samples that have a position that counts."""
        return _positions.counted_samples(targets)

    def metrics(self, outputs: Tensor, targets: Tensor) -> Mapping[str, float]:
        """Share of positions that are right, and mean intersection over union."""
        scores, labels, counts = self._by_position(outputs, targets)
        classes = scores.shape[-1]
        taken, true = scores.argmax(-1)[counts], labels[counts]
        table = torch.bincount(true * classes + taken, minlength=classes**2).double()
        table = table.view(classes, classes)
        right = table.diagonal()
        union = table.sum(0) + table.sum(1) - right
        present = union > 0
        iou = float((right[present] / union[present]).mean()) if any(present) else math.nan
        return {"label_accuracy": float((taken == true).double().mean()), "mean_iou": iou}

    def _by_position(self, outputs: Tensor, targets: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        if self.scores == "first":
            outputs = outputs.reshape(len(targets), -1, targets[0].numel()).transpose(1, 2)
        return _positions.by_position(outputs, targets)
