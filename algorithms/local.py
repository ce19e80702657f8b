"""Local: every node trains alone and never sends a message. The baseline of all.

Trains in the slots in which the nodes of a star exchange train, so that under `star` it makes as
many local steps as KD-PDFL and its baselines; under `rounds`, or with `pace = "rounds"`, a round's
local training whenever it wakes, as the round baselines do.

Personalizes: the whole model.
Shares: nothing.
Sends: `0`, never a message.
Needs: nothing (models may differ).
Cost a round: `S` steps; under a star a step per slot.
Late or absent peers: nothing changes.
"""

from typing import Any

from netsim import api
from netsim.api import Node, Process


class Params(api.SlotParams, api.PlainTraining, api.PaceParams, api.FallingRate):
    """Amount of training in a round, and a learning rate that may fall as FedAvg+'s does."""

    def how_at(self, now_s: float) -> dict[str, Any]:
        """Keywords of `node.train` for a round that begins at an instant."""
        return {**self.how(), "learning_rate": self.learning_rate(now_s)}


def processes(node: Node, params: Params) -> list[Process]:
    """One process a node; a server has nothing to do."""
    if node.role == "server":
        return []
    return [on_round(node, params) if api.takes_rounds(node, params) else on_slot(node, params)]


def on_slot(node: Node, params: Params) -> Process:
    """One local step a slot."""
    theta = node.initial()
    while True:
        slot = yield node.tick()
        if api.trains_in(node, params, slot):
            rate = params.learning_rate(node.now_s)
            trained = yield node.train(theta, steps=1, loss=params.loss(), learning_rate=rate)
            theta = trained.theta
            node.publish(theta, "trained")


def on_round(node: Node, params: Params) -> Process:
    """A round's local training."""
    theta = node.initial()
    while True:
        yield node.wakeup()
        theta = (yield node.train(theta, **params.how_at(node.now_s))).theta
        node.publish(theta, "trained")
