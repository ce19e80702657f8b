"""Barrier gossip: train, exchange with every peer, average what came."""

from dataclasses import dataclass

from netsim import api
from netsim.api import Message, Node, Process, Ref

from ._seen import saw


class Params(api.Params):
    """Local steps between two exchanges."""

    local_steps: api.Count = 1


@dataclass(frozen=True)
class Model(Message):
    """A whole model."""

    theta: Ref


def processes(node: Node, params: Params) -> list[Process]:
    """One process a node."""
    return [on_wakeup(node, params)]


def on_wakeup(node: Node, params: Params) -> Process:
    theta = node.initial()
    while True:
        wake = yield node.wakeup()
        theta = (yield node.train(theta, steps=params.local_steps)).theta
        got = yield node.exchange(Model(theta))
        saw(node, "got", (wake.round, got))
        saw(node, "ages", [node.age(r.msg.theta) for r in got.values()])
        models = [theta, *(r.msg.theta for r in got.values())]
        theta = node.mix(models, [1.0 / len(models)] * len(models))
        node.publish(theta, "mixed")
