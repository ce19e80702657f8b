"""DFedSAM: sharpness-aware local steps, then one or more gossip steps with neighbours.

Source: Shi, Shen, Wei, Sun, Yuan, Wang and Tao, "Improving the Model Consistency of Decentralized
Federated Learning", ICML 2023, arXiv:2302.04083, Algorithm 1. From x_i a node takes K steps, each
with the gradient at the worst point near by, on one minibatch:

    g = grad F_i(y),  y <- y - eta grad F_i(y + rho g / ||g||)     (SAM)
    z_i = y_K,  then Q times  z_i <- sum_j W_ij z_j  (Q = 1: DFedSAM, more: DFedSAM-MGS)

Symbols: Q is `gossip_steps`, K `local_steps` or `local_epochs`; W as `dpsgd` says.
Readings: of several gossip steps the second begins when the first is over for all under `rounds`;
where nodes wake by themselves each takes the freshest models of the same gossip step. The second
gradient takes no virtual time of its own: a step costs twice the computing of others.
Departures: none known.

Personalizes: nothing: neighbours' models agree in the end.
Shares: the model, Q times.
Sends: `b * theta + 32` per neighbour and gossip step.
Needs: equal architectures.
Cost a round: `S` steps of two gradients each; a mean per gossip step.
Late or absent peers: the own model takes an absent neighbour's weight; with `absent`, the
neighbour's last model replaces it.
"""

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from netsim import api
from netsim.api import Batch, Node, Process

from .dpsgd import GossipParams, Model, mixing_weights

LEAST_NORM = 1e-12
"""A gradient shorter than that has no direction."""


class Params(GossipParams):
    """Distance at which gradients are taken, number of mixings in a round, and local training.

    Attributes
    ----------
    rho
        rho, distance from the model at which the gradient is taken. Source: Shi et al. 2023; 0.01
        there for CIFAR-10.
    gossip_steps
        Q, number of mixtures in a round. Source: Shi et al. 2023, multiple gossip steps; 1 is
        DFedSAM, 4 its default with MGS.
    """

    rho: api.Positive = 0.01
    gossip_steps: api.Count = 1

    def how(self) -> dict[str, Any]:
        """Keywords of `node.train`: sharpness-aware steps."""
        loss = augmented_sharp_loss if self.augment else sharp_loss
        return {**self.amount(), "loss": loss, "given": (self.rho,)}


@api.algorithm(knows_servers=False, mixes_to_one=True, tasks=("any",), common_parts=("parameters",))
def processes(node: Node, params: Params) -> list[Process]:
    """Algorithm 1, and what listens for late models."""
    inboxes = [api.Inbox(node, Model, params, phase=q) for q in range(params.gossip_steps)]
    return [on_round(node, params, inboxes), *inboxes[0].listeners()]


def on_round(node: Node, params: Params, inboxes: list[api.Inbox]) -> Process:
    """Algorithm 1 for one node."""
    z = node.initial()
    while True:
        yield node.wakeup()
        z = (yield node.train(z, **params.how())).theta
        node.publish(z, "trained")
        for inbox in inboxes:
            heard = yield from inbox.exchange(Model(z, len(node.neighbours)))
            ids, w = mixing_weights(node, params, z, heard)
            z = node.mix([z, *(heard[j].x for j in ids[1:])], w)
        node.publish(z, "mixed")


def sharp_loss(model: Any, batch: Batch, learned: dict[str, Tensor], rho: float) -> Tensor:
    """F_i(y + rho g / ||g||), whose gradient by y, g held fixed, is SAM's."""
    y = api.parameters_of(model)
    g = api.gradient_at(model, y.detach(), batch).detach()
    ahead = rho * g / torch.linalg.vector_norm(g).clamp_min(LEAST_NORM)
    return batch.loss(api.call_at(model, y + ahead, batch.x))


@api.loss(uniforms=api.CROP_FLIP_DRAWS)
def augmented_sharp_loss(model: Any, batch: Batch, *rest: Any) -> Tensor:
    """The same on cropped and mirrored images."""
    return sharp_loss(model, replace(batch, x=api.crop_and_flip(batch)), *rest)
