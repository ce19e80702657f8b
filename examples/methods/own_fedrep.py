"""FedRep: a common representation, and a head of its own at every node.

Source: Collins, Hassani, Mokhtari and Shakkottai, "Exploiting shared representations for
personalized federated learning", ICML 2021, Algorithm 1.
Symbols: theta = (phi, h), the representation (part `backbone`) and the head (part `head`).
Departures: no server; all nodes take part in every round.
"""

from netsim.api import AbsenceParams, Count, Inbox, Model, Node, Process, algorithm


class Params(AbsenceParams):
    """Length of a round's training of the head, and then of the base."""

    head_steps: Count = 5
    base_steps: Count = 5


@algorithm(knows_servers=False)
def processes(node: Node, params: Params) -> list[Process]:
    """A node's rounds, and listening for bases that come late."""
    inbox = Inbox(node, Model, params)
    return [on_round(node, params, inbox), *inbox.listeners()]


def on_round(node: Node, params: Params, inbox: Inbox) -> Process:
    """Algorithm 1: h at a fixed phi, phi at a fixed h, then the mean of the phi."""
    theta = node.initial()
    while True:
        yield node.wakeup()
        theta = (yield node.train(theta, steps=params.head_steps, part="head")).theta
        theta = (yield node.train(theta, steps=params.base_steps, part="backbone")).theta
        node.publish(theta, "trained")
        base = Model(theta.part("backbone"))
        bases = {**(yield from inbox.exchange(base)), node.id: base}
        phi = sum(bases[j].theta for j in sorted(bases)) / len(bases)
        theta = theta.with_part("backbone", phi)
        node.publish(theta, "mixed")
