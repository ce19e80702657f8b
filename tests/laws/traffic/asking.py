"""Every node asks its peers, all at one instant, and waits for what they answer."""

from dataclasses import dataclass

from netsim.api import Message, Node, Process

from .unicasts import Load, Params


@dataclass(frozen=True)
class Ask(Message):
    """A request."""


def processes(node: Node, params: Params) -> list[Process]:
    """Serving, and asking."""
    node.serve(Ask, lambda _: Load((0.0,) * params.values))
    return [asking(node, params)]


def asking(node: Node, params: Params) -> Process:
    """Ask all peers, again and again."""
    while True:
        yield node.sleep(params.every_s)
        if node.peers:
            yield node.ask(node.peers, Ask(), Load, timeout_s=params.every_s, tries=2)
