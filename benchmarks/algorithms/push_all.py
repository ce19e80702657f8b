"""Gossip: at every wake-up a node sends its model to all peers, averages what has come, trains."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from netsim.api import Count, Message, Node, Process, Received, Ref
from netsim.api import Params as Table


class Params(Table):
    """Amount of a node's training between two exchanges.

    Parameters
    ----------
    local_steps : int
        Minibatch steps of one training.
    """

    local_steps: Count = 5


@dataclass(frozen=True)
class Model(Message):
    """A node's model as it is before it averages."""

    theta: Ref


def processes(node: Node, params: Params) -> list[Process]:
    """One process a node."""
    return [on_wakeup(node, params)]


def on_wakeup(node: Node, params: Params) -> Iterator:
    """Send, average, train."""
    theta = node.initial()
    while True:
        yield node.wakeup()
        theta = mean(node, theta, (yield node.exchange(Model(theta))))
        theta = (yield node.train(theta, steps=params.local_steps)).theta
        node.publish(theta, "trained")


def mean(node: Node, theta: Ref, received: Mapping[int, Received]) -> Ref:
    """The plain mean of a model and those that came."""
    thetas = [theta, *(r.msg.theta for r in received.values())]
    return node.mix(thetas, [1 / len(thetas)] * len(thetas))
