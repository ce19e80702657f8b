"""Epidemic Learning: send the model to s nodes at random, average what has come.

Source: De Vos, Farhadkhani, Guerraoui, Kermarrec, Pires and Sharma, "Epidemic Learning: Boosting
Decentralized Learning with Randomized Communication", NeurIPS 2023, arXiv:2310.01972, Algorithm 1
with EL-Local. In a round node i takes a step to x_i, draws s others at random, sends them x_i, and

    x_i <- (x_i + sum of the x_j received) / (1 + number of models received).

That number is random, from none to all; the graph differs from round to round.

Readings: a node draws among its peers, which are all others over a complete topology. It averages
each message once. Without rounds it averages the models that have come since it last woke.
Departures: none known; EL-Oracle, whose graph is s-regular, needs a node that draws for all.

Personalizes: nothing: all models agree in the end.
Shares: the model.
Sends: `b * theta` per message, to each of s neighbours at random.
Needs: equal architectures.
Cost a round: `S` steps, one by default; a mean.
Late or absent peers: the mean is over the models that came; a late one counts in the next round,
unless it is older than `max_age_s`.
"""

from netsim import api
from netsim.api import Model, Node, Process

from .dpsgd import OneStep


class Params(OneStep, api.PlainTraining, api.StalenessParams):
    """s, local training, and what is too old.

    Attributes
    ----------
    receivers
        s, number of receivers of a model. Absent: the logarithm of the number of nodes to the base
        2, rounded up, as the paper advises. Source: De Vos et al. 2023, EL-Local.
    max_age_s
        Greatest age of a message that counts. Absent: three mean intervals of the schedule; under
        `rounds` any counts.
    """

    receivers: api.Count | None = None
    max_age_s: api.Positive | None = None

    def s(self, num_nodes: int) -> int:
        """Number of nodes that a model is sent to."""
        return self.receivers or max(1, (num_nodes - 1).bit_length())


@api.algorithm(knows_servers=False, mixes_to_one=True, common_parts=("parameters",))
def processes(node: Node, params: Params) -> list[Process]:
    """Algorithm 1."""
    return [on_round(node, params, api.Arrivals(node, Model, node.max_age_s))]


def on_round(node: Node, params: Params, arrivals: api.Arrivals) -> Process:
    """Algorithm 1 for one node."""
    x = node.initial()
    while True:
        yield node.wakeup()
        x = (yield node.train(x, **params.how())).theta
        node.publish(x, "trained")
        to = node.permutation("receivers", node.peers)[: params.s(node.num_nodes)]
        came = yield from arrivals.exchange(dict.fromkeys(to, Model(x)))
        models = [x, *(received.msg.theta for received in came)]
        share = api.discounted(node, params, models, [1.0 / len(models)] * len(models))
        arrivals.log_weights(share[0], came, share[1:])
        x = node.mix(models, share)
        node.publish(x, "mixed")
