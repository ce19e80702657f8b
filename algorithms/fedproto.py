"""FedProto: nodes share the mean feature of each class, never a model.

Source: Tan, Long, Liu, Zhou, Lu, Jiang and Zhang, "FedProto: federated prototype learning across
heterogeneous clients", AAAI 2022, Algorithm 1 and Eqs. (3), (6), (7).

Symbols: C_i^j prototype of class j at node i, the mean of the features of its samples; C^j the mean
over the nodes that hold class j; ld (`strength`) weight of the distance to them.

Local loss: cross-entropy + ld MSE(feature, C^class of the sample), where no node holds the class 0.
A message has the classes its node holds, k numbers and k vectors. Models may differ but for the
number of features.

Readings and departures:
- C_i^j is computed after local training, in evaluation mode over all training samples: Eq. (3).
  The code takes the mean over the features that came up during the last local epoch.
- C^j is the plain mean over holders, as in the code; Eq. (6) weighs by samples and divides by the
  number of holders once more.
- ld = 1 and SGD in the paper; 0.1 and Adam as a baseline of MAPL.
- Prediction is by the head, as MAPL reports it, or by the nearest C^j of the node's own classes
  (`predict = "prototype"`); until there are any, by the head.

Personalizes: the whole model.
Shares: the mean feature of each class.
Sends: `k * (32 + b * F)` per neighbour; with a server `k * (32 + b * F)` up, `C * (32 + b * F)`
down, C classes that any node holds.
Needs: equal numbers of features (models may differ); a model of base and head.
Cost a round: `S` steps, a pass over the training samples.
Late or absent peers: a prototype is the mean over the holders that were heard; with `absent`, the
own or a peer's last ones replace missing ones. Without an answer a node trains towards the last
ones.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import torch
import torch.nn.functional as F
from torch import Tensor

from netsim import api
from netsim.api import Batch, Message, Node, Process, Ref

TOO_SMALL = 1e-290
"""A sum of factors of staleness below which they are no numbers in full precision."""


class Params(api.PlainTraining, api.AbsenceParams):
    """The pull towards prototypes, and what predicts.

    Attributes
    ----------
    strength
        ld, weight of the distance to the prototypes; 1 in the paper, 0.1 as a baseline of MAPL.
        Source: Tan et al. 2022, Eq. (7).
    predict
        Model that predicts: the model's head, as MAPL reports it, or the nearest "prototype".
    """

    strength: api.NonNegative = 1.0
    predict: Literal["head", "prototype"] = "head"


@dataclass(frozen=True)
class Prototypes(Message):
    """C_i^j of the classes that a node holds: `values` (k, F), row by row."""

    classes: tuple[int, ...]
    values: Ref


@dataclass(frozen=True)
class Global(Prototypes):
    """C^j of all classes that any node holds."""


@api.algorithm(tasks=("classification",), needs_parts=("head",), common_parts=("head.weight",))
def processes(node: Node, params: Params) -> list[Process]:
    """Rounds in which prototypes are averaged."""
    participant = FedProto(node, params)
    return api.round_processes(node, params, participant, mean_over_holders, Prototypes, Global)


class FedProto:
    """One node: its model, and the C^j that it adopted last."""

    def __init__(self, node: Node, params: Params) -> None:
        self.node, self.params = node, params
        self.theta = node.initial()
        self.common: Prototypes | None = None

    def train(self) -> Process:
        """Local training by Eq. (7), then C_i^j."""
        node = self.node
        self.theta = (yield node.train(self.theta, **self.how())).theta
        self.show()
        like = (len(node.classes), num_features(self.theta))
        values = node.measure(class_means, self.theta, "train", (node.classes,), like)
        return Prototypes(node.classes, values)

    def how(self) -> dict[str, Any]:
        """Keywords of `node.train`: plain training until there are prototypes."""
        if self.common is None:
            return self.params.how()
        loss_of = augmented_prototype_loss if self.params.augment else prototype_loss
        given = (self.common.values, self.common.classes, self.params.strength)
        return {**self.params.amount(), "loss": loss_of, "given": given}

    def adopt(self, common: Prototypes) -> None:
        """Train towards the new C^j from now on."""
        self.common = common
        self.show()

    def show(self) -> None:
        """Publish the model, with what predicts."""
        if self.common is None or self.params.predict == "head":
            self.node.publish(self.theta, "trained")
            return
        own = tuple(c in self.node.classes for c in self.common.classes)
        given = (self.common.values, self.common.classes, own)
        self.node.publish(self.theta, "trained", predict=by_nearest, given=given)


def num_features(theta: Ref) -> int:
    """F: what the head takes."""
    assert theta.architecture is not None
    return theta.architecture.num_features


def class_means(model: Any, batch: Batch, classes: tuple[int, ...]) -> Tensor:
    """C_i^j of each class, Eq. (3): (k, F)."""
    features: Tensor = model.features(batch.x)
    of_class = (batch.y == batch.y.new_tensor(classes)[:, None]).to(features)
    return of_class @ features / of_class.sum(1, keepdim=True)


def mean_over_holders(node: Node, params: Params, sent: Mapping[int, Prototypes]) -> Global:
    """C^j of every class that anybody holds."""
    messages = [sent[j] for j in sorted(sent)]
    classes = tuple(sorted({c for message in messages for c in message.classes}))
    held, values = tuple(m.classes for m in messages), [m.values for m in messages]
    own = sorted(sent).index(node.id) if node.id in sent else None
    s = api.staleness_factors(node, params, values, own)
    if all(each == 1.0 for each in s):
        return Global(classes, node.compute(holders_mean, values, held, classes))
    rows = []
    for c in classes:
        holders = [k for k, h in enumerate(held) if c in h]
        total = len(holders) if own in holders else sum(s[k] for k in holders)
        if total < TOO_SMALL:  # all are so old that their factors are no numbers any more
            equal = [1.0 / len(holders)] * len(holders)
            among = [values[k] for k in holders]
            w = list(api.discounted(node, params, among, equal, own=None))
        else:
            w = [s[k] / total for k in holders]
        if own in holders:
            w[holders.index(own)] += 1.0 - sum(w)
        rows.append(tuple(w))
    return Global(classes, node.compute(weighted_mean, values, held, classes, tuple(rows)))


def holders_mean(
    values: Sequence[Tensor], held: tuple[tuple[int, ...], ...], classes: tuple[int, ...]
) -> Tensor:
    """Mean of each class over those that hold it: (len(classes), F) from (k_i, F) each."""
    rows = []
    for c in classes:
        own = [v[h.index(c)] for v, h in zip(values, held, strict=True) if c in h]
        rows.append(torch.stack(own).mean(0))
    return torch.stack(rows)


def weighted_mean(
    values: Sequence[Tensor],
    held: tuple[tuple[int, ...], ...],
    classes: tuple[int, ...],
    weights: tuple[tuple[float, ...], ...],
) -> Tensor:
    """The same with a weight of each holder of each class: what messages lose is the own value's.

    Of a class that the node itself does not hold, holders count by s over its sum.
    """
    rows = []
    for c, w in zip(classes, weights, strict=True):
        holders = [k for k, h in enumerate(held) if c in h]
        means = [values[k][held[k].index(c)] * share for k, share in zip(holders, w, strict=True)]
        rows.append(torch.stack(means).sum(0))
    return torch.stack(rows)


def by_nearest(
    model: Any, x: Tensor, prototypes: Tensor, classes: tuple[int, ...], own: tuple[bool, ...]
) -> Tensor:
    """Minus the mean squared distance of features to each C^j; -100 for classes not its own."""
    features = model.features(x)
    logits = torch.full_like(model.head(features), -100.0)
    distances = (features[:, None] - prototypes).square().mean(2)
    for k, c in enumerate(classes):
        if own[k]:
            logits[:, c] = -distances[:, k]
    return logits


def prototype_loss(
    model: Any,
    batch: Batch,
    learned: dict[str, Tensor],
    prototypes: Tensor,
    classes: tuple[int, ...],
    strength: float,
) -> Tensor:
    """Eq. (7): cross-entropy + ld MSE(feature, prototype of its class)."""
    features: Tensor = model.features(batch.x)
    of_class = (batch.y[:, None] == batch.y.new_tensor(classes)).to(features)  # (n, classes)
    known = of_class.sum(1, keepdim=True)  # 1, or 0 for a class without a prototype
    distance = known * (features - of_class @ prototypes)
    return F.cross_entropy(model.head(features), batch.y) + strength * distance.square().mean()


@api.loss(uniforms=api.CROP_FLIP_DRAWS)
def augmented_prototype_loss(model: Any, batch: Batch, *rest: Any) -> Tensor:
    """The same on cropped and mirrored images."""
    return prototype_loss(model, replace(batch, x=api.crop_and_flip(batch)), *rest)
