"""Classification by cross-entropy against labels that leave some weight to the other classes."""

from collections.abc import Mapping
from typing import ClassVar, Literal

import torch
from torch import Tensor

from netsim.data.sets import Samples
from netsim.learning.tasks import Examples, Task
from netsim.learning.tasks.classification import Classification
from netsim.registry import Fraction


class Starting(Task):
    """The label counts 1 - smoothing, all classes share the rest evenly; judged by accuracy.

    Attributes
    ----------
    smoothing : float
        Weight that is spread over all classes.
    """

    kind: Literal["starting"] = "starting"
    smoothing: Fraction = 0.1

    main: ClassVar[str] = "accuracy"
    has_classes: ClassVar[bool] = True

    def examples(self, samples: Samples) -> Examples:
        """Inputs and class numbers, as for classification."""
        return Classification().examples(samples)

    def losses(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """Loss of each sample, (n,), of logits (n, C) and class numbers (n,)."""
        log_shares = torch.log_softmax(outputs, dim=-1)
        of_label = log_shares.gather(-1, targets.unsqueeze(-1)).squeeze(-1)
        of_all = log_shares.mean(-1)
        losses: Tensor = -(1.0 - self.smoothing) * of_label - self.smoothing * of_all
        return losses

    def metrics(self, outputs: Tensor, targets: Tensor) -> Mapping[str, float]:
        """Return the model's mean confidence; accuracy and loss are added by the simulator."""
        sureness = torch.softmax(outputs.double(), dim=-1).amax(-1).mean()
        return {"sureness": float(sureness)}
