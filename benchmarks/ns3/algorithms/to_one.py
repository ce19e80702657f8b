"""At every wake-up a node sends one message to one receiver."""

from dataclasses import dataclass

from netsim.api import Message, Node, Process
from netsim.api import Params as Base


class Params(Base):
    """`to`: the receiver, counted from the last if negative; nothing is sent after `until_s`."""

    to: int = -1
    until_s: float = 1e12


@dataclass(frozen=True)
class Push(Message):
    """As large as the link's control messages."""


def processes(node: Node, params: Params) -> list[Process]:
    """One process a node."""
    return [run(node, params)]


def run(node: Node, params: Params) -> Process:
    """Send at every wake-up."""
    to = params.to % node.num_nodes
    while True:
        yield node.wakeup()
        if node.id != to and node.now_s < params.until_s:
            node.send(to, Push())
