"""SGP: gradient steps, and push-sum in place of averaging, over directed graphs.

Source: Assran, Loizou, Ballas and Rabbat, "Stochastic Gradient Push for Distributed Deep Learning",
ICML 2019, arXiv:1811.10792, Algorithm 1. Node i has x_i, w_i = 1 and z_i = x_i / w_i. In a round

    x_i <- x_i - eta g_i(z_i)                              (lines 3-4)
    x_i <- sum_j p_ij x_j,  w_i <- sum_j p_ij w_j          (lines 5-7)
    z_i <- x_i / w_i                                       (line 8)

with p column-stochastic: a node keeps 1 / (1 + m) and pushes as much to each of m receivers, so
that nobody waits for an answer. `graph = "exponential"` is the paper's one-peer graph; by default
the receivers are drawn at random (its assumptions hold for both).

Readings: as `netsim.protocols.push_sum` says; a step of x by eta is one of z by eta / w. More
steps than one go on at that rate. Where nodes wake by themselves a node adds what has come
before its step and after it: the paper's overlap SGP, with any delay.
Departures: what the link reports as not delivered is taken back by its sender; the paper's links
lose nothing. 1 / w in a step is bounded by `largest_step`, 2 by default, which the paper does not
do: with random receivers and clocks w falls to a hundredth at times. A node that leaves takes its
mass with it.

Personalizes: nothing: all models agree in the end.
Shares: the model and its push-sum weight.
Sends: `b * theta + b` per message, to each of m neighbours at random.
Needs: equal architectures.
Cost a round: `S` steps, one by default; a mean.
Late or absent peers: a node adds late shares when they come, however old, because a share left out
would be lost to all.
"""

from netsim import api
from netsim.api import Node, Process

from .dpsgd import OneStep


class Params(OneStep, api.PlainTraining, api.PushSumParams):
    """Local training, and whom to push to."""


@api.algorithm(knows_servers=False, mixes_to_one=True, common_parts=("parameters",))
def processes(node: Node, params: Params) -> list[Process]:
    """Algorithm 1."""
    return [on_round(node, params)]


def on_round(node: Node, params: Params) -> Process:
    """Algorithm 1 for one node."""
    pushed = api.PushSum(node, params, node.initial())
    while True:
        yield node.wakeup()
        yield from pushed.pull()
        how = params.how() | {"learning_rate": pushed.learning_rate()}
        pushed.z = (yield node.train(pushed.z, **how)).theta
        node.publish(pushed.z, "trained")
        yield from pushed.push()
        node.publish(pushed.z, "mixed")
