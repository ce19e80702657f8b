"""CGA, cross-gradient aggregation: step where no neighbour's loss grows, after D-PSGD's mixing.

Source: Esfandiari, Tan, Jiang, Balu, Herron, Hegde and Sarkar, "Cross-gradient aggregation for
decentralized learning from non-IID data", ICML 2021, Algorithm 1 (github
yasesf93/CrossGradientAggregation), as a baseline of L2C.

Symbols: x_i model, pi_ij mixing weights (D-PSGD's, doubly stochastic), g_ij gradient of node j's
loss at x_i, which j computes and sends back, M the rows pi_ij g_ij of neighbours j, beta momentum,
eta the learning rate.

A round: send x_i; compute the gradient at x_i and at each x_j that came; send the latter back. With
g = pi_ii g_ii, find v >= margin that minimises 1/2 v'M M'v + (M g)'v; then g~ = M'v + g has no
negative product with any row of M. x_i <- sum_j pi_ij x_j - eta m, m <- beta m + g~.

`local_steps = 1` is the algorithm. More steps, or L2C's second row with `local_epochs = 5`, take
the change of the local training over -eta for a gradient, at x_i and at each x_j.

Readings and departures:
- g has the factor pi_ii and the rows theirs, as in the code. `margin` is 0 in the paper, 0.5 in the
  code, which projects each parameter tensor by itself (`by_tensor`) and steps by g~ + beta m
  (`nesterov`).
- Each gradient is taken on a minibatch of its own, not all of a round on one.
- Gradients are read off a step of plain SGD: with Adam they are Adam's first step, and weight decay
  counts in them. What `[training] momentum` says has no part in a single step.
- Running statistics of a model stay with its node. Where M or g is not finite, g~ = g.
- A neighbour counts in M if its model and its gradient are at hand. Under schedules without rounds
  these are the freshest, the gradient at an earlier x_i.

Personalizes: nothing: neighbours' models agree in the end.
Shares: the model, and gradients at neighbours' models.
Sends: `b * (theta + P) + 32` per neighbour, in two exchanges.
Needs: equal architectures.
Cost a round: `(1 + d) * S` steps, one after another, which makes a round longer; a quadratic
program in d numbers.
Late or absent peers: a neighbour counts in the projection if its model and its gradient came; if
its model did not come, the own model takes its weight, or (`absent`) its last messages replace the
missing ones.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from scipy.optimize import nnls
from torch import Tensor

from netsim import api
from netsim.api import Message, Node, Process, Ref

from . import dpsgd


class Params(dpsgd.Params):
    """The projection and its momentum.

    Attributes
    ----------
    momentum
        beta, kept share of the last direction. Source: Esfandiari et al. 2021, Algorithm 1.
    nesterov
        Whether a step is by g~ + beta m, as in the code.
    margin
        Least multiplier of a row of M; the paper has 0, the code 0.5.
    by_tensor
        Whether each parameter tensor is projected by itself, as in the code.
    """

    momentum: api.Fraction = 0.9
    nesterov: bool = False
    margin: api.NonNegative = 0.0
    by_tensor: bool = False


@dataclass(frozen=True)
class CrossGradient(Message):
    """g_ij: the gradient of the sender's loss at the receiver's model."""

    g: Ref


@api.algorithm(knows_servers=False, mixes_to_one=True, common_parts=("parameters",))
def processes(node: Node, params: Params) -> list[Process]:
    """Algorithm 1, and what listens for late messages."""
    models = api.Inbox(node, dpsgd.Model, params)
    gradients = api.Inbox(node, CrossGradient, params)
    return [
        on_round(node, params, models, gradients),
        *models.listeners(),
        *gradients.listeners(),
    ]


def on_round(node: Node, params: Params, models: api.Inbox, gradients: api.Inbox) -> Process:
    """Algorithm 1 for one node."""
    x = node.initial()
    m = node.compute(zeros, x.part("parameters"))
    tensors = bounds(x) if params.by_tensor else ((0, m.num_values),)
    while True:
        yield node.wakeup()
        heard = yield from models.exchange(dpsgd.Model(x, len(node.neighbours)))
        eta = node.learning_rate * node.rate_factor
        own = (yield node.train(x, **params.how())).theta
        crossed = {}
        for j, model in heard.items():
            rate = node.learning_rate * node.rate_factor
            theirs = (yield node.train(model.x, **params.how())).theta
            crossed[j] = CrossGradient(gradient(node, model.x, theirs, rate))
        back = yield from gradients.exchange(crossed)
        ids, pi = dpsgd.mixing_weights(node, params, x, heard)
        g = gradient(node, x, own, eta)
        others = [back[j].g for j in ids if j in back]
        rows = [w for j, w in zip(ids, pi, strict=True) if j in back]
        m, step = node.compute(
            projected_step, m, g, others,
            tuple(api.discounted(node, params, [g, *others], [pi[0], *rows])), tensors,
            params.margin, params.momentum, params.nesterov, like=(m, m),
        )  # fmt: skip
        mixed = node.mix([x, *(heard[j].x for j in ids[1:])], pi)
        parameters = node.mix([mixed.part("parameters"), step], [1.0, -eta])
        x = api.with_statistics_of(own, mixed.with_part("parameters", parameters))
        node.publish(x, "mixed")


def gradient(node: Node, before: Ref, after: Ref, eta: float) -> Ref:
    """Direction in which a local training at rate eta stepped, (before - after) / eta: (P,)."""
    rate = 1.0 / eta
    return node.mix([before.part("parameters"), after.part("parameters")], [rate, -rate])


def bounds(x: Ref) -> tuple[tuple[int, int], ...]:
    """Return begin and end of each parameter tensor in a row of parameters."""
    assert x.architecture is not None
    end = x.architecture.num_parameters
    return tuple((s.start, s.stop) for s in x.architecture.slices if s.stop <= end)


def zeros(like: Tensor) -> Tensor:
    """Zeros of the same shape."""
    return torch.zeros_like(like)


def projected_step(
    m: Tensor,
    own: Tensor,
    others: Sequence[Tensor],
    pi: tuple[float, ...],
    tensors: tuple[tuple[int, int], ...],
    margin: float,
    momentum: float,
    nesterov: bool,
) -> tuple[Tensor, Tensor]:
    """The momentum after the step, and what the model steps along.

    Parameters
    ----------
    m : torch.Tensor
        (P,) momentum.
    own : torch.Tensor
        (P,) g_ii.
    others : sequence of torch.Tensor
        (P,) each, g_ij.
    pi : tuple of float
        pi_ii, then pi_ij of the others.
    tensors : tuple of (int, int)
        Ranges of columns that are projected by themselves.
    margin, momentum : float
    nesterov : bool

    Returns
    -------
    m, step : torch.Tensor
        (P,) each.
    """
    g = pi[0] * own
    if others:
        rows = torch.stack([w * other for w, other in zip(pi[1:], others, strict=True)])
        g = torch.cat([projected(g[a:b], rows[:, a:b], margin) for a, b in tensors])
    m = momentum * m + g
    return m, g + momentum * m if nesterov else m


def projected(g: Tensor, rows: Tensor, margin: float) -> Tensor:
    """g~ = M'v + g with v >= margin that minimises 1/2 v'M M'v + (M g)'v: (P,) from M (K, P)."""
    if not (g.isfinite().all() and rows.isfinite().all()):
        return g
    start = g + margin * rows.sum(0)  # at v = margin; what is added to v is u >= 0
    q, r = torch.linalg.qr(rows.T)  # ||M'u + start|| differs from ||r u + q' start|| by a constant
    u = nonnegative(r, -(q.T @ start))
    return start + rows.T @ torch.from_numpy(u).to(g)


def nonnegative(a: Any, b: Any) -> npt.NDArray[np.float64]:
    """The u >= 0 that minimises ||a u - b||: (K,)."""
    u: npt.NDArray[np.float64] = nnls(a.double().cpu().numpy(), b.double().cpu().numpy())[0]
    return u
