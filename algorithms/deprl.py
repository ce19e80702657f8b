"""DePRL: a personal head by several steps, a shared representation by one and a mean of neighbours.

Source: Xiong, Yan, Wang and Li, "DePRL: Achieving Linear Convergence Speedup in Personalized
Decentralized Learning with Shared Representations", AAAI 2024, arXiv:2312.10815, Algorithm 1. In
round k worker i has the representation phi_i and the head theta_i:

    theta_i <- tau steps of SGD, theta_i - alpha grad_theta F_i(phi_i, theta_i), phi_i held fixed
    phi_i <- phi_i - beta grad_phi F_i(phi_i, theta_i), theta_i held fixed
    phi_i <- sum_j P_ij phi_j

Symbols: tau is `head_steps` or `head_epochs`, alpha the learning rate, beta
`base_learning_rate`. P as W of `dpsgd`: symmetric and doubly stochastic.
Readings: running statistics of layers stay with the node. `local_steps` more than one repeat the
step of phi.
Departures: none known.

Personalizes: the head.
Shares: the base.
Sends: `b * base + 32` per neighbour.
Needs: equal architectures; a model of base and head.
Cost a round: `S + H` steps, H those of the head, S one by default; a mean.
Late or absent peers: the own base takes an absent neighbour's weight; with `absent`, the
neighbour's last base replaces it. Bases of earlier wake-ups count like others.
"""

from dataclasses import dataclass

from netsim import api
from netsim.api import Node, Process

from .dpsgd import GossipParams, Model, OneStep, mixing_weights
from .fedrep import HeadTraining


class Params(OneStep, HeadTraining, GossipParams):
    """tau and beta; one step of the representation, unless more are given.

    Attributes
    ----------
    base_learning_rate
        beta, learning rate of the representation. Absent: that of the head.
    """

    base_learning_rate: api.Positive | None = None


@dataclass(frozen=True)
class Base(Model):
    """phi_j as `x`, and how many neighbours j has."""


@api.algorithm(
    knows_servers=False,
    mixes_to_one=True,
    tasks=("any",),
    needs_parts=("head",),
    common_parts=("backbone",),
)
def processes(node: Node, params: Params) -> list[Process]:
    """Algorithm 1, and what listens for late bases."""
    inbox = api.Inbox(node, Base, params)
    return [on_round(node, params, inbox), *inbox.listeners()]


def on_round(node: Node, params: Params, inbox: api.Inbox) -> Process:
    """Algorithm 1 for one worker: `theta` is (phi_i, theta_i)."""
    theta, beta = node.initial(), params.base_learning_rate
    while True:
        yield node.wakeup()
        headed = yield node.train(theta, **params.how_part("head"))
        how = params.how_part("backbone")
        theta = (yield node.train(headed.theta, **how, learning_rate=beta)).theta
        node.publish(theta, "trained")
        phi = theta.part("backbone")
        heard = yield from inbox.exchange(Base(phi, len(node.neighbours)))
        ids, p = mixing_weights(node, params, phi, heard)
        theta = theta.with_part("backbone", node.mix([phi, *(heard[j].x for j in ids[1:])], p))
        node.publish(theta, "mixed")
