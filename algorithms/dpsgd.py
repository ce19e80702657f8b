"""D-PSGD: mix models with neighbours, then apply the step taken at the unmixed model.

Source: Lian, Zhang, Zhang, Hsieh, Zhang and Liu 2017, Algorithm 1:
x_i <- sum_j W_ij x_j - eta grad F_i(x_i), the gradient at x_i before mixing. W as `_gossip` says.

`local_steps = 1` is the algorithm; more steps, or L2C's 5 epochs, apply the whole change of the
local training. A node sends x_i when its round begins and trains meanwhile (lines 3 to 5 run in
parallel there); under schedules without rounds it mixes the freshest models that it has.
Running statistics of a model stay with its node.
Departures: none known; with momentum or Adam the step is that optimizer's, started afresh a round.
"""

from algorithms._gossip import GossipParams, Model, mixing_weights
from algorithms._rounds import Others, with_statistics_of, without_server
from netsim.api import Count, Node, Process


class Params(GossipParams):
    """One minibatch step a round, unless epochs are given."""

    local_steps: Count | None = None

    def amount(self) -> dict[str, int]:
        """As `node.train` takes it."""
        return {"steps": 1} if self.local_epochs is None else super().amount()


def processes(node: Node, params: Params) -> list[Process]:
    """Algorithm 1, and what listens for late models."""
    without_server(node)
    others = Others(node, params, Model)
    return [on_round(node, params, others), *others.processes()]


def on_round(node: Node, params: Params, others: Others) -> Process:
    """Algorithm 1 for one node."""
    x = node.initial()
    while True:
        yield node.wakeup()
        stepping = node.train(x, **params.how())  # lines 3-4
        heard = yield from others.exchange(Model(x, len(node.peers)))
        ids, w = mixing_weights(node, heard)
        models = [x, *(heard[j].x for j in ids[1:])]
        stepped = (yield stepping).theta
        mixed = node.mix([stepped, x, *models], [1.0, -1.0, *w])  # lines 5-6
        x = with_statistics_of(stepped, mixed)
        node.publish(x, "mixed")
