"""DFedAvgM: heavy-ball steps at every node, then mixing with neighbours.

Source: Sun, Li and Wang, "Decentralized federated averaging", 2021, Algorithm 1 (not the quantised
one). From x_i a node takes K steps y_{k+1} = y_k - eta g_k + theta (y_k - y_{k-1}), y_{-1} = y_0;
z_i = y_K; x_i <- sum_j W_ij z_j. W as `dpsgd` says.

The heavy-ball step is SGD with momentum theta, its velocity zero at the start of a round: theta is
`[training] momentum` with `optimizer = "sgd"`, to be set for this algorithm alone in its
`training` table (the paper has 0.9).
Departures: none known.

Personalizes: nothing: neighbours' models agree in the end.
Shares: the model.
Sends: `b * theta + 32` per neighbour.
Needs: equal architectures.
Cost a round: `S` steps, a mean.
Late or absent peers: the own model takes an absent neighbour's weight; with `absent`, the
neighbour's last model replaces it.
"""

from netsim.api import Inbox, Node, Process, algorithm

from .dpsgd import GossipParams, Model, mixing_weights


class Params(GossipParams):
    """K as `local_steps` or `local_epochs`."""


@algorithm(knows_servers=False, mixes_to_one=True, common_parts=("parameters",))
def processes(node: Node, params: Params) -> list[Process]:
    """Algorithm 1, and what listens for late models."""
    inbox = Inbox(node, Model, params)
    return [on_round(node, params, inbox), *inbox.listeners()]


def on_round(node: Node, params: Params, inbox: Inbox) -> Process:
    """Algorithm 1 for one node."""
    x = node.initial()
    while True:
        yield node.wakeup()
        z = (yield node.train(x, **params.how())).theta
        node.publish(z, "trained")
        heard = yield from inbox.exchange(Model(z, len(node.neighbours)))
        ids, w = mixing_weights(node, params, z, heard)
        x = node.mix([z, *(heard[j].x for j in ids[1:])], w)
        node.publish(x, "mixed")
