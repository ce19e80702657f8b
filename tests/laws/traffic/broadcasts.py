"""Every node sends broadcasts to all its peers, some at one instant."""

from netsim.api import Node, Process

from .unicasts import Load, Params


def processes(node: Node, params: Params) -> list[Process]:
    """Sending."""
    return [sending(node, params)]


def sending(node: Node, params: Params) -> Process:
    """Send to all peers; all nodes at once, every second time at a time of their own."""
    number = 0
    while True:
        yield node.sleep(params.every_s)
        if number % 2:
            (when,) = node.uniform("when", 1)
            yield node.sleep(0.1 * params.every_s * when)
        if node.peers:
            node.broadcast(Load((0.0,) * params.values))
        number += 1
