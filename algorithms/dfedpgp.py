"""DFedPGP: a personal head, and a base that is pushed to random receivers by push-sum.

Source: Liu, Shi, Li, Wu, Wang and Shen, "Decentralized Directed Collaboration for Personalized
Federated Learning", CVPR 2024, arXiv:2405.17876, Algorithm 1. Node i has a base u_i with its
push-sum weight mu_i and z_i = u_i / mu_i, and a head v_i. In a round

    v_i <- K_v steps of SGD at (z_i, v_i), z_i held fixed
    u_i <- K_u steps, u_i - eta grad_u F_i(z_i, v_i), z_i = u_i / mu_i after each, v_i held fixed
    u_i <- sum_j p_ij u_j,  mu_i <- sum_j p_ij mu_j,  z_i <- u_i / mu_i

Symbols: K_v is `head_steps` or `head_epochs`, K_u `local_steps` or `local_epochs`.
Readings: push-sum as `netsim.protocols.push_sum` says; a step of u by eta is one of z by eta / mu.
Running statistics of the base's layers stay with the node.
Departures: those of `sgp` about lost shares. Assumed: receivers are drawn anew in each round,
`receivers` of them; heads and bases have one learning rate.

Personalizes: the head.
Shares: the base and its push-sum weight.
Sends: `b * base + b` per message, to each of m neighbours at random.
Needs: equal architectures; a model of base and head.
Cost a round: `S + H` steps, H those of the head; a mean.
Late or absent peers: a node adds late shares when they come, however old, because a share left out
would be lost to all.
"""

from netsim import api
from netsim.api import Node, Process

from .fedrep import HeadTraining


class Params(HeadTraining, api.PushSumParams):
    """K_v, K_u, and whom to push to."""


@api.algorithm(
    knows_servers=False,
    mixes_to_one=True,
    tasks=("any",),
    needs_parts=("head",),
    common_parts=("backbone",),
)
def processes(node: Node, params: Params) -> list[Process]:
    """Algorithm 1."""
    return [on_round(node, params)]


def on_round(node: Node, params: Params) -> Process:
    """Algorithm 1 for one node: `theta` is (z_i, v_i)."""
    theta = node.initial()
    base = api.PushSum(node, params, theta.part("backbone"))
    while True:
        yield node.wakeup()
        yield from base.pull()
        theta = theta.with_part("backbone", base.z)
        headed = yield node.train(theta, **params.how_part("head"))
        rate, how = base.learning_rate(), params.how_part("backbone")
        theta = (yield node.train(headed.theta, **how, learning_rate=rate)).theta
        node.publish(theta, "trained")
        base.z = theta.part("backbone")
        yield from base.push()
        theta = theta.with_part("backbone", base.z)
        node.publish(theta, "mixed")
