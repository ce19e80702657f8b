"""starting: average models with the neighbours, each weighted alike.

Source: the paper, and which algorithm of it.
Symbols: theta, the model (D parameters); K neighbours have been heard from.
Departures: what is done otherwise than in the paper, and why.
"""

from netsim.api import AbsenceParams, Count, Inbox, Model, Node, Process, algorithm


class Params(AbsenceParams):
    """Keys of `[algorithm]`, beside what an absent peer means.

    Attributes
    ----------
    local_steps : int
        Minibatch steps at each wake-up.
    """

    local_steps: Count = 5


@algorithm(knows_servers=False)
def processes(node: Node, params: Params) -> list[Process]:
    """Start a node's processes: its own wake-ups, and listening for late models."""
    inbox = Inbox(node, Model, params)
    return [on_wakeup(node, params, inbox), *inbox.listeners()]


def on_wakeup(node: Node, params: Params, inbox: Inbox) -> Process:
    """Train, send the model, mix what has come, publish what the node would predict with.

    Parameters
    ----------
    node : Node
    params : Params
    inbox : Inbox
        Of the models of neighbours, late ones included.
    """
    theta = node.initial()
    while True:
        yield node.wakeup()
        theta = (yield node.train(theta, steps=params.local_steps)).theta
        heard = yield from inbox.exchange(Model(theta))
        thetas = [theta, *(model.theta for model in heard.values())]
        theta = node.mix(thetas, [1 / len(thetas)] * len(thetas))
        node.publish(theta, "mixed")
