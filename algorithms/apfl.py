"""APFL: each node predicts with a mixture of the common model and one of its own.

Source: Deng, Kamani and Mahdavi, "Adaptive personalized federated learning", 2020
(arXiv:2003.13461), Algorithm 1; as a baseline of DPFL (Kharrat, Canini and Horvath 2024), where
models are averaged in every round.

Symbols: w_i the model that is averaged, v_i a node's own, a_i in [0, 1] (`alpha`) its weight,
v_bar_i = a_i v_i + (1 - a_i) w_i the personalised model, eta the learning rate.

Every step of a round takes one minibatch for both:
w_i <- w_i - eta grad F_i(w_i) and v_i <- v_i - eta a_i grad F_i(v_bar_i), the gradient by v_i.
Then w_i is averaged; v_i and a_i stay with the node. The model to report is v_bar_i, published
after local training as `trained`, with the new w as `mixed`.

Readings and departures:
- `adaptive`: a_i <- clip(a_i - eta <v_i - w_i, grad F_i(v_bar_i)>, 0, 1), once when a round begins,
  on a minibatch of its own, as one local step more. The paper writes it for every step. It starts
  at `alpha`, which DPFL does not give; 0.5 here.
- v_i starts at the node's initial model, so that a_i stays as it is in the first round.
- The two gradients of a step take the virtual time of one.
- An optimiser with momentum or of another kind takes w_i and v_i as one vector.
- Running statistics (BatchNorm) are those of w_i, changed by the calls at v_bar_i, too.

Personalizes: a second whole model v_i, and its weight a_i.
Shares: the common model w.
Sends: `b * theta + 32` per neighbour; with a server `b * theta + 32` up, `b * theta` down.
Needs: equal architectures.
Cost a round: `S + 1` steps (`S` without `adaptive`), S of them of two gradients; a mean.
Late or absent peers: the mean is over the models that came; with `absent`, the own model or the
peer's last one replaces a missing one. A client that gets no answer continues from its own model.
"""

from dataclasses import replace
from typing import Any, Self

import torch
from torch import Tensor

from netsim import api
from netsim.api import Batch, Node, Process, Ref


class Params(api.RoundParams):
    """The weight of the own model, and how it is learned.

    Attributes
    ----------
    alpha
        a_i, weight of the own model in the mixture; its initial value if `adaptive`. Source: Deng
        et al. 2020, Algorithm 1; 0.5 is a reading.
    adaptive
        Whether a_i is learned, once when a round begins.
    alpha_learning_rate
        Learning rate of a_i. Absent: that of the models.
    """

    alpha: api.Fraction = 0.5
    adaptive: bool = True
    alpha_learning_rate: api.Positive | None = None

    @api.model_validator(mode="after")
    def _is_used(self) -> Self:
        if self.alpha_learning_rate is not None and not self.adaptive:
            raise ValueError("alpha_learning_rate is for adaptive = true")
        return self


@api.algorithm(mixes_to_one=True, tasks=("any",), common_parts=("parameters",))
def processes(node: Node, params: Params) -> list[Process]:
    """Rounds of FedAvg with a mixture beside."""
    return api.round_processes(node, params, Apfl(node, params))


class Apfl(api.AveragedModel[Params]):
    """One node: `model` is w_i; v (P,) and alpha () its own."""

    def __init__(self, node: Node, params: Params) -> None:
        super().__init__(node, params)
        self.v = node.initial().part("parameters")
        self.alpha: Ref = node.compute(number, self.v, params.alpha)

    def how(self) -> dict[str, Any]:
        loss = augmented_loss_of_both if self.params.augment else loss_of_both
        return {
            **self.params.amount(),
            "loss": loss,
            "given": (self.alpha,),
            "learn": {"v": self.v},
        }

    def train(self) -> Process:
        if self.params.adaptive:
            yield from self.learn_alpha()
        trained = yield self.model.train(**self.how())
        if trained is None:
            return None
        self.v = trained.learned["v"]
        self.show(trained.theta, "trained")
        return api.Share(trained.theta, self.node.train_size)

    def learn_alpha(self) -> Process:
        """One step of a_i, clipped; w_i and v_i stay as they are."""
        stepped = yield self.node.train(
            self.model.theta,
            steps=1,
            loss=augmented_loss_of_mixture if self.params.augment else loss_of_mixture,
            given=(self.v,),
            learn={"alpha": self.alpha},
            learning_rate=self.params.alpha_learning_rate,
            stream="alpha",
        )
        self.alpha = self.node.compute(clipped, stepped.learned["alpha"])

    def adopt(self, common: api.Mean) -> None:
        self.model.replace(common.theta)
        self.show(common.theta, "mixed")

    def show(self, w: Ref, stage: str) -> None:
        """Publish v_bar_i."""
        shares = self.node.compute(both_shares, self.alpha)
        v_bar = self.node.mix([self.v, w.part("parameters")], shares)
        self.node.publish(w.with_part("parameters", v_bar), stage)


def loss_of_both(model: Any, batch: Batch, learned: dict[str, Tensor], alpha: Tensor) -> Tensor:
    """F_i(w) + F_i(v_bar), whose gradients are those of Algorithm 1: w in v_bar is held fixed."""
    v_bar = alpha * learned["v"] + (1 - alpha) * api.parameters_of(model).detach()
    personal = batch.loss(api.call_at(model, v_bar, batch.x))
    return batch.loss(model(batch.x)) + personal


def loss_of_mixture(model: Any, batch: Batch, learned: dict[str, Tensor], v: Tensor) -> Tensor:
    """F_i(v_bar), whose derivative by a is <v - w, grad F_i(v_bar)>."""
    alpha = learned["alpha"]
    v_bar = alpha * v + (1 - alpha) * api.parameters_of(model).detach()
    return batch.loss(api.call_at(model, v_bar, batch.x))


@api.loss(uniforms=api.CROP_FLIP_DRAWS)
def augmented_loss_of_both(model: Any, batch: Batch, *rest: Any) -> Tensor:
    """The same on cropped and mirrored images."""
    return loss_of_both(model, replace(batch, x=api.crop_and_flip(batch)), *rest)


@api.loss(uniforms=api.CROP_FLIP_DRAWS)
def augmented_loss_of_mixture(model: Any, batch: Batch, *rest: Any) -> Tensor:
    """The same on cropped and mirrored images."""
    return loss_of_mixture(model, replace(batch, x=api.crop_and_flip(batch)), *rest)


def number(like: Tensor, value: float) -> Tensor:
    """A scalar in the precision of models."""
    return like.new_tensor(value)


@api.batched
def clipped(alpha: Tensor) -> Tensor:
    """The nearest number in [0, 1]."""
    return alpha.clamp(0.0, 1.0)


@api.batched
def both_shares(alpha: Tensor) -> Tensor:
    """(a, 1 - a): (2,)."""
    return torch.stack([alpha, 1 - alpha])
