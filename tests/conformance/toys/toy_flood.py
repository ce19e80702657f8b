"""All to all: at every wake-up a message to every other node at once, and a report on each."""

from dataclasses import dataclass

from netsim.api import Message, Node, Params, Process, Ref

from ._seen import saw


@dataclass(frozen=True)
class Flood(Message):
    theta: Ref
    number: int


def processes(node: Node, params: Params) -> list[Process]:
    return [on_wakeup(node), on_flood(node)]


def on_wakeup(node: Node) -> Process:
    while True:
        wake = yield node.wakeup()
        sends = {j: node.send(j, Flood(node.initial(), wake.round)) for j in node.peers}
        for j, sent in sends.items():
            outcome = yield sent
            saw(node, "outcome", (wake.round, j, outcome))


def on_flood(node: Node) -> Process:
    while True:
        received = yield node.receive(Flood, timeout_s=None)
        saw(node, "flood", (received.msg.number, received.sender))
