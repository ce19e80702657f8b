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
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import torch
import torch.nn.functional as F
from torch import Tensor

from algorithms._crop_flip import DRAWS, crop_and_flip
from algorithms._inbox import AbsenceParams
from algorithms._rounds import PlainTraining, round_processes
from netsim.api import Batch, Message, Node, NonNegative, Process, Ref


class Params(PlainTraining, AbsenceParams):
    """Ld, and what predicts."""

    strength: NonNegative = 1.0
    predict: Literal["head", "prototype"] = "head"


@dataclass(frozen=True)
class Prototypes(Message):
    """C_i^j of the classes that a node holds: `values` (k, F), row by row."""

    classes: tuple[int, ...]
    values: Ref


@dataclass(frozen=True)
class Global(Prototypes):
    """C^j of all classes that any node holds."""


def processes(node: Node, params: Params) -> list[Process]:
    """Rounds in which prototypes are averaged."""
    theta = node.initial()
    common: Prototypes | None = None

    def train() -> Process:
        nonlocal theta
        loss, given = params.loss(), ()
        if common is not None:
            loss = augmented_prototype_loss if params.augment else prototype_loss
            given = (common.values, common.classes, params.strength)
        theta = (yield node.train(theta, loss=loss, given=given, **params.amount())).theta
        show()
        like = (len(node.classes), num_features(theta))
        values = node.measure(class_means, theta, "train", (node.classes,), like)
        return Prototypes(node.classes, values)

    def adopt(message: Prototypes) -> None:
        nonlocal common
        common = message
        show()

    def show() -> None:
        if common is None or params.predict == "head":
            node.publish(theta, "trained")
        else:
            own = tuple(c in node.classes for c in common.classes)
            given = (common.values, common.classes, own)
            node.publish(theta, "trained", predict=by_nearest, given=given)

    return round_processes(node, params, train, adopt, mean_over_holders, Prototypes, Global)


def num_features(theta: Ref) -> int:
    """F: what the head takes."""
    return next(s.shape[1] for s in theta.architecture.slices if s.name == "head.weight")


def class_means(model: Any, batch: Batch, classes: tuple[int, ...]) -> Tensor:
    """C_i^j of each class, Eq. (3): (k, F)."""
    features = model.features(batch.x)
    of_class = (batch.y == batch.y.new_tensor(classes)[:, None]).to(features)
    return of_class @ features / of_class.sum(1, keepdim=True)


def mean_over_holders(node: Node, params: Params, sent: Mapping[int, Prototypes]) -> Global:
    """C^j of every class that anybody holds."""
    messages = [sent[j] for j in sorted(sent)]
    classes = tuple(sorted({c for message in messages for c in message.classes}))
    held, values = tuple(m.classes for m in messages), [m.values for m in messages]
    return Global(classes, node.compute(holders_mean, values, held, classes))


def holders_mean(
    values: Sequence[Tensor], held: tuple[tuple[int, ...], ...], classes: tuple[int, ...]
) -> Tensor:
    """Mean of each class over those that hold it: (len(classes), F) from (k_i, F) each."""
    rows = []
    for c in classes:
        own = [v[h.index(c)] for v, h in zip(values, held, strict=True) if c in h]
        rows.append(torch.stack(own).mean(0))
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
    features = model.features(batch.x)
    of_class = (batch.y[:, None] == batch.y.new_tensor(classes)).to(features)  # (n, classes)
    known = of_class.sum(1, keepdim=True)  # 1, or 0 for a class without a prototype
    distance = known * (features - of_class @ prototypes)
    return F.cross_entropy(model.head(features), batch.y) + strength * distance.square().mean()


def augmented_prototype_loss(model: Any, batch: Batch, *rest: Any) -> Tensor:
    """The same on cropped and mirrored images."""
    return prototype_loss(model, replace(batch, x=crop_and_flip(batch)), *rest)


augmented_prototype_loss.uniforms = DRAWS  # type: ignore[attr-defined]
