"""FedClassAvg: classifiers are averaged and kept near the mean, features learn by contrast.

Source: Jang, Ha, Jung and Yoon, "FedClassAvg: local representation learning for personalized
federated learning on heterogeneous neural networks", ICPP 2022, and its code (github
hukla/FedClassAvg); as a baseline of MAPL in that paper's code.

A batch has two views. Its loss is the cross-entropy of the first, the supervised contrast of the
features of both, and (rho / 2) times the mean squared distance of each tensor of the head to what
it was when the round began. Only the head is averaged; backbones need not be alike.

Readings and departures:
- `contrast = "code"` is the paper's code: Khosla et al. 2020, Eq. (2), on features as they are, at
  temperature 100 over a base temperature of 0.07, which makes its factor 1428.6. `"mapl"` is MAPL's
  port: normalised features, the log of the sum over positives, temperature 100, no such factor.
- The code leaves the distance out in an epoch's first step. In a round of one epoch it has no
  gradient there anyway; in later epochs it counts here.
- The code trains all nodes once before the first round: the first round's training here.
- Views are SimCLR's (`two_views`), the same in both codes. Data other than images have two views
  that are alike.
- Contrast is of what the head gets; in the code the head begins with a ReLU that comes after.
- The mean is by training samples (the paper's code); `weights = "equal"` is MAPL's.

Personalizes: the base.
Shares: the head.
Sends: `b * head + 32` per neighbour; with a server `b * head + 32` up, `b * head` down.
Needs: equal heads (bases may differ); a model of base and head.
Cost a round: `S` steps on two views of each sample, a mean of heads.
Late or absent peers: the mean is over the models that came; with `absent`, the own model or the
peer's last one replaces a missing one. A client that gets no answer continues from its own model.
"""

from typing import Any, Literal

import torch
import torch.nn.functional as F
from torch import Tensor

from netsim import api
from netsim.api import Batch, Node, Process, supervised_contrastive_loss


class Params(api.LocalTraining, api.AbsenceParams):
    """Values of the paper's code.

    Attributes
    ----------
    weights
        Weight of a node in the mean of heads: its number of training samples, or the same for all
        ("equal", as in MAPL).
    rho
        Weight of the distance between a node's head and the mean. Source: Jang et al. 2022, the
        code.
    contrast
        Version of the supervised contrast: that of the paper's code, or of MAPL's port ("mapl").
    temperature
        Divisor of products of features.
    base_temperature
        With `contrast = "code"`, the contrast is multiplied by `temperature` over it.
    augmentation
        Greatest difference of the two views of an image.
    """

    weights: Literal["sizes", "equal"] = "sizes"
    rho: api.NonNegative = 0.1
    contrast: Literal["code", "mapl"] = "code"
    temperature: api.Positive = 100.0
    base_temperature: api.Positive = 0.07
    augmentation: api.Augmentation = api.Augmentation()


@api.algorithm(mixes_to_one=True, tasks=("classification",), common_parts=("head",))
def processes(node: Node, params: Params) -> list[Process]:
    """Rounds in which heads are averaged."""
    return api.round_processes(node, params, FedClassAvg(node, params, "head"))


class FedClassAvg(api.AveragedPart[Params]):
    """One node; what its head was when the round began goes into the loss."""

    def how(self) -> dict[str, Any]:
        given = (self.theta.part("head"), self.params)
        return {"loss": local_loss, "given": given, **super().how()}


@api.loss(uniforms=2 * api.VIEW_DRAWS)
def local_loss(
    model: Any, batch: Batch, learned: dict[str, Tensor], head: Tensor, params: Params
) -> Tensor:
    """Cross-entropy of the first view, contrast of both, distance to `head` (H,)."""
    x, y = api.two_views(batch, params.augmentation), batch.y
    features = model.features(x)
    value = F.cross_entropy(model.head(features[: len(y)]), y)
    if params.contrast == "mapl":
        value = value + supervised_contrastive_loss(features, y.repeat(2), params.temperature)
    else:
        factor = params.temperature / params.base_temperature
        value = value + factor * mean_of_logs(features, y.repeat(2), params.temperature)
    return value + params.rho / 2 * distance(list(model.head.parameters()), head)


def mean_of_logs(z: Tensor, y: Tensor, temperature: float) -> Tensor:
    """-mean_a (1 / |P(a)|) sum_{b in P(a)} log(e^s_ab / sum_{A(a)} e^s_ab), a scalar.

    s_ab = z_a.z_b / temperature of features z (n, F) as they are, with labels y (n,); A(a) are all
    rows but a, P(a) those of them with its label (Khosla et al. 2020, Eq. (2)).
    """
    itself = torch.eye(len(z), dtype=torch.bool, device=z.device)
    positive = (y[:, None] == y) & ~itself
    s = z @ z.T / temperature
    log_sum = s.masked_fill(itself, -torch.inf).logsumexp(1, keepdim=True)
    log_p = (s - log_sum) * positive
    return -(log_p.sum(1) / positive.sum(1)).mean()


def distance(tensors: list[Tensor], before: Tensor) -> Tensor:
    """Sum over the head's tensors of their mean squared distance to what they were."""
    were = torch.split(before, [t.numel() for t in tensors])
    pairs = zip(tensors, were, strict=True)
    return torch.stack([F.mse_loss(now, was.view_as(now)) for now, was in pairs]).sum()
