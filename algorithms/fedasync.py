"""FedAsync: a server mixes in each model when it comes, the less the older it is.

Source: Xie, Koyejo and Gupta, "Asynchronous Federated Optimization", 2019, arXiv:1903.03934,
Algorithm 1. A worker pulls the global model x_t, takes H steps on F_i(x) + rho / 2 ||x - x_t||^2 to
x_new, and pushes it with tau = t. When that comes, and the global model is x_(t-1) by then,

    alpha_t = alpha s(t - tau),  x_t <- (1 - alpha_t) x_(t-1) + alpha_t x_new

with s constant, polynomial or hinge: `staleness`, by global versions since the worker pulled, or by
seconds since then (`unit`).

Symbols: alpha `alpha`, rho `strength`, H `local_steps` or `local_epochs`.
Readings: a worker pulls when it wakes; one that has no answer trains the model that it has, and
pushes with the tau that it knows. The server mixes one after the other, in the order in which they
come. Global versions begin with 0, the initial model.
Assumed, where there is no server: each node is a worker and a server of its own model. It trains
it, sends it to all neighbours, and mixes in each model that has come by the same rule, the age of a
message being counted from its sending.
Departures: none known.

Personalizes: nothing: one model for all.
Shares: the model.
Sends: `b * theta` per neighbour; with a server `b * theta + 32` up, `b * theta + 32` down.
Needs: equal architectures.
Cost a round: `S` steps; a mixture for each model that comes.
Late or absent peers: a model counts when it comes, with a weight by its age; without a server only
if it is not older than `max_age_s`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from netsim import api
from netsim.api import Message, Model, Node, Process, Received, Ref


class WorkerParams(api.PlainTraining, api.StalenessParams):
    """Local training of a worker, and what its models count by their age.

    Attributes
    ----------
    strength
        rho, weight of the distance from the model that was pulled; 0: none. Source: Xie et al.
        2019, Algorithm 1.
    staleness
        s, factor of a model that comes, by its age. Example: `{ kind = "hinge", a = 10.0, b = 4.0
        }`
    timeout_s
        Longest wait for the global model. Absent: four times what a request and a model take on a
        quiet network, at least 1 s.
    max_age_s
        Greatest age of a message that counts, where there is no server. Absent: three mean
        intervals of the schedule; under `rounds` any counts.
    """

    strength: api.NonNegative = 0.0
    staleness: api.StalenessKind = api.PolynomialStaleness()
    timeout_s: api.Positive | None = None

    asks: ClassVar[str] = "the server"
    max_age_s: api.Positive | None = None

    def how_from(self, x: Ref) -> dict[str, Any]:
        """Keywords of `node.train` for H steps from x."""
        anchor = {"anchor": (x, self.strength)} if self.strength else {}
        return {**self.how(), **anchor}


class Params(WorkerParams):
    """alpha, and local training.

    Attributes
    ----------
    alpha
        alpha, weight of a model that is not stale. Source: Xie et al. 2019, Algorithm 1; 0.6 there.
    """

    alpha: api.Fraction = 0.6


@dataclass(frozen=True)
class Pull(Message):
    """Send me the global model."""


@dataclass(frozen=True)
class Global(Message):
    """x_t and t."""

    x: Ref
    version: int


@dataclass(frozen=True)
class Push(Message):
    """x_new, or a change, and tau."""

    x: Ref
    version: int


@api.algorithm(tasks=("any",), common_parts=("parameters",))
def processes(node: Node, params: Params) -> list[Process]:
    """Workers and updater of Algorithm 1, or nodes that are both."""
    return worker_processes(node, params, FedAsync(node, params))


class FedAsync:
    """The rule by which models are mixed in; `x` is the global model, or a node's own."""

    def __init__(self, node: Node, params: Params) -> None:
        self.node, self.params = node, params
        self.x = node.initial()

    def pushed(self, start: Ref, trained: Ref) -> Ref:
        """Return what a worker pushes: its model."""
        return trained

    def add(self, sender: int, x_new: Ref, s: float) -> bool:
        """Mix in x_new, of which s is left by its age; whether there is a new version."""
        alpha_t = self.params.alpha * s
        self.node.log_weights([self.node.id, sender], [1.0 - alpha_t, alpha_t])
        self.x = self.node.mix([self.x, x_new], [1.0 - alpha_t, alpha_t])
        return True

    def add_model(self, sender: int, x_j: Ref) -> None:
        """The same for a neighbour's model, where there is no server."""
        self.add(sender, x_j, self.params.staleness.of(self.node, x_j))


def worker_processes(node: Node, params: WorkerParams, rule: FedAsync) -> list[Process]:
    """The processes of a server, of a worker of it, or of a node among peers.

    Raises
    ------
    UnsuitableError
        If there is more than one server, or a key is set that has no meaning with a server,
        or without one.
    """
    api.require_one_server(node)
    there = node.role == "server" or node.servers or node.far_servers
    if params.timeout_s is not None and not there:
        raise api.UnsuitableError(
            "[algorithm]: timeout_s is for workers of a server, and there is no node of role "
            "server; leave it out"
        )
    if params.max_age_s is not None and (node.servers or node.role == "server"):
        raise api.UnsuitableError(
            "[algorithm]: max_age_s is for nodes among peers, and there is a server, which takes "
            "what comes by staleness; leave it out"
        )
    if node.role == "server":
        server = Server(node, params, rule)
        node.serve(Pull, server.on_pull)
        return [server.on_push()]
    if node.servers:
        return [on_work(node, params, rule)]
    return [among_peers(node, params, rule, api.Arrivals(node, Model, node.max_age_s))]


class Server:
    """The global model, its version, and when each version was made."""

    def __init__(self, node: Node, params: WorkerParams, rule: FedAsync) -> None:
        self.node, self.params, self.rule = node, params, rule
        self.made_s = [0.0]

    def on_pull(self, request: Received[Pull]) -> Global:
        """Answer a worker."""
        return Global(self.rule.x, len(self.made_s) - 1)

    def on_push(self) -> Process:
        """The updater of Algorithm 1."""
        node, staleness = self.node, self.params.staleness
        while True:
            push: Received[Push] = yield node.receive(Push, timeout_s=None)
            tau = push.msg.version
            in_seconds = staleness.unit == "seconds"
            age = node.now_s - self.made_s[tau] if in_seconds else len(self.made_s) - 1 - tau
            if self.rule.add(push.sender, push.msg.x, staleness.factor(age)):
                self.made_s.append(node.now_s)


def on_work(node: Node, params: WorkerParams, rule: FedAsync) -> Process:
    """A worker: pull, train, push."""
    (server,) = node.servers
    x, version = node.initial(), 0
    while True:
        yield node.wakeup()
        got = yield node.ask(server, Pull(), Global, params.timeout_s or node.patience_s([server]))
        if server in got:
            x, version = got[server].msg.x, got[server].msg.version
            node.publish(x, "mixed")
        trained = (yield node.train(x, **params.how_from(x))).theta
        node.publish(trained, "trained")
        node.send(server, Push(rule.pushed(x, trained), version))
        x = trained


def among_peers(
    node: Node, params: WorkerParams, rule: FedAsync, arrivals: api.Arrivals
) -> Process:
    """Without a server: train the own model, send it, and mix in what has come."""
    while True:
        yield node.wakeup()
        rule.x = (yield node.train(rule.x, **params.how_from(rule.x))).theta
        node.publish(rule.x, "trained")
        came: Sequence[Received[Model]]
        came = yield from arrivals.exchange(dict.fromkeys(node.peers, Model(rule.x)))
        for received in came:
            rule.add_model(received.sender, received.msg.theta)
        node.publish(rule.x, "mixed")
