"""D-PSGD: mix models with neighbours, then apply the step taken at the unmixed model.

Source: Lian, Zhang, Zhang, Hsieh, Zhang and Liu 2017, Algorithm 1:
x_i <- sum_j W_ij x_j - eta grad F_i(x_i), the gradient at x_i before mixing.

W is symmetric and doubly stochastic: W_ij = 1 / (1 + max(d_i, d_j)) for neighbours of degrees d_i
and d_j, W_ii = 1 - sum of the others (Metropolis-Hastings weights, Xiao and Boyd 2004): 1/N over a
complete topology. Degrees travel with the models. What an absent neighbour would get stays with the
node's own model (`self`), or its last model stands in (`last`).

`local_steps = 1` is the algorithm; more steps, or L2C's 5 epochs, apply the whole change of the
local training. A node sends x_i when its round begins and trains meanwhile (lines 3 to 5 run in
parallel there); under schedules without rounds it mixes the freshest models that it has.
Running statistics of a model stay with its node.
Departures: none known; with momentum or Adam the step is that optimizer's, started afresh a round.

Personalizes: nothing: neighbours' models agree in the end.
Shares: the model.
Sends: `b * theta + 32` per neighbour.
Needs: equal architectures.
Cost a round: `S` steps, one by default; a mean.
Late or absent peers: the own model takes an absent neighbour's weight; with `absent`, the
neighbour's last model replaces it. Models of earlier wake-ups count like others.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from netsim import api
from netsim.api import Message, Node, Process, Ref


class GossipParams(api.PlainTraining, api.AbsenceParams):
    """Local training, and what an absent neighbour means.

    Attributes
    ----------
    absent
        Model that takes the weight of a neighbour that is not heard: the node's own, or the
        neighbour's last one ("last").
    """

    absent: Literal["self", "last"] = "self"


@dataclass(frozen=True)
class Model(Message):
    """x_j, and how many neighbours j has."""

    x: Ref
    degree: int


class OneStep(api.LocalTraining):
    """One minibatch step a round, unless steps or epochs are given.

    Attributes
    ----------
    local_epochs
        Passes over a node's training samples in a round. Absent: none; `local_steps` says how long.
    local_steps
        Local steps of a round, in place of passes. Absent: 1, unless `local_epochs` is given.
    """

    def amount(self) -> dict[str, int]:
        """As `node.train` takes it."""
        return super().amount() if self.local_epochs or self.local_steps else {"steps": 1}


class Params(OneStep, GossipParams):
    """One minibatch step a round, unless steps or epochs are given."""


@api.algorithm(knows_servers=False, mixes_to_one=True, common_parts=("parameters",))
def processes(node: Node, params: Params) -> list[Process]:
    """Algorithm 1, and what listens for late models."""
    inbox = api.Inbox(node, Model, params)
    return [on_round(node, params, inbox), *inbox.listeners()]


def on_round(node: Node, params: Params, inbox: api.Inbox) -> Process:
    """Algorithm 1 for one node."""
    x = node.initial()
    while True:
        yield node.wakeup()
        stepping = node.train(x, **params.how())  # lines 3-4
        heard = yield from inbox.exchange(Model(x, len(node.neighbours)))
        stepped = (yield stepping).theta
        ids, w = mixing_weights(node, params, x, heard)
        models = [x, *(heard[j].x for j in ids[1:])]
        x = mixed_and_stepped(node, x, stepped, models, w)  # lines 5-6
        node.publish(x, "mixed")


def mixed_and_stepped(
    node: Node, x: Ref, stepped: Ref, models: Sequence[Ref], w: Sequence[float]
) -> Ref:
    """sum_j W_ij x_j, and the step that was taken from x; running statistics are the step's."""
    mixed = node.mix([stepped, x, *models], [1.0, -1.0, *w])
    return api.with_statistics_of(stepped, mixed)


def mixing_weights(
    node: Node, params: GossipParams, x: Ref, heard: Mapping[int, Model]
) -> tuple[list[int], Sequence[float]]:
    """Ids, the node's own (model x) first, and their W_ij, discounted by age; logged."""
    degree = len(node.neighbours)
    ids = sorted(heard)
    others = [1.0 / (1 + max(degree, heard[j].degree)) for j in ids]
    models = [x, *(heard[j].x for j in ids)]
    w = api.discounted(node, params, models, [1.0 - sum(others), *others])
    node.log_weights([node.id, *ids], w)
    return [node.id, *ids], w
