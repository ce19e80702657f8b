"""SWIFT: nobody waits: mix with neighbours' models as last received, then apply the own step.

Source: Bornstein, Rabbani, Wang, Bedi and Huang, "SWIFT: Rapid Decentralized Federated Learning via
Wait-Free Model Communication", ICLR 2023, arXiv:2210.14026, Algorithm 1. A client that is active
sends x_i to its neighbours, computes the gradient g at x_i, and in its iterations of the
communication set C_s (every (s + 1)-th: `exchange_every` = s + 1)

    x_i <- sum_j w_ij x_j - eta g,   x_j the model of j that has come last,

in the others x_i <- x_i - eta g.

The paper wants the expected communication matrix symmetric and doubly stochastic for client
influences p: p_i w_ij = p_j w_ji, w_i summing to 1. Assumed, in place of its Algorithm 2 (CCS), in
which neighbours agree on the w_ij by degree, one after another: the closed form

    w_ij = p_j / max(s_i, s_j),  s_i = p_i + the sum of p over the neighbours of i,  w_ii the rest,

which meets both, and is `dpsgd`'s Metropolis-Hastings for equal p. p is each client's share of
all samples (`influence = "sizes"`) or equal; p_j and s_j travel with the models.

Readings: a node sends when its step begins, and mixes what has come by then. Models are sent in
iterations of C_s alone. Until something has come of a neighbour its weight stays with the own
model. Under `rounds` it is D-PSGD with these weights.
Departures: none known but the coefficients.

Personalizes: nothing: neighbours' models agree in the end.
Shares: the model.
Sends: `b * theta + 2 * b` per neighbour.
Needs: equal architectures.
Cost a round: `S` steps, one by default; a mean.
Late or absent peers: the node mixes a neighbour's last model, however old; with `absent = "self"`
the own model takes its weight.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from netsim import api
from netsim.api import Message, Node, Process, Ref

from .dpsgd import GossipParams, OneStep, mixed_and_stepped


class Params(OneStep, GossipParams):
    """Interval between exchanges, and weights of nodes.

    Attributes
    ----------
    absent
        Receiver of the weight of a neighbour that sent nothing new: its last model, or the node's
        own model ("self").
    exchange_every
        s + 1: a node exchanges in every so many of its iterations. Source: Bornstein et al. 2023,
        the communication set C_s.
    influence
        p, a client's influence: by its training samples ("sizes"), or the same for all ("equal").
    """

    absent: Literal["last", "self"] = "last"
    exchange_every: api.Count = 1
    influence: Literal["equal", "sizes"] = "equal"


@dataclass(frozen=True)
class Model(Message):
    """x_j, its client's influence p_j, and s_j, the influence of its neighbourhood."""

    x: Ref
    p: float
    s: float


@api.algorithm(knows_servers=False, mixes_to_one=True, common_parts=("parameters",))
def processes(node: Node, params: Params) -> list[Process]:
    """Algorithm 1, and what listens for late models."""
    inbox = api.Inbox(node, Model, params)
    return [on_iteration(node, params, inbox), *inbox.listeners()]


def on_iteration(node: Node, params: Params, inbox: api.Inbox) -> Process:
    """Algorithm 1 for one client."""
    x, iteration = node.initial(), 0
    p = float(node.train_size) if params.influence == "sizes" else 1.0
    influences = dict.fromkeys(node.neighbours, p)  # until they are heard of
    while True:
        yield node.wakeup()
        stepping = node.train(x, **params.how())
        iteration += 1
        heard: Mapping[int, Model] = {}
        if iteration % params.exchange_every == 0:
            s = p + sum(influences.values())
            heard = yield from inbox.exchange(Model(x, p, s))
            influences |= {j: model.p for j, model in heard.items()}
        stepped = (yield stepping).theta
        s = p + sum(influences.values())
        others = [model.p / max(s, model.s) for model in heard.values()]
        models = [x, *(model.x for model in heard.values())]
        w = api.discounted(node, params, models, [1.0 - sum(others), *others])
        node.log_weights([node.id, *heard], w)
        x = mixed_and_stepped(node, x, stepped, models, w)
        node.publish(x, "mixed")
