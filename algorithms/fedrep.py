"""FedRep: a common representation, and a head of its own at every node.

Source: Collins, Hassani, Mokhtari and Shakkottai, "Exploiting shared representations for
personalized federated learning", ICML 2021, Algorithm 1; as a baseline of pFedGraph (Ye et al.,
ICML 2023: 80 steps of the head, 200 of the base) and of DPFL (Kharrat, Canini and Horvath 2024,
whose split of the epochs is not given).

Symbols: phi the base (`backbone`), h_i the head of node i.

In a round a node trains its h_i with phi held fixed, then phi with h_i held fixed. The base is
averaged and is all that is sent; h_i stays. How long the base is trained is `local_epochs` or
`local_steps`, how long the head, `head_epochs` or `head_steps`. The model to report is (phi, h_i),
published after local training as `trained`, with the new phi as `mixed`.

Readings and departures:
- What is held fixed is not decayed either, whatever `[training] weight_decay` is.
- The mean is by training samples; `weights = "equal"` is Algorithm 1, of equal sizes.
- All clients take part. Heads start at the node's initial model, as its base does.
- Running statistics (BatchNorm) stay with the node; the base's training changes them.

Personalizes: the head.
Shares: the base.
Sends: `b * base + 32` per neighbour; with a server `b * base + 32` up, `b * base` down.
Needs: equal architectures; a model of base and head.
Cost a round: `S + H` steps, H those of the head; a mean.
Late or absent peers: the mean is over the models that came; with `absent`, the own model or the
peer's last one replaces a missing one. A client that gets no answer continues from its own model;
the head is its own in any case.
"""

from dataclasses import replace
from typing import Any, Self

from torch import Tensor

from netsim import api
from netsim.api import Batch, Node, Process, Ref


class HeadTraining(api.PlainTraining):
    """Length of the training of heads; the other keys are of the base.

    Attributes
    ----------
    head_epochs
        Passes of the head's training. Absent: 1, unless `head_steps` is given.
    head_steps
        Local steps of the head's training, in place of passes. Absent: `head_epochs` says how long.
    """

    head_epochs: api.Count | None = None
    head_steps: api.Count | None = None

    @api.model_validator(mode="after")
    def _one_of_two_for_heads(self) -> Self:
        if self.head_epochs is not None and self.head_steps is not None:
            raise ValueError("give head_epochs or head_steps, not both")
        return self

    def head_amount(self) -> dict[str, int]:
        """Amount by which a head is trained: `steps` or `epochs`, as `node.train` takes it."""
        if self.head_steps is not None:
            return {"steps": self.head_steps}
        return {"epochs": self.head_epochs or 1}

    def how_part(self, part: str) -> dict[str, Any]:
        """Keywords of `node.train` for one part, the other one held fixed."""
        amount = self.head_amount() if part == "head" else self.amount()
        return {**amount, "loss": self.loss(), "part": part}


class Params(HeadTraining, api.RoundParams):
    """Length of the training of heads and bases, and weights of bases."""


@api.algorithm(mixes_to_one=True, tasks=("any",), needs_parts=("head",), common_parts=("backbone",))
def processes(node: Node, params: Params) -> list[Process]:
    """Rounds in which bases are averaged."""
    return api.round_processes(node, params, FedRep(node, params, "backbone"))


class FedRep(api.AveragedPart[Params]):
    """One node: `theta` is (phi, h_i)."""

    def fit(self) -> Process:
        node, theta = self.node, self.theta
        headed = yield node.train(theta, **self.how_head(theta.part("backbone")))
        h = headed.theta.part("head")
        based = yield node.train(theta.with_part("head", h), **self.how_base(h))
        return based.theta.with_part("head", h)

    def how_head(self, phi: Ref) -> dict[str, Any]:
        """Keywords of `node.train` for h_i at a fixed phi."""
        loss = augmented_loss_of_head if self.params.augment else loss_of_head
        return {**self.params.head_amount(), "loss": loss, "given": (phi,)}

    def how_base(self, h: Ref) -> dict[str, Any]:
        """Keywords of `node.train` for phi at a fixed h_i."""
        loss = augmented_loss_of_base if self.params.augment else loss_of_base
        return {**self.params.amount(), "loss": loss, "given": (h,)}


def loss_of_head(model: Any, batch: Batch, learned: dict[str, Tensor], phi: Tensor) -> Tensor:
    """F_i(phi, h), phi as given."""
    return batch.loss(model.head(api.call_at(model.features, phi, batch.x)))


def loss_of_base(model: Any, batch: Batch, learned: dict[str, Tensor], h: Tensor) -> Tensor:
    """F_i(phi, h), h as given."""
    return batch.loss(api.call_at(model.head, h, model.features(batch.x)))


@api.loss(uniforms=api.CROP_FLIP_DRAWS)
def augmented_loss_of_head(model: Any, batch: Batch, *rest: Any) -> Tensor:
    """The same on cropped and mirrored images."""
    return loss_of_head(model, replace(batch, x=api.crop_and_flip(batch)), *rest)


@api.loss(uniforms=api.CROP_FLIP_DRAWS)
def augmented_loss_of_base(model: Any, batch: Batch, *rest: Any) -> Tensor:
    """The same on cropped and mirrored images."""
    return loss_of_base(model, replace(batch, x=api.crop_and_flip(batch)), *rest)
