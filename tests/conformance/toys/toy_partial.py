"""A message of which parts may be missing; its receiver sees which, and stops waiting in time."""

from dataclasses import dataclass
from typing import ClassVar

from netsim.api import Message, Node, Params, Process, Ref

from ._seen import saw


@dataclass(frozen=True)
class Patchy(Message):
    theta: Ref
    accepts_partial: ClassVar[bool] = True


def processes(node: Node, params: Params) -> list[Process]:
    return [on_wakeup(node), on_patchy(node)]


def on_wakeup(node: Node) -> Process:
    while True:
        yield node.wakeup()
        yield node.send(node.peers[0], Patchy(node.initial()))


def on_patchy(node: Node) -> Process:
    while True:
        received = yield node.receive(Patchy, timeout_s=0.5)
        saw(node, "patchy", received)
