"""FedRoD: a balanced head for all, and a head of its own for each node, on one representation.

Source: Chen and Chao, "On bridging generic and personalized federated learning for image
classification", ICLR 2022 (Fed-RoD with linear personal heads); as a baseline of pFedGraph (Ye et
al., ICML 2023).

Symbols: z features, g(z) the generic head's outputs, p_i(z) the personal head's, n_c training
samples of class c at the node.

A step takes one minibatch for both heads. Base and generic head learn by the balanced softmax, the
cross-entropy of g(z) + log n_c; the personal head by the cross-entropy of g(z) + p_i(z), whose
gradient stops at z and g(z). Base and generic head are averaged, the personal head stays. The model
to report predicts by g(z) + p_i(z), published after local training as `trained`, with the mean as
`mixed`.

Readings and departures:
- `share = "backbone"` is pFedGraph's code, where the generic head stays with its node, too.
- A class that a node does not have leaves the balanced softmax there: log 0.
- Personal heads start as the generic one does, and use the same optimiser and rate.
- The mean is by training samples. All clients take part.
- Running statistics (BatchNorm) stay with the node.

Personalizes: a second head, beside the generic one.
Shares: base and generic head; with `share = "backbone"` the base alone.
Sends: `b * P + 32` per neighbour; with a server `b * P + 32` up, `b * P` down.
Needs: equal architectures; a model of base and head.
Cost a round: `S` steps, a mean.
Late or absent peers: the mean is over the models that came; with `absent`, the own model or the
peer's last one replaces a missing one. A client that gets no answer continues from its own model.
"""

from dataclasses import replace
from typing import Any, Literal

import torch.nn.functional as F
from torch import Tensor

from netsim import api
from netsim.api import Batch, Node, Process


class Params(api.RoundParams):
    """Choice of the averaged part: base and generic head, or the base alone.

    Attributes
    ----------
    share
        Part that is averaged: base and generic head, or the base alone, as in pFedGraph's code
        ("backbone").
    """

    share: Literal["parameters", "backbone"] = "parameters"


@api.algorithm(
    mixes_to_one=True,
    tasks=("classification",),
    needs_parts=("head",),
    common_parts=("parameters",),
)
def processes(node: Node, params: Params) -> list[Process]:
    """Rounds of FedAvg with a personal head beside."""
    return api.round_processes(node, params, FedRod(node, params, params.share))


class FedRod(api.AveragedPart[Params]):
    """One node: `theta` is base and generic head, personal (H,) its own head."""

    def __init__(self, node: Node, params: Params, part: str) -> None:
        super().__init__(node, params, part)
        self.personal = self.theta.part("head")

    def how(self) -> dict[str, Any]:
        num_classes, params = num_outputs(self.theta), self.params
        counts = self.node.measure(
            samples_of_classes, self.theta, "train", (num_classes,), (num_classes,)
        )
        loss = augmented_loss_of_both_heads if params.augment else loss_of_both_heads
        learn = {"personal": self.personal}
        return {**params.amount(), "loss": loss, "given": (counts,), "learn": learn}

    def fit(self) -> Process:
        trained = yield self.node.train(self.theta, **self.how())
        self.personal = trained.learned["personal"]
        return trained.theta

    def show(self, stage: str) -> None:
        self.node.publish(self.theta, stage, predict=by_both_heads, given=(self.personal,))


def loss_of_both_heads(
    model: Any, batch: Batch, learned: dict[str, Tensor], counts: Tensor
) -> Tensor:
    """Balanced softmax of the generic head, cross-entropy of both with the generic one fixed."""
    z = model.features(batch.x)
    generic = model.head(z)
    both = generic.detach() + api.call_at(model.head, learned["personal"], z.detach())
    return F.cross_entropy(generic + counts.log(), batch.y) + F.cross_entropy(both, batch.y)


@api.loss(uniforms=api.CROP_FLIP_DRAWS)
def augmented_loss_of_both_heads(model: Any, batch: Batch, *rest: Any) -> Tensor:
    """The same on cropped and mirrored images."""
    return loss_of_both_heads(model, replace(batch, x=api.crop_and_flip(batch)), *rest)


def samples_of_classes(model: Any, batch: Batch, num_classes: int) -> Tensor:
    """n_c of every class: (L,)."""
    return F.one_hot(batch.y, num_classes).sum(0).to(batch.x)


def by_both_heads(model: Any, x: Tensor, personal: Tensor) -> Tensor:
    """g(z) + p_i(z): (n, L)."""
    z = model.features(x)
    generic: Tensor = model.head(z)
    return generic + api.call_at(model.head, personal, z)


def num_outputs(theta: api.Ref) -> int:
    """L, the number of classes."""
    assert theta.architecture is not None
    return theta.architecture.num_outputs
