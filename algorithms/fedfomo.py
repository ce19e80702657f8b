"""FedFomo: weigh each model downloaded by how much it lowers the own validation loss.

Source: Zhang, Sapra, Fidler, Yeung and Alvarez, "Personalized federated learning with first order
model optimization", ICLR 2021, Eqs. (3) to (5), and its code (github NVlabs/FedFomo).

Symbols: theta_i^prev the model that node i began the round with, theta_j trained models, i's own
included, L_i validation loss of node i, M downloads a round, P_ij preference of i for j.

w_j = max(0, (L_i(theta_i^prev) - L_i(theta_j)) / ||theta_j - theta_i^prev||), divided by their sum;
theta_i <- theta_i^prev + sum_j w_j (theta_j - theta_i^prev). P_ij starts at 0 and grows by the
quotients before they are cut off at 0, divided by their |sum|. Each of the M is the most preferred
peer left or, with probability `epsilon` less `epsilon_decay` for each round before, a random one.

Readings and departures:
- Models go from peer to peer: the paper's server only hands them on. With `downloads` = M < all
  a node first tells its peers whether it wants theirs (one bit each); without, it gets all.
- The own trained model always is among the candidates and is not counted, as in the code.
- Where no model lowers the loss, theta_i = theta_i^prev, as the equation has it: the local training
  of that round is dropped.
- The norm is L2 over parameters; the code's default is L1 (`norm`).
- With `sampled` those who train in a round are among themselves; the others do nothing.
- Under schedules without rounds a peer's last word on whether it wants models stands.

Personalizes: the whole model.
Shares: whole models, on request.
Sends: `b * theta` to each neighbour that asks for it; with `downloads` 1 bit more to each
neighbour.
Needs: equal architectures; validation samples.
Cost a round: `S` steps, 2 + d losses over the validation samples, a mean.
Late or absent peers: weights are over the models that came; with `absent`, a peer's last model
replaces a missing one. Without rounds, a node still answers a request that comes late.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from netsim import api
from netsim.api import Message, Node, Process

FAR = 1e30
"""Loss of a model that has diverged."""


class Params(api.PlainTraining, api.AbsenceParams, api.SamplingParams):
    """M, how often to explore, and the norm of a change of the model.

    Attributes
    ----------
    downloads
        M, models that a node asks for in a round. Absent: all.
    epsilon
        Probability, in the first round, with which a download is that of a random peer.
    epsilon_decay
        Amount by which that probability falls each round, down to 0.
    norm
        Norm of a change of the model; the paper has L2, the code L1. Source: Zhang et al. 2021, Eq.
        (4).
    absent
        Substitute for a peer that is not heard: nothing, or its last model ("last").
    """

    downloads: api.Count | None = None
    epsilon: api.Fraction = 0.3
    epsilon_decay: api.NonNegative = 0.05
    norm: Literal["l1", "l2"] = "l2"
    absent: Literal["renormalise", "last"] = "renormalise"


@dataclass(frozen=True)
class Wish(Message):
    """Answer to a peer: send me your model, or do not."""

    wanted: bool


@api.algorithm(
    knows_servers=False, mixes_to_one=True, needs_validation=True, common_parts=("parameters",)
)
def processes(node: Node, params: Params) -> list[Process]:
    """The round, and what listens for late messages."""
    inbox = api.Inbox(node, api.Model, params)
    return [on_round(node, params, inbox), *inbox.listeners(), api.drop_late(node, Wish)]


def on_round(node: Node, params: Params, inbox: api.Inbox) -> Process:
    """Train, choose, download, weigh."""
    theta = node.initial()
    preference = dict.fromkeys(node.neighbours, 0.0)
    sampling = api.Sampling(node, params)
    rounds = 0
    while True:
        yield node.wakeup()
        if not sampling.takes_part(node.id):
            continue
        peers = [j for j in node.neighbours if sampling.takes_part(j)]
        wanted = takers = peers
        chooses = params.downloads is not None and params.downloads < len(peers)
        previous = theta
        trained = (yield node.train(previous, **params.how())).theta
        node.publish(trained, "trained")
        if chooses:
            wanted = choose(node, params, peers, preference, rounds)
            wishes = yield node.exchange(
                {j: Wish(j in wanted) for j in peers}, expect=peers, max_age_s=math.inf
            )
            takers = [j for j, wish in wishes.items() if wish.msg.wanted]
        heard = yield from inbox.exchange(api.Model(trained), to=takers, expect=wanted)
        ids = [node.id, *sorted(heard)]
        thetas = [trained, *(heard[j].theta for j in ids[1:])]
        losses = [node.loss(t, "validation") for t in (previous, *thetas)]
        parameters = [t.part("parameters") for t in (previous, *thetas)]
        quotients = node.compute(gains_over_distances, losses, parameters, params.norm)  # Eq. (4)
        w = node.compute(shares, quotients)
        w = api.discounted(node, params, [previous, *thetas], w)  # what is lost stays at theta^prev
        theta = node.mix([previous, *thetas], w)  # Eq. (3)
        node.publish(theta, "mixed")
        node.log_weights(ids, node.compute(own_and_peers, w))
        if chooses:
            growth = node.compute(normalised, quotients)
            numbers = yield node.value(growth, default=[0.0] * len(ids))
            for j, number in zip(ids[1:], numbers[1:], strict=True):
                preference[j] += float(number)
        rounds += 1


def choose(
    node: Node, params: Params, peers: list[int], preference: dict[int, float], rounds: int
) -> list[int]:
    """The M peers whose models to download, ascending; ties at random.

    Parameters
    ----------
    node : Node
    params : Params
    peers : list of int
        Whom to choose from.
    preference : dict of int to float
        P_ij by j.
    rounds : int
        How many are over.
    """
    explores = params.epsilon - rounds * params.epsilon_decay
    at_random = node.permutation("explore", peers)
    ties = node.permutation("ties", peers)
    ranked = sorted(ties, key=preference.__getitem__, reverse=True)
    chosen: list[int] = []
    for coin in node.uniform("coin", params.downloads or 0):
        order = at_random if coin < explores else ranked
        chosen.append(next(j for j in order if j not in chosen))
    return sorted(chosen)


def gains_over_distances(
    losses: Sequence[Tensor], parameters: Sequence[Tensor], norm: Literal["l1", "l2"]
) -> Tensor:
    """(L(theta^prev) - L(theta_j)) / ||theta_j - theta^prev|| of m models: (m,).

    `losses` are scalars and `parameters` rows (P,), those of theta^prev first.
    """
    loss = torch.stack(list(losses)).nan_to_num(nan=FAR, posinf=FAR)
    changes = torch.stack(list(parameters[1:])) - parameters[0]
    length: Tensor = torch.linalg.vector_norm(changes, ord=int(norm[1]), dim=1)
    quotients = (loss[0] - loss[1:]) / length.clamp(min=torch.finfo(length.dtype).tiny)
    return quotients.nan_to_num(nan=0.0, posinf=FAR, neginf=-FAR)


@api.batched
def shares(quotients: Tensor) -> Tensor:
    """Return the weights of theta^prev and each theta_j: (1 + m,), from w and w_j of Eq. (4)."""
    positive = quotients.clamp(min=0)
    total = positive.sum()
    w = positive / total.clamp(min=torch.finfo(total.dtype).tiny)
    return torch.cat([(total <= 0).to(w)[None], w])


@api.batched
def own_and_peers(w: Tensor) -> Tensor:
    """The weights to show: the node's own are theta^prev's and its trained model's."""
    return torch.cat([w[:1] + w[1:2], w[2:]])


@api.batched
def normalised(quotients: Tensor) -> Tensor:
    """The quotients over their |sum|: what preferences grow by."""
    total = quotients.sum().abs()
    return quotients / torch.where(total < 1e-9, total + 1e-9, total)
