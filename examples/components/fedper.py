"""FedPer between neighbours: the base is averaged, the last layer is everyone's own.

Source: Arivazhagan, Aggarwal, Singh and Choudhary, "Federated learning with personalization
layers", arXiv:1912.00818, 2019, Algorithms 1 and 2, with K_P = 1 personal layer.
Symbols: theta = (W_B, W_P), the base (part `backbone`) and the personal layer (part `head`).
Departures: no server: a node averages with the neighbours that it has heard from.
"""

from dataclasses import dataclass

from netsim.api import AbsenceParams, Count, Inbox, Message, Node, Process, Ref, algorithm


class Params(AbsenceParams):
    """Length of a node's training at each wake-up."""

    local_steps: Count = 5


@dataclass(frozen=True)
class Base(Message):
    """W_B of a neighbour: the bits on the air are those of this part alone."""

    base: Ref


@algorithm(knows_servers=False)
def processes(node: Node, params: Params) -> list[Process]:
    """A node's own wake-ups, and listening for bases that come late."""
    inbox = Inbox(node, Base, params)
    return [on_wakeup(node, params, inbox), *inbox.listeners()]


def on_wakeup(node: Node, params: Params, inbox: Inbox) -> Process:
    """Algorithm 2: train all layers, send the base, average what has come."""
    theta = node.initial()
    while True:
        yield node.wakeup()
        theta = (yield node.train(theta, steps=params.local_steps)).theta
        heard = yield from inbox.exchange(Base(theta.part("backbone")))
        bases = [theta.part("backbone"), *(msg.base for msg in heard.values())]
        mean = node.mix(bases, [1 / len(bases)] * len(bases))
        theta = theta.with_part("backbone", mean)
        node.publish(theta, "mixed")
