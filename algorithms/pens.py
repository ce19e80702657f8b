"""PENS: gossip at random, keep what does well on the own data, and then gossip with those alone.

Source: Onoszko, Karlsson, Mogren and Listo Zec, "Decentralized federated learning of deep neural
networks on non-iid data", FL-ICML 2021, arXiv:2107.08517, Algorithms 1 and 2. Two stages:

1. A node trains and sends its model to a peer at random. When n models have come (`sampled`), it
   takes the m of the lowest loss on its own training samples (`kept`), and goes on from the mean of
   these and its own. It counts how often each peer was sampled, and how often kept.
2. After `selection_rounds` its neighbours are the peers that were kept more often than by chance,
   more than m / n of the times that they were sampled. It trains, sends its model to one of them
   at random, and goes on from the mean of its own and of those that came.

Assumed, where the paper says less: the own model counts as much as each of the others; in the
second stage a model counts that comes of a neighbour, in the first any; a node that has found no
neighbour goes on among all peers; a model that came again of one peer counts as another one.
Readings: losses take no virtual time. Models that still wait for others when the first stage is
over are not used.
Departures: none known.

Personalizes: the whole model, in so far as neighbours differ.
Shares: the model.
Sends: `b * theta` per message, to one peer at random.
Needs: equal architectures.
Cost a round: `S` steps; in the first stage n losses over the training samples, a mean.
Late or absent peers: a model counts when it comes, unless it is older than `max_age_s`.
"""

from netsim import api
from netsim.api import Model, Node, Process, Received


class Params(api.PlainTraining, api.StalenessParams):
    """Number of models to compare and to keep, and for how long; age of what is too old.

    Attributes
    ----------
    sampled
        n, number of models that a node compares. Source: Onoszko et al. 2021.
    kept
        m, number of them that are kept. Source: Onoszko et al. 2021.
    selection_rounds
        Rounds of the first stage, counted by each node.
    max_age_s
        Greatest age of a message that counts. Absent: three mean intervals of the schedule; under
        `rounds` any counts.
    """

    sampled: api.Count = 4
    kept: api.Count = 2
    selection_rounds: api.Count = 20
    max_age_s: api.Positive | None = None

    @api.model_validator(mode="after")
    def _keeps_some(self) -> "Params":
        if self.kept > self.sampled:
            raise ValueError(f"kept = {self.kept} is more than sampled = {self.sampled}")
        return self


@api.algorithm(
    knows_servers=False, needs_values=True, mixes_to_one=True, common_parts=("parameters",)
)
def processes(node: Node, params: Params) -> list[Process]:
    """Both stages."""
    return [Pens(node, params).on_round()]


class Pens:
    """One node: its model, what it waits to compare, and how peers have done."""

    def __init__(self, node: Node, params: Params) -> None:
        self.node, self.params = node, params
        self.theta = node.initial()
        self.arrivals = api.Arrivals(node, Model, node.max_age_s)
        self.waiting: list[Received[Model]] = []
        self.times_sampled = dict.fromkeys(node.neighbours, 0)
        self.times_kept = dict.fromkeys(node.neighbours, 0)

    def on_round(self) -> Process:
        """One node in both stages."""
        node, params, rounds = self.node, self.params, 0
        neighbours: list[int] = []
        while True:
            yield node.wakeup()
            self.theta = (yield node.train(self.theta, **params.how())).theta
            node.publish(self.theta, "trained")
            rounds += 1
            is_selecting = rounds <= params.selection_rounds
            among = [j for j in node.peers if is_selecting or j in neighbours]
            to = node.permutation("receiver", among)[:1]
            came = yield from self.arrivals.exchange(dict.fromkeys(to, Model(self.theta)))
            if is_selecting:
                self.waiting += came
                yield from self.keep_the_best()
            else:
                self.average([received for received in came if received.sender in neighbours])
            if rounds == params.selection_rounds:
                neighbours = self.neighbours()
            node.publish(self.theta, "mixed")

    def keep_the_best(self) -> Process:
        """Compare n models if so many have come, and go on from the mean of m and the own."""
        node, n, m = self.node, self.params.sampled, self.params.kept
        while len(self.waiting) >= n:
            compared, self.waiting = self.waiting[:n], self.waiting[n:]
            each = [node.loss(received.msg.theta, "train") for received in compared]
            losses = yield node.value(each, duration_s=0.0)
            best = sorted(range(n), key=losses.__getitem__)[:m]
            for k, received in enumerate(compared):
                self.times_sampled[received.sender] += 1
                self.times_kept[received.sender] += k in best
            self.average([compared[k] for k in best])

    def average(self, models: list[Received[Model]]) -> None:
        """Go on from the mean of some models and the own one."""
        node, thetas = self.node, [self.theta, *(received.msg.theta for received in models)]
        share = api.discounted(node, self.params, thetas, [1.0 / len(thetas)] * len(thetas))
        self.arrivals.log_weights(share[0], models, share[1:])
        self.theta = node.mix(thetas, share)

    def neighbours(self) -> list[int]:
        """Peers that were kept more often than by chance; all, if there is none."""
        by_chance = self.params.kept / self.params.sampled
        found = [j for j, n in self.times_sampled.items() if self.times_kept[j] > by_chance * n]
        never = [j for j, n in self.times_sampled.items() if not n]
        if found and never:
            self.node.warn(
                "candidates lost",
                f"goes without {len(never)} of {len(self.times_sampled)} peers for good, of which "
                "no model was compared in its first stage",
            )
        if not found:
            compared = sum(self.times_sampled.values())
            why = (
                "whose models do well on its samples"
                if compared
                else f"in its first stage: it never had sampled = {self.params.sampled} models"
            )
            self.node.warn("no neighbours", f"has found no peer {why}; it goes on among all")
        return found or list(self.node.neighbours)
