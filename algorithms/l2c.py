"""L2C, learning to collaborate: mixing weights learned by the gradient of the validation loss.

Source: Li, Zhou, Tian, Tao, "Learning to collaborate in decentralized learning of personalized
models", CVPR 2022, Algorithm 1 and Eq. (2).

Symbols: theta_i model (P,), Delta_j = theta_j^t - theta_j^{t+1/2} the update of node j by its local
steps, N(i) neighbours, alpha_i mixing logits, one a member of {i} u N(i), w_i = softmax(alpha_i),
K nodes, T_0 the round after which K_0 neighbours are removed.

Readings and departures:
- Eq. (2) has the own update in full in its first line, weighted by w_ii in its second; they agree
  only if w_ii = 1. Line 16 sums over N(i) alone. Taken: sum and softmax over {i} u N(i).
- The letter alpha also names a learning rate there; here `mixing_learning_rate`.
- alpha_i starts at zero (uniform weights). One Adam step a round on the whole validation set;
  `mixing_steps` takes more, each at the model that the weights of that moment would have given.
- Rounds are counted from 1, a node's own where nodes wake by themselves. N(i) is ranked by w_i as
  it was in round T_0, over the full set: a peer that was absent then by the logit it has. The
  paper's K_0 = 90 of 99 leaves `kept_peers` = 9. Logits and Adam's moments of the others stay.
- The weights logged are those over the full set, too: what has been learned, not who was heard.
- A common initial model (averaging needs it). The model of a node is theta^{t+1}, stage `mixed`.
- Running statistics of a model stay with its node.
- Absent and late peers: see `_circle`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from algorithms._circle import (
    Circle,
    CircleParams,
    Heard,
    adam_step,
    listeners,
    stepped,
    zeros_like_first,
)
from netsim.api import Finite, Message, Node, Process, Ref, batched

KNOWS_SERVERS = False


class Params(CircleParams):
    """`first_logit` is where alpha starts; without weight decay it changes nothing."""

    first_logit: Finite = 0.0


@dataclass(frozen=True)
class Update(Message):
    """Delta_j."""

    delta: Ref


def processes(node: Node, params: Params) -> list[Process]:
    """The round, and who listens for what comes beside it."""
    circle = Circle.of(node, params)
    return [on_round(node, params, circle), *listeners(circle, Update)]


def on_round(node: Node, params: Params, circle: Circle) -> Process:
    """Algorithm 1 for one node."""
    theta = node.initial()
    everyone = [node.id, *circle.members]  # whose logits alpha holds, the node itself first
    alpha = node.compute(first_logits, theta, len(everyone), params.first_logit)
    adam = node.compute(zeros_like_first, theta, 3, len(everyone))
    while True:
        yield node.wakeup()
        circle.rounds += 1
        half = (yield node.train(theta, epochs=params.local_epochs)).theta  # S local steps
        node.publish(half, "trained")
        delta = node.mix([theta, half], [1.0, -1.0])
        heard = yield from circle.swap(Update(delta))
        weights = node.compute(mixing_weights, alpha)  # over the full set, who was heard or not
        node.log_weights(everyone, weights)
        theta, alpha, adam = mix_and_learn(node, params, heard, everyone, theta, half, alpha, adam)
        node.publish(theta, "mixed")
        if circle.is_to_shrink():  # the end of round T_0
            ranking = yield node.value(weights, default=[0.0] * len(everyone))
            circle.shrink(ranking[1:])
            places = tuple(everyone.index(j) for j in (node.id, *circle.members))
            alpha, adam = node.compute(only, alpha, adam, places)
            everyone = [node.id, *circle.members]


def mix_and_learn(
    node: Node,
    params: Params,
    heard: Heard,
    everyone: list[int],
    theta: Ref,
    half: Ref,
    alpha: Ref,
    adam: Ref,
) -> tuple[Ref, Ref, Ref]:
    """theta^{t+1}, and alpha with Adam's state after its steps."""
    places = tuple(everyone.index(j) for j in heard.ids)
    deltas = [update.delta for update in heard.updates]
    results = []
    for _ in range(params.mixing_steps):
        w = node.compute(weights_of, alpha, places)
        mixed = stepped(node, theta, half, deltas, w)  # line 16, Eq. (2)
        results.append(mixed)
        g = node.gradient(mixed, "validation")
        alpha, adam = node.compute(
            logit_step, alpha, adam, w, g, deltas, places, heard.learns,
            params.mixing_learning_rate, params.mixing_weight_decay, like=(alpha, adam),
        )  # fmt: skip
    return results[0], alpha, adam


def first_logits(theta: Tensor, count: int, value: float) -> Tensor:
    """Alpha at the start: (count,), in the models' precision."""
    return theta.new_full((count,), value)


@batched
def mixing_weights(logits: Tensor) -> Tensor:
    """w_i = softmax(alpha_i): (K,) -> (K,), the node itself first."""
    return torch.softmax(logits, dim=0)


@batched
def weights_of(alpha: Tensor, places: tuple[int, ...]) -> Tensor:
    """w_i over the members that are mixed in this round."""
    return mixing_weights(alpha[list(places)])


def aggregate(theta: Tensor, deltas: Tensor, w: Tensor) -> Tensor:
    """theta_i^{t+1} = theta_i^t - sum_{j in {i} u N(i)} w_ij Delta_j, Eq. (2).

    Parameters
    ----------
    theta : torch.Tensor
        (P,)
    deltas : torch.Tensor
        (K, P), the node's own first.
    w : torch.Tensor
        (K,)

    Returns
    -------
    torch.Tensor
        (P,)
    """
    return theta - w @ deltas


def logit_gradient(w: Tensor, grad_theta: Tensor, deltas: Tensor | Sequence[Tensor]) -> Tensor:
    """Gradient of the validation loss in alpha_i, through softmax and Eq. (2).

    dL/dw_j = -<g, Delta_j> = q_j with g = dL/dtheta at theta_i^{t+1}, and dw_j/dalpha_m =
    w_j (1[j = m] - w_m), so dL/dalpha_m = w_m (q_m - sum_j w_j q_j).

    Parameters
    ----------
    w : torch.Tensor
        (K,)
    grad_theta : torch.Tensor
        (P,) g.
    deltas : torch.Tensor
        (K, P), or K rows (P,).

    Returns
    -------
    torch.Tensor
        (K,)
    """
    q = torch.stack([-torch.dot(grad_theta, delta) for delta in deltas])
    return w * (q - torch.dot(w, q))


def logit_step(
    alpha: Tensor,
    adam: Tensor,
    w: Tensor,
    grad_theta: Tensor,
    deltas: Sequence[Tensor],
    places: tuple[int, ...],
    learns: tuple[bool, ...],
    learning_rate: float,
    weight_decay: float,
) -> tuple[Tensor, Tensor]:
    """One Adam step on the logits of those who sent an update; all others stay as they are."""
    heard = [k for k, own in enumerate(learns) if own]
    at = [places[k] for k in heard]
    g = logit_gradient(w, grad_theta, deltas)[heard]
    alpha, adam = alpha.clone(), adam.clone()
    alpha[at], adam[:, at] = adam_step(alpha[at], g, adam[:, at], learning_rate, weight_decay)
    return alpha, adam


def only(alpha: Tensor, adam: Tensor, places: tuple[int, ...]) -> tuple[Tensor, Tensor]:
    """Logits and Adam's state of the members that remain."""
    return alpha[list(places)], adam[:, list(places)]
