"""SPARQ-SGD: a node sends only when its model has moved far enough, and then a compressed change.

Source: Singh, Data, George and Diggavi, "SPARQ-SGD: Event-Triggered and Compressed Communication in
Decentralized Stochastic Optimization", 2019 (CDC 2020), Algorithm 1. After H local steps node i has
x_i; every node keeps xhat_j, what all know of j's model:

    if ||x_i - xhat_i||^2 > c_t eta_t^2:  send q_i = C(x_i - xhat_i),  else q_i = 0    (lines 7-10)
    xhat_j <- xhat_j + q_j for the neighbours j and for i itself                       (line 12)
    x_i <- x_i + gamma sum_j w_ij (xhat_j - xhat_i)                                    (line 14)

Symbols: C is `compression`, gamma `gamma`, c_t = `threshold` t^`growth` with t the local steps so
far, eta_t the learning rate with `rate`, H `local_steps` or `local_epochs`.
Readings: W as `dpsgd` says, of degrees that travel with the changes. Parameters are compressed and
mixed, running statistics stay with their node. A q_i of 0 is not sent.
Departures: xhat_j starts at the initial model, which all have in common, instead of at 0. Changes
are numbered, and a node that has missed one asks for the whole of xhat_j, where the paper's links
lose nothing.

Personalizes: nothing: neighbours' models agree in the end.
Shares: changes of the model, compressed.
Sends: `b * P + 64` per neighbour, or nothing; with a `compression` its bits in place of *b P*.
Needs: equal architectures and initial models.
Cost a round: `S` steps, a norm, a mixture.
Late or absent peers: the node mixes its copy of the neighbour's model as it is; when the next
change shows that one was missed, the node asks the neighbour for its whole model.
"""

from dataclasses import dataclass

from torch import Tensor

from netsim import api
from netsim.api import Encoded, Message, Node, Process, Received, Ref


class Params(api.PlainTraining, api.StalenessParams):
    """Condition for sending, compression, strength of mixing, and time to wait for missed messages.

    Attributes
    ----------
    threshold
        c, change of a model above which a node sends it: squared distance over the squared learning
        rate. Source: Singh et al. 2019, Algorithm 1, line 7.
    growth
        Power of the number of local steps with which c_t grows; 0: it does not.
    gamma
        gamma, strength of mixing. Source: Singh et al. 2019, Algorithm 1, line 14.
    compression
        C, compressor of changes. Example: `{ kind = "top_k", fraction = 0.1 }`
    rate
        eta_t, course of the learning rate over time. Example: `{ kind = "cosine", over = 500 }`
    timeout_s
        Longest wait for an answer to a question for missed values. Absent: four times what the
        request and a model of each peer asked take on a quiet network, at least 1 s.
    tries
        Greatest number of requests to a neighbour.
    """

    threshold: api.NonNegative = 0.1
    growth: api.NonNegative = 0.0
    gamma: api.Positive = 1.0
    compression: api.Compression = api.NoCompression()
    rate: api.LearningRate = api.ConstantRate()
    timeout_s: api.Positive | None = None
    tries: api.Count = 2


@dataclass(frozen=True)
class Change(Message):
    """q_j, its number, and how many neighbours j has."""

    q: Encoded
    number: int
    degree: int


@dataclass(frozen=True)
class Missed(Message):
    """Send me all that I should know of you."""


@dataclass(frozen=True)
class Known(Message):
    """xhat_j, and the number of the last change in it."""

    x: Ref
    number: int
    degree: int


@dataclass
class Copy:
    """Knowledge of one node: xhat_j, and what brought the newest part of it."""

    x: Ref
    number: int
    degree: int
    newest: Ref


@api.algorithm(
    knows_servers=False, needs_values=True, mixes_to_one=True, common_parts=("parameters",)
)
def processes(node: Node, params: Params) -> list[Process]:
    """Algorithm 1, and what listens for changes outside of exchanges."""
    sparq = Sparq(node, params)
    node.serve(Missed, sparq.on_missed)
    return [sparq.on_round(), sparq.on_change()]


class Sparq:
    """One node: its model, and what it knows of all."""

    def __init__(self, node: Node, params: Params) -> None:
        self.node, self.params = node, params
        self.x = node.initial()
        first, degree = self.x.part("parameters"), len(node.neighbours)
        self.own = Copy(first, 0, degree, first)
        self.copies = {j: Copy(first, 0, degree, first) for j in node.neighbours}
        self.behind: set[int] = set()

    def on_round(self) -> Process:
        """Algorithm 1 for one node."""
        node, params = self.node, self.params
        while True:
            yield node.wakeup()
            eta, factor = params.rate.at(node), node.rate_factor
            self.x = (yield node.train(self.x, **params.how(), learning_rate=eta)).theta
            moved = self.x.part("parameters") - self.own.x
            distance = yield node.value(node.compute(squared_norm, moved), duration_s=0.0)
            c = params.threshold * node.local_steps**params.growth
            change = self.sent(moved) if distance > c * (eta * factor) ** 2 else None
            if node.schedule == "rounds":
                for received in (yield node.exchange(change or {}, kind=Change)).values():
                    self.take(received)
            elif change is not None:
                for j in node.peers:
                    node.send(j, change)
            yield from self.catch_up()
            self.mix()

    def sent(self, moved: Ref) -> Change:
        """Lines 8 and 12 for the node itself."""
        q, own = self.params.compression.compress(self.node, moved), self.own
        own.x, own.number = own.x + q.value, own.number + 1
        return Change(q, own.number, own.degree)

    def take(self, received: Received[Change]) -> None:
        """Line 12 for a neighbour."""
        copy, change = self.copies[received.sender], received.msg
        if change.number == copy.number + 1:
            copy.x, copy.number = copy.x + change.q.value, change.number
            copy.degree, copy.newest = change.degree, change.q.value
        elif change.number > copy.number:
            self.behind.add(received.sender)

    def mix(self) -> None:
        """Line 14."""
        node, own, gamma = self.node, self.own, self.params.gamma
        ids = list(self.copies)
        w = [gamma / (1 + max(own.degree, self.copies[j].degree)) for j in ids]
        values = [own.x, *(self.copies[j].newest for j in ids)]
        applied = api.discounted(node, self.params, values, [1.0 - sum(w), *w])
        node.log_weights([node.id, *ids], applied)
        w = list(applied[1:])
        refs = [self.x.part("parameters"), own.x, *(self.copies[j].x for j in ids)]
        self.x = self.x.with_part("parameters", node.mix(refs, [1.0, -sum(w), *w]))
        node.publish(self.x, "mixed")

    def catch_up(self) -> Process:
        """Ask the neighbours of whom a change was missed for the whole of what is known."""
        if not self.behind:
            return
        params = self.params
        asked = sorted(self.behind)
        timeout_s = params.timeout_s or self.node.patience_s(asked)
        got = yield self.node.ask(asked, Missed(), Known, timeout_s, params.tries)
        for j, received in got.items():
            known: Known = received.msg
            if known.number >= self.copies[j].number:
                self.copies[j] = Copy(known.x, known.number, known.degree, known.x)
            self.behind.discard(j)

    def on_missed(self, request: Received[Missed]) -> Known:
        """Answer with all that others should know of this node."""
        return Known(self.own.x, self.own.number, self.own.degree)

    def on_change(self) -> Process:
        """Take in changes that come outside of an exchange."""
        while True:
            self.take((yield self.node.receive(Change, timeout_s=None)))


@api.batched
def squared_norm(x: Tensor) -> Tensor:
    """||x||^2."""
    return x.square().sum()
