"""Every node but the last sends to the last, one message after the other, without a pause."""

from dataclasses import dataclass

from netsim.api import Message, Node, Process
from netsim.api import Params as Base


class Params(Base):
    """Nothing to choose."""


@dataclass(frozen=True)
class Push(Message):
    """As large as the link's control messages."""


def processes(node: Node, params: Params) -> list[Process]:
    """One process a sender."""
    return [run(node)]


def run(node: Node) -> Process:
    """Send for ever."""
    yield node.wakeup()
    sink = node.num_nodes - 1
    while node.id != sink:
        yield node.send(sink, Push())
    while True:
        yield node.sleep(1000.0)
