"""Per-FedAvg: a common model from which one gradient step makes each node's own.

Source: Fallah, Mokhtari and Ozdaglar, "Personalized federated learning with theoretical guarantees:
a model-agnostic meta-learning approach", NeurIPS 2020, Algorithm 1 and its two approximations; as a
baseline of pFedGraph (Ye et al., ICML 2023: a = 0.001, b = 0.01 with momentum 0.9 and weight decay)
and of DPFL (Kharrat, Canini and Horvath 2024: a = 0.01).

Symbols: theta a node's model, w the mean; a (`alpha`) the rate of the inner step, b that of the
outer one, the scenario's; B1, B2, B3 samples that a step takes; H the Hessian.

Every local step: u = theta - a grad F_i(theta; B1), then theta <- theta - b g with
- `first_order` (FO): g = grad F_i(u; B2);
- `hessian_free` (HF): g = h - a (grad F_i(theta + delta h; B3) - grad F_i(theta - delta h; B3)) /
  (2 delta) with h = grad F_i(u; B2);
- `exact`: g = (I - a H_i(theta; B1)) grad F_i(u; B2).
Then models are averaged. The model to report is w - a grad F_i(w) over the node's training samples,
published as `mixed`; `adapt = false` reports theta after local training instead (`trained`),
without a step more, as pFedGraph's code does.

Readings and departures:
- B1, B2 (and B3 of HF) are parts of one minibatch, halves or thirds of it, so that a step costs no
  more samples than one of FedAvg. Twice its size, `training = { batch_size = ... }`, makes them two
  minibatches, as pFedGraph's code takes them, one after the other. A part has
  two samples at least, as batch normalisation needs it; those of a small minibatch overlap.
- In the paper the Hessian is over samples of its own; in `exact` over B1, as differentiating the
  step gives it.
- The baseline papers do not name the variant; pFedGraph's code is FO, the default here.
- delta is 0.001 unless given.
- All clients take part; the mean is by training samples (`weights = "equal"` is Algorithm 1).

Personalizes: the model, by one gradient step from the common one.
Shares: the common model.
Sends: `b * theta + 32` per neighbour; with a server `b * theta + 32` up, `b * theta` down.
Needs: equal architectures.
Cost a round: `S` steps of two gradients on halves of a minibatch (HF: five on thirds; exact: a
second derivative more), a mean; with `adapt` a gradient over the training samples.
Late or absent peers: the mean is over the models that came; with `absent`, the own model or the
peer's last one replaces a missing one. A client that gets no answer continues from its own model.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Literal, Self

from torch import Tensor

from netsim import api
from netsim.api import Batch, Node, Process

DELTA = 1e-3
"""Half the length of HF's finite difference, in gradients."""


class Params(api.RoundParams):
    """The inner step, how the outer one differentiates it, and which model is reported.

    Attributes
    ----------
    alpha
        a, rate of the inner step. Source: Fallah et al. 2020, Algorithm 1; 0.01 as in DPFL, 0.001
        in pFedGraph.
    variant
        Derivative of the inner step in the outer one: not at all, by differences of gradients, or
        exactly. Source: Fallah et al. 2020, the approximations FO and HF.
    delta
        Distance of the two gradients of `hessian_free`. Absent: 0.001.
    adapt
        Whether the model to report is one inner step away from the common one; otherwise it is the
        model after local training.
    """

    alpha: api.Positive = 0.01
    variant: Literal["first_order", "hessian_free", "exact"] = "first_order"
    delta: api.Positive | None = None
    adapt: bool = True

    @api.model_validator(mode="after")
    def _is_used(self) -> Self:
        if self.delta is not None and self.variant != "hessian_free":
            raise ValueError('delta is for variant = "hessian_free"')
        return self

    def how(self) -> dict[str, Any]:
        """Keywords of `node.train`: steps of the meta-gradient."""
        loss = augmented_meta_loss if self.augment else meta_loss
        return {**self.amount(), "loss": loss, "given": (self,)}


@api.algorithm(mixes_to_one=True, tasks=("any",), common_parts=("parameters",))
def processes(node: Node, params: Params) -> list[Process]:
    """Rounds of FedAvg with another local step."""
    return api.round_processes(node, params, PerFedAvg(node, params))


class PerFedAvg(api.AveragedModel[Params]):
    """One node: `model` is w, theta while it is trained."""

    def adopt(self, common: api.Mean) -> None:
        w = common.theta
        self.model.replace(w)
        if self.params.adapt:
            step = self.node.gradient(w, "train")
            self.node.publish(self.node.mix([w, step], [1.0, -self.params.alpha]), "mixed")


def meta_loss(model: Any, batch: Batch, learned: dict[str, Tensor], params: Params) -> Tensor:
    """F_i(u; B2), and for HF what makes its gradient by theta the meta-gradient."""
    a, theta = params.alpha, api.parameters_of(model)
    first, second, *third = parts(batch, 3 if params.variant == "hessian_free" else 2)
    start = theta if params.variant == "exact" else theta.detach()
    u = theta - a * api.gradient_at(model, start, first)
    value = loss_at(model, u, second)
    if params.variant == "hessian_free":
        delta = params.delta or DELTA
        h = api.gradient_at(model, u.detach(), second)
        ahead, behind = (loss_at(model, theta + d * h, third[0]) for d in (delta, -delta))
        value = value - a / (2 * delta) * (ahead - behind)
    return value


@api.loss(uniforms=api.CROP_FLIP_DRAWS)
def augmented_meta_loss(model: Any, batch: Batch, *rest: Any) -> Tensor:
    """The same on cropped and mirrored images."""
    return meta_loss(model, replace(batch, x=api.crop_and_flip(batch)), *rest)


def parts(batch: Batch, count: int) -> Iterator[Batch]:
    """A minibatch cut into `count`; parts of fewer than two samples reach into the next ones."""
    n = len(batch.y)
    fewest = min(2, n)
    for k in range(count):
        start = min(k * n // count, n - fewest)
        some = slice(start, max((k + 1) * n // count, start + fewest))
        yield replace(batch, x=batch.x[some], y=batch.y[some])


def loss_at(model: Any, row: Tensor, batch: Batch) -> Tensor:
    """Mean loss of a model with other parameters (P,)."""
    return batch.loss(api.call_at(model, row, batch.x))
