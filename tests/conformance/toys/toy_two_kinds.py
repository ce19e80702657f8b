"""Two kinds of message and directed exchange: sizes to all, then models to the two largest."""

from dataclasses import dataclass

from netsim.api import Message, Node, Params, Process, Ref

from ._seen import saw


@dataclass(frozen=True)
class Size(Message):
    samples: int


@dataclass(frozen=True)
class Model(Message):
    theta: Ref


def processes(node: Node, params: Params) -> list[Process]:
    return [on_wakeup(node), on_late(node)]


def on_wakeup(node: Node) -> Process:
    theta = node.initial()
    while True:
        yield node.wakeup()
        sizes = yield node.exchange(Size(node.train_size))
        chosen = sorted(sizes, key=lambda j: (-sizes[j].msg.samples, j))[:2]
        saw(node, "chosen", chosen)
        got = yield node.exchange(dict.fromkeys(chosen, Model(theta)), kind=Model)
        saw(node, "got", sorted(got))
        models = [theta, *(r.msg.theta for r in got.values())]
        theta = node.mix(models, [1.0 / len(models)] * len(models))
        node.publish(theta, "mixed")


def on_late(node: Node) -> Process:
    while True:
        late = yield node.receive(Model, timeout_s=None)
        saw(node, "late", late)
