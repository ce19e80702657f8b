"""pFedSim: FedAvg first, then means of bases weighted by the likeness of classifiers.

Source: Tan, Zhou, Liu, Wang and Zhang, "pFedSim: similarity-aware model aggregation towards
personalized federated learning", 2023, Algorithm 1.
Symbols: s_ij the similarity of the classifiers (part `head`) of nodes i and j, a_ij the weight of
the base (part `backbone`) of j at i.
Departures: no server; similarities are at most 0.9999, where the logarithm ends.
"""

import torch
import torch.nn.functional as F
from torch import Tensor

from netsim.api import AbsenceParams, Count, Inbox, Index, Model, Node, Process, algorithm


class Params(AbsenceParams):
    """Rounds of FedAvg at the beginning (half of all in the paper), and how long training is."""

    general_rounds: Index
    local_steps: Count = 5


@algorithm(knows_servers=False, tasks=("classification",))
def processes(node: Node, params: Params) -> list[Process]:
    """A node's rounds, and listening for models that come late."""
    inbox = Inbox(node, Model, params)
    return [on_round(node, params, inbox), *inbox.listeners()]


def on_round(node: Node, params: Params, inbox: Inbox) -> Process:
    """Algorithm 1: train, send, and take the mean of all models or one's own mean of bases."""
    theta = node.initial()
    num_classes = theta.part("head.bias").num_values
    while True:
        yield node.wakeup()
        theta = (yield node.train(theta, steps=params.local_steps)).theta
        node.publish(theta, "trained")
        models = {**(yield from inbox.exchange(Model(theta))), node.id: Model(theta)}
        ids = sorted(models)
        thetas = [models[j].theta for j in ids]
        if node.round <= params.general_rounds:
            theta = sum(thetas) / len(thetas)
        else:
            heads = [theta_j.part("head.weight") for theta_j in thetas]
            a = node.compute(weights, heads, ids.index(node.id), num_classes)
            node.log_weights(ids, a)
            base = node.mix([theta_j.part("backbone") for theta_j in thetas], a)
            theta = theta.with_part("backbone", base)
        node.publish(theta, "mixed")


def weights(heads: list[Tensor], i: int, num_classes: int) -> Tensor:
    """Of node i, (K,): a_ij in proportion to -ln(1 - s_ij), from K classifiers."""
    rows = torch.stack(heads).view(len(heads), num_classes, -1)
    cosines = F.cosine_similarity(rows[i], rows, dim=2)
    s = cosines.mean(dim=1).clamp(0.0, 0.9999)
    a = -torch.log(1 - s)
    return a / a.sum()
