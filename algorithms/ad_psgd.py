"""AD-PSGD: average with one random neighbour, then apply the step taken at the older model.

Source: Lian, Zhang, Zhang and Liu, "Asynchronous Decentralized Parallel Stochastic Gradient
Descent", ICML 2018, arXiv:1710.06952, Algorithm 1. A node that wakes computes the gradient g at its
x_i, draws a neighbour j, and

    x_i, x_j <- (x_i + x_j) / 2  at both, in one go       (line 3)
    x_i <- x_i - eta g                                    (line 4)

While it computes, others average with it: g was taken at an older model than it is applied to.

Readings: the average is two messages, x_i to j and x_j back. Each end adds half of the difference
to the model that it has by then, so that the sum of both stays as it is, whatever other averages
come in between; the paper avoids these by letting one half of the nodes of a bipartite graph ask
and the other half answer. The gradient is computed while the answer is on its way (Section 3.2).
More steps than one apply the whole change of the local training.
Departures: none known. Where the answer is lost, j has moved and i has not: the mean of all models
changes by that half difference, which the paper's links never let happen.

Personalizes: nothing: neighbours' models agree in the end.
Shares: the model.
Sends: `b * theta` per message, one to a random neighbour and one back.
Needs: equal architectures.
Cost a round: `S` steps, one by default; two means.
Late or absent peers: the node continues without a neighbour that does not answer within
`timeout_s`.
"""

from dataclasses import dataclass
from typing import ClassVar

from netsim import api
from netsim.api import Message, Node, Process, Received, Ref

from .dpsgd import OneStep


class Params(OneStep, api.PlainTraining, api.StalenessParams):
    """Local training, and how long an answer is waited for.

    Attributes
    ----------
    timeout_s
        Longest wait for the model of the neighbour. Absent: four times what a request and a model
        take on a quiet network, at least 1 s.
    """

    timeout_s: api.Positive | None = None

    asks: ClassVar[str] = "one neighbour"


@dataclass(frozen=True)
class Offer(Message):
    """x_i: average with me."""

    x: Ref


@dataclass(frozen=True)
class Answer(Message):
    """x_j, as it was before j averaged."""

    x: Ref


@api.algorithm(knows_servers=False, mixes_to_one=True, common_parts=("parameters",))
def processes(node: Node, params: Params) -> list[Process]:
    """Algorithm 1, and the answers to neighbours that average with this node."""
    pairwise = PairwiseAveraging(node, params)
    node.serve(Offer, pairwise.on_offer)
    return [pairwise.on_round()]


class PairwiseAveraging:
    """One node: `x` is its model, at any time."""

    def __init__(self, node: Node, params: Params) -> None:
        self.node, self.params = node, params
        self.x = node.initial()

    def on_round(self) -> Process:
        """Algorithm 1 for one node."""
        node = self.node
        while True:
            yield node.wakeup()
            older = self.x
            stepping = node.train(older, **self.params.how())  # line 2
            if node.peers:
                yield from self.average_with(node.permutation("neighbour", node.peers)[0])
            stepped = (yield stepping).theta
            moved = node.mix([self.x, stepped, older], [1.0, 1.0, -1.0])  # line 4
            self.x = api.with_statistics_of(stepped, moved)
            node.publish(self.x, "mixed")

    def average_with(self, j: int) -> Process:
        """Line 3 at i, if j answers."""
        node, offered = self.node, self.x
        timeout_s = self.params.timeout_s or node.patience_s([j])
        got = yield node.ask(j, Offer(offered), Answer, timeout_s)  # once: j averages each time
        if j in got:
            half = self.half(j, offered, got[j].msg.x)
            self.x = node.mix([self.x, got[j].msg.x, offered], [1.0, half, -half])
        else:
            node.warn(
                "half an average",
                "has no answer of a neighbour in time: where that one has averaged, it alone has "
                "moved, and the mean of all models with it",
            )

    def on_offer(self, offer: Received[Offer]) -> Answer:
        """Line 3 at j."""
        node, before = self.node, self.x
        half = self.half(offer.sender, before, offer.msg.x)
        self.x = node.mix([before, offer.msg.x], [1.0 - half, half])
        node.publish(self.x, "mixed")
        return Answer(before)

    def half(self, j: int, mine: Ref, theirs: Ref) -> float:
        """Weight of the model of j in the average, 1/2 unless its age counts; logged."""
        shares = api.discounted(self.node, self.params, [mine, theirs], [0.5, 0.5])
        self.node.log_weights([self.node.id, j], shares)
        return shares[1]
