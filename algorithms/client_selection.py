"""Client selection: FedAvg in which an agent selects the clients of each round.

Source: McMahan et al. 2017, Algorithm 1, with the selection left to an agent as in Wang, Kaplan,
Niu and Li, "Optimizing Federated Learning on Non-IID Data with Reinforcement Learning" (Favor,
INFOCOM 2020).

A round asks the agent for `per_round` clients, sends them the model, and mixes what comes back
within `timeout_s` by the numbers of samples. The agent is told of each client how long its last
round trip took, how many rounds ago it last took part, and the loss of its last model.

Departures: Favor's state is a projection of all clients' models, and its reward an exponential of
the accuracy; here the agent sees what a server knows without looking at models, and is rewarded by
the growth of the accuracy, or with `rounds` by the time that they take.

Personalizes: nothing: one model for all.
Shares: the whole model.
Sends: `b * theta + b + 64` up, `b * theta + 32` down to each selected client.
Needs: a server, equal architectures.
Cost a round: `S` steps of the selected clients, and a loss on their training samples.
Late or absent peers: a client that has not answered after `timeout_s` is left out of the round, and
what it sends later is not used.
"""

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

from netsim import api
from netsim.api import Node, Process, Ref

MOST = 1e9
"""Greatest number that an agent is told: what has diverged, or waits for ever, counts as it."""


class Params(api.Params):
    """Keys of client selection.

    Attributes
    ----------
    per_round
        Clients that take part in a round.
    epochs
        Passes over a client's samples in a round. Source: McMahan et al. 2017, E.
    timeout_s
        Time that the server waits for the clients of a round [s].
    rounds
        Rounds after which the server stops. Absent: none; it goes on to the end of the run.
    policy
        Rule that selects where no agent plays.
    """

    per_round: api.Count = 4
    epochs: api.Count = 1
    timeout_s: api.Positive = 60.0
    rounds: api.Count | None = None
    policy: api.Policy = api.RandomPolicy()


@dataclass(frozen=True)
class Trained(api.Message):
    """A client's model, the number of its samples, its loss before training, and of which round."""

    theta: Ref
    samples: int
    loss: float
    number: int


@dataclass(frozen=True)
class Selected(api.Message):
    """The server's model, to a client that takes part in a round."""

    theta: Ref
    number: int


def clients_of(roles: tuple[str, ...]) -> list[int]:
    """The nodes that may be selected."""
    return [i for i, role in enumerate(roles) if role != "server"]


def decides(params: Params, roles: tuple[str, ...]) -> api.Decides:
    """Declare that the server selects `per_round` of the clients."""
    n = len(clients_of(roles))
    if params.per_round > n:
        raise api.UnsuitableError(
            f"[algorithm] per_round = {params.per_round}: there are {n} clients; take at most {n}"
        )
    return api.Decides(
        deciders=tuple(i for i, role in enumerate(roles) if role == "server"),
        observation={
            "round_trip_s": api.Numbers((n,), 0.0, params.timeout_s),
            "rounds_ago": api.Numbers((n,), 0.0, MOST),
            "loss": api.Numbers((n,), 0.0, MOST),
        },
        action=api.Best(n, params.per_round),
        policy=params.policy.choose,
        reward={"score": 1.0} if params.rounds is None else {"time_s": -1.0},
    )


@api.algorithm(
    decides=decides, needs_server=True, wakes=False, tasks=("any",), common_parts=("parameters",)
)
def processes(node: Node, params: Params) -> list[Process]:
    """A server that selects, and clients that train."""
    api.require_one_server(node)
    if node.role == "server":
        return [on_server(node, params)]
    return [on_client(node, params)] if node.servers else []


def finite(loss: float) -> float:
    """The loss that an agent is told: `MOST` at most, also where the model has diverged."""
    return loss if loss < MOST else MOST  # min(nan, MOST) would be nan


def on_server(node: Node, params: Params) -> Process:
    """Select, send, wait, mix."""
    clients = [i for i in range(node.num_nodes) if i != node.id]
    trip_s, ago, loss = ([0.0] * len(clients) for _ in range(3))
    theta, number = node.initial(), 0
    while params.rounds is None or number < params.rounds:
        observed = {"round_trip_s": trip_s, "rounds_ago": ago, "loss": loss}
        places = yield node.decide(observed)
        began_s, number = node.now_s, number + 1
        node.broadcast(Selected(theta, number), to=[clients[k] for k in places])
        got = yield from answers(node, params, number, len(places))
        for k, i in enumerate(clients):
            ago[k] = 0.0 if k in places else min(ago[k] + 1.0, MOST)
            if i in got:
                trip_s[k], loss[k] = got[i][1], got[i][0].loss
            elif k in places:
                trip_s[k] = params.timeout_s
        if got:
            sizes = [trained.samples for trained, _ in got.values()]
            shares = [size / sum(sizes) for size in sizes]
            theta = node.mix([trained.theta for trained, _ in got.values()], shares)
        node.record("round_s", node.now_s - began_s)
        node.record("answers", len(got))


def answers(
    node: Node, params: Params, number: int, count: int
) -> Generator[Any, Any, dict[int, tuple[Trained, float]]]:
    """Wait for what the clients of one round send, and for how long each took."""
    began_s, got = node.now_s, dict[int, tuple[Trained, float]]()
    while len(got) < count and (left_s := began_s + params.timeout_s - node.now_s) > 0:
        received = yield node.receive(Trained, timeout_s=left_s)
        if received is None:
            break
        if received.msg.number == number:
            got[received.sender] = received.msg, min(node.now_s - began_s, params.timeout_s)
    return got


def on_client(node: Node, params: Params) -> Process:
    """Train what the server sends, and send it back."""
    (server,) = node.servers
    while True:
        received = yield node.receive(Selected, timeout_s=None)
        theta, number = received.msg.theta, received.msg.number
        node.publish(theta, "received")
        loss = yield node.value(node.loss(theta, "train"), default=0.0)
        trained = yield node.train(theta, epochs=params.epochs)
        yield node.send(server, Trained(trained.theta, node.train_size, finite(loss), number))
