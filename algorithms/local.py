"""Local: every node trains alone and never sends a message. The baseline of all.

Trains in the slots in which the nodes of a star exchange train, so that under `star` it makes as
many local steps as KD-PDFL and its baselines; under `rounds`, `local_steps` a round.
"""

from algorithms._star import StarParams, trains_in
from netsim.api import Count, Node, Process


class Params(StarParams):
    """`local_steps` a round under the schedule `rounds`."""

    local_steps: Count = 1


def processes(node: Node, params: Params) -> list[Process]:
    """One process a node."""
    return [on_round(node, params) if node.schedule == "rounds" else on_slot(node, params)]


def on_slot(node: Node, params: Params) -> Process:
    """One local step a slot."""
    theta = node.initial()
    while True:
        slot = yield node.tick()
        if trains_in(node, params, slot):
            theta = (yield node.train(theta, steps=1)).theta
            node.publish(theta, "trained")


def on_round(node: Node, params: Params) -> Process:
    """`local_steps` a round."""
    theta = node.initial()
    while True:
        yield node.wakeup()
        theta = (yield node.train(theta, steps=params.local_steps)).theta
        node.publish(theta, "trained")
