"""FedBuff: a server applies updates when K of them have come, the older ones with less weight.

Source: Nguyen, Malik, Zhan, Yousefpour, Rabbat, Malek and Huba, "Federated Learning with Buffered
Asynchronous Aggregation", AISTATS 2022, arXiv:2106.06639, Algorithm 1. A client pulls x, takes Q
steps to y, and pushes Delta_i = x - y. The server adds each to its buffer, and when K have come,

    x <- x - eta_g (1 / K) sum_i s(tau_i) Delta_i,  and the buffer is empty again

with s(tau) = 1 / sqrt(1 + tau), tau the versions of x since the client pulled: `staleness`.

Symbols: K `buffer`, eta_g `server_learning_rate`, Q `local_steps` or `local_epochs`.
Readings: as `fedasync` says of pulling, pushing and ages. What is pushed is -Delta_i. Secure
aggregation in the buffer is left out.
Assumed, where there is no server: each node keeps a buffer of its neighbours' models. Delta_j is
its own model at the time of mixing less x_j, for a change that is lost would leave models apart for
ever, and K + 1 takes the place of K: the node's own model, whose Delta is 0, is one more. Ages are
those at mixing: what gets older than `max_age_s` in the buffer leaves it.
Departures: none known.

Personalizes: nothing: one model for all.
Shares: the model, or the change of it.
Sends: `b * theta` per neighbour; with a server `b * theta + 32` up, `b * theta + 32` down.
Needs: equal architectures.
Cost a round: `S` steps; a mixture for K updates.
Late or absent peers: an update counts when it comes, with a weight by its age; without a server
when the node mixes it, unless it is then older than `max_age_s`.
"""

from netsim import api
from netsim.api import Node, Process, Ref

from .fedasync import FedAsync, WorkerParams, worker_processes


class Params(WorkerParams):
    """K and eta_g, and local training.

    Attributes
    ----------
    buffer
        K, number of updates that are applied at once. Source: Nguyen et al. 2022; 10 there.
    server_learning_rate
        eta_g, factor of the mean of the updates. Source: Nguyen et al. 2022, Algorithm 1.
    """

    buffer: api.Count = 3
    server_learning_rate: api.Positive = 1.0


@api.algorithm(tasks=("any",), common_parts=("parameters",))
def processes(node: Node, params: Params) -> list[Process]:
    """Clients and server of Algorithm 1, or nodes that are both."""
    return worker_processes(node, params, FedBuff(node, params))


class FedBuff(FedAsync):
    """The rule: `x` is the global model or a node's own, `buffer` what waits to be applied."""

    def __init__(self, node: Node, params: Params) -> None:
        self.node, self.staleness = node, params.staleness
        self.k, self.eta_g = params.buffer, params.server_learning_rate
        self.x = node.initial()
        self.buffer: list[tuple[int, Ref, float]] = []

    def pushed(self, start: Ref, trained: Ref) -> Ref:
        """-Delta_i."""
        return trained - start

    def add(self, sender: int, x_new: Ref, s: float) -> bool:
        """Buffer a change, and apply the buffer if it is full."""
        self.buffer.append((sender, x_new, s))
        if len(self.buffer) < self.k:
            return False
        self.apply(of=self.k, own=1.0)
        return True

    def add_model(self, sender: int, x_j: Ref) -> None:
        """Buffer a neighbour's model, and mix with all in the buffer if it is full."""
        node = self.node
        waiting = [(j, x) for j, x, _ in self.buffer if node.age(x) <= node.max_age_s]
        waiting.append((sender, x_j))
        self.buffer = [(j, x, self.staleness.of(node, x)) for j, x in waiting]
        if len(self.buffer) >= self.k:
            self.apply(of=self.k + 1, own=None)

    def apply(self, of: int, own: float | None) -> None:
        """Add eta_g s / `of` of each value in the buffer to the own model's share, and empty it.

        `own` is that share; None: what the others leave.
        """
        weights = [self.eta_g * s / of for _, _, s in self.buffer]
        left = 1.0 - sum(weights)
        values = [value for _, value, _ in self.buffer]
        shares = {self.node.id: left}
        for (sender, _, _), weight in zip(self.buffer, weights, strict=True):
            shares[sender] = shares.get(sender, 0.0) + weight
        self.node.log_weights(list(shares), list(shares.values()))
        self.x = self.node.mix([self.x, *values], [left if own is None else own, *weights])
        self.buffer = []
