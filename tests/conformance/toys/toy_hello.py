"""Toy that broadcasts to the nodes in reach and counts the echoes that come back in time."""

from dataclasses import dataclass

from netsim.api import Message, Node, Params, Process

from ._seen import saw


@dataclass(frozen=True)
class Hello(Message):
    number: int


@dataclass(frozen=True)
class Echo(Message):
    number: int


def processes(node: Node, params: Params) -> list[Process]:
    return [on_wakeup(node), on_hello(node)]


def on_wakeup(node: Node) -> Process:
    while True:
        wake = yield node.wakeup()
        in_reach = yield node.reachable()
        outcomes = yield node.broadcast(Hello(wake.round), to=in_reach)
        echoes = yield node.gather(Echo, in_reach, timeout_s=0.2)
        saw(node, "echoes", (in_reach, outcomes, echoes))


def on_hello(node: Node) -> Process:
    while True:
        hello = yield node.receive(Hello, timeout_s=None)
        yield node.send(hello.sender, Echo(hello.msg.number))
