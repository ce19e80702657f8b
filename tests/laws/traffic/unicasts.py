"""Every node sends messages of its own to one neighbour after the other, some at one instant."""

from dataclasses import dataclass

from netsim import api
from netsim.api import Message, Node, Process


@dataclass(frozen=True)
class Load(Message):
    """Load to send."""

    load: tuple[float, ...]


class Params(api.Params):
    """Amount to send."""

    values: api.Count = 40
    every_s: api.Positive = 0.2


def processes(node: Node, params: Params) -> list[Process]:
    """Sending."""
    return [sending(node, params)]


def sending(node: Node, params: Params) -> Process:
    """Send in turn to the peers; all nodes at once, every second time at a time of their own."""
    number = 0
    while True:
        yield node.sleep(params.every_s)
        if number % 2:
            (when,) = node.uniform("when", 1)
            yield node.sleep(0.1 * params.every_s * when)
        peers = node.peers
        if peers:
            node.send(peers[number % len(peers)], Load((0.0,) * params.values))
        number += 1
