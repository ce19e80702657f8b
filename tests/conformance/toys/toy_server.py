"""A server, which is nothing but `serve` with a role; clients pull, train and push."""

from dataclasses import dataclass

from netsim import api
from netsim.api import Message, Node, Params, Process, Ref

from ._seen import saw


@dataclass(frozen=True)
class Pull(Message):
    """Send me the model."""


@dataclass(frozen=True)
class Taken(Message):
    """Your update is in."""


@dataclass(frozen=True)
class Model(Message):
    theta: Ref
    samples: api.Index = 0


def processes(node: Node, params: Params) -> list[Process]:
    if node.role != "server":
        return [on_wakeup(node)]
    held = node.hold(node.initial())

    def on_push(received: api.Received[Model]) -> Message:
        saw(node, "update", (received.sender, received.msg.samples))
        held.replace(node.mix([held.theta, received.msg.theta], [0.5, 0.5]))
        return Taken()

    node.serve(Pull, lambda _: Model(held.theta))
    node.serve(Model, on_push)
    return []


def on_wakeup(node: Node) -> Process:
    while True:
        yield node.wakeup()
        answers = yield node.ask(node.servers, Pull(), Model, timeout_s=0.2, tries=3)
        for answer in answers.values():
            theta = (yield node.train(answer.msg.theta, steps=1)).theta
            node.publish(theta, "trained")
            taken = yield node.ask(
                node.servers, Model(theta, node.train_size), Taken, timeout_s=0.2
            )
            saw(node, "pushed", bool(taken))
