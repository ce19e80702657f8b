"""Push: at every wake-up a node sends a message to each of its neighbours; nobody learns.

The message carries nothing, so its size is the link's `control_bits`: networks of any message size
without a tensor.
"""

from dataclasses import dataclass

from netsim.api import Message, Node, Process
from netsim.api import Params as Base


class Params(Base):
    """Nothing to choose."""


@dataclass(frozen=True)
class Push(Message):
    """As large as the link's control messages."""


def processes(node: Node, params: Params) -> list[Process]:
    """One process a node."""
    return [on_wakeup(node)]


def on_wakeup(node: Node) -> Process:
    """Send to all neighbours."""
    while True:
        yield node.wakeup()
        yield node.exchange(Push())
