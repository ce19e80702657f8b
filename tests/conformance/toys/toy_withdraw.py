"""Every node sends the same news to all several times over, and withdraws what still waits."""

from dataclasses import dataclass

from netsim.api import Message, Node, Params, Process, Ref

from ._seen import saw


@dataclass(frozen=True)
class News(Message):
    theta: Ref


def processes(node: Node, params: Params) -> list[Process]:
    return [on_wakeup(node), on_news(node)]


def on_wakeup(node: Node) -> Process:
    while True:
        yield node.wakeup()
        theta = (yield node.train(node.initial(), steps=1)).theta
        sent = [node.send(j, News(theta)) for j in node.peers for _ in range(3)]
        yield node.sleep(1e-6)  # what is sent begins, as far as radios are free
        saw(node, "withdrawn", node.withdraw(News))
        for ended in sent:
            saw(node, "sent", (yield ended))
        node.publish(theta, "trained")


def on_news(node: Node) -> Process:
    while True:
        yield node.receive(News, timeout_s=None)
