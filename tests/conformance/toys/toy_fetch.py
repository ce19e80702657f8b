"""Fetch the models of the peers in reach, keep the one with the least loss on own data."""

from dataclasses import dataclass

from netsim.api import Message, Node, Params, Process, Ref

from ._seen import saw


@dataclass(frozen=True)
class Fetch(Message):
    """Send me your model."""


@dataclass(frozen=True)
class Model(Message):
    theta: Ref


def processes(node: Node, params: Params) -> list[Process]:
    held = node.hold(node.initial())
    node.serve(Fetch, lambda _: Model(held.theta))
    return [on_wakeup(node, held)]


def on_wakeup(node: Node, held) -> Process:
    while True:
        yield node.wakeup()
        yield held.train(steps=1)
        in_reach = yield node.reachable()
        timeout_s = min(0.2, node.patience_s(in_reach))
        got = yield node.ask(in_reach, Fetch(), Model, timeout_s, tries=2)
        if not got:
            node.warn("no answer", "got no answer")
        models = {node.id: held.theta} | {j: r.msg.theta for j, r in got.items()}
        lazy = {j: node.loss(theta) for j, theta in models.items()}
        losses = yield node.value(lazy, default=dict.fromkeys(models, 0.0))
        best = min(losses, key=losses.__getitem__)
        saw(node, "chose", (in_reach, sorted(got), losses, best))
        held.replace(models[best])
        node.log_weights([best], [1.0])
        node.publish(held.theta, "chosen")
