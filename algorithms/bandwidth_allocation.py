"""Bandwidth allocation: rounds whose uploads share a cell's band as an agent divides it.

Source: Shi, Zhou, Niu, Jiang and Geng, "Joint Device Scheduling and Resource Allocation for Latency
Constrained Wireless Federated Learning", IEEE Trans. Wireless Commun. 20(1), 2021,
arXiv:2007.07174, its allocation of bandwidth to the devices of a round: client i has computed after
t_i and sends b bits with a share x_i of the band W, so that a round takes the largest of
t_i + b / (x_i W e_i), e_i its spectral efficiency. All finish at once in the best division.

The server sends the model to each client, clients compute and send their updates. The agent
divides the uplink when a round has begun and whenever an update has come in, among those whose
update is missing. It is told how long each client will compute on, as it took in the rounds before
(0 until the first update), how long the rest of its upload takes with the whole band by its channel
now, the SNR, and the energy that each said its last round has cost. What the rest is follows from
the shares that it had; fading and lost packets make it an estimate.

Departures: the power over hertz stays the same whatever share a client has, the paper's power
stays; all clients take part in each round. The updates of a round are all mixed, in whatever order
they come, so that what is learned does not depend on the division: only time and energy are played,
and models are sizes in bits.

Personalizes: nothing: no model is trained.
Shares: an update of a given size.
Sends: `update_bits` up, `model_bits` down to each client.
Needs: a server that is a base station (`[radio.mac] kind = "ofdma"`), no data and no model.
Cost a round: `S` steps of each client, in time and energy.
Late or absent peers: a round ends after `timeout_s`; what comes later is not used.
"""

from dataclasses import dataclass
from typing import Any

from netsim import api
from netsim.api import Node, Process

MOST = 1e9
"""Greatest number that an agent is told: what takes for ever counts as it."""


class Params(api.Params):
    """Keys of bandwidth allocation.

    Attributes
    ----------
    rounds
        Rounds after which the server stops. Absent: none; it goes on to the end of the run.
    local_steps
        Local steps of a client in a round.
    update_bits
        Size of an update [bit].
    model_bits
        Size of the model that the server sends to each client [bit].
    timeout_s
        Time after which a round ends without the updates that are missing [s].
    policy
        Rule that divides the band where no agent plays.
    """

    rounds: api.Count | None = None
    local_steps: api.Count = 5
    update_bits: api.Count = 1_000_000
    model_bits: api.Count = 1_000_000
    timeout_s: api.Positive = 60.0
    policy: api.Policy = api.RandomPolicy()


@dataclass(frozen=True)
class Begin(api.Message):
    """The model, and the number of the round that begins."""

    model: api.Opaque
    number: int


@dataclass(frozen=True)
class Update(api.Message):
    """A client's update: of which round, how long it has computed, and what energy that cost."""

    update: api.Opaque
    number: int
    compute_s: float
    energy_j: float


def decides(params: Params, roles: tuple[str, ...]) -> api.Decides:
    """Declare that the server divides the band among the clients."""
    n = sum(role != "server" for role in roles)
    return api.Decides(
        deciders=tuple(i for i, role in enumerate(roles) if role == "server"),
        observation={
            "compute_s": api.Numbers((n,), 0.0, MOST),
            "upload_s": api.Numbers((n,), 0.0, MOST),
            "snr_db": api.Numbers((n,), -100.0, 100.0),
            "energy_j": api.Numbers((n,), 0.0, MOST),
        },
        action=api.Shares(n),
        policy=params.policy.choose,
        reward={"time_s": -1.0},
    )


@api.algorithm(decides=decides, learns=False, wakes=False, needs_server=True, allocates=True)
def processes(node: Node, params: Params) -> list[Process]:
    """A server that divides the band, and clients that compute and upload."""
    api.require_one_server(node)
    if node.role == "server":
        return [on_server(node, params)]
    return [on_client(node, params)] if node.servers else []


class Round:
    """The server's knowledge of a round under way.

    Parameters
    ----------
    node : Node
        The server.
    params : Params
    clients : list of int
    compute_s : list of float
        How long each client computes, as far as that is known.
    """

    def __init__(
        self, node: Node, params: Params, clients: list[int], compute_s: list[float]
    ) -> None:
        self.node, self.clients, self.missing = node, clients, set(clients)
        self.ready_s = [node.now_s + each for each in compute_s]
        self.left_bits = [float(params.update_bits)] * len(clients)
        self.shares, self.since_s = [0.0] * len(clients), node.now_s

    def observation(self, energy_j: list[float]) -> dict[str, Any]:
        """Observe the round for the agent."""
        node, now = self.node, self.node.now_s
        csi = [node.csi(i) for i in self.clients]
        for k, channel in enumerate(csi):
            sent_s = max(0.0, now - max(self.since_s, self.ready_s[k]))
            self.left_bits[k] = max(
                1.0, self.left_bits[k] - sent_s * self.shares[k] * channel.rate_bps
            )
        self.since_s, is_missing = now, [i in self.missing for i in self.clients]
        upload_s = [
            min(bits / channel.rate_bps, MOST) if channel.rate_bps else MOST
            for bits, channel in zip(self.left_bits, csi, strict=True)
        ]
        compute_s = [max(0.0, ready_s - now) for ready_s in self.ready_s]
        return {
            "compute_s": [s if m else 0.0 for s, m in zip(compute_s, is_missing, strict=True)],
            "upload_s": [s if m else 0.0 for s, m in zip(upload_s, is_missing, strict=True)],
            "snr_db": [min(max(channel.snr_db, -100.0), 100.0) for channel in csi],
            "energy_j": [min(joules, MOST) for joules in energy_j],
        }

    def divide(self, given: Any) -> None:
        """Give the band to those whose update is missing, as the agent has it among them."""
        weights = [
            float(w) if i in self.missing else 0.0 for i, w in zip(self.clients, given, strict=True)
        ]
        if not sum(weights):
            weights = [float(i in self.missing) for i in self.clients]
        self.shares = [w / sum(weights) for w in weights]
        self.node.allocate(dict(zip(self.clients, self.shares, strict=True)))


def on_server(node: Node, params: Params) -> Process:
    """Begin a round, divide, wait, divide again."""
    clients = [i for i in range(node.num_nodes) if i != node.id]
    compute_s, energy_j = [0.0] * len(clients), [0.0] * len(clients)
    number = 0
    while params.rounds is None or number < params.rounds:
        number, began_s = number + 1, node.now_s
        for i in clients:
            node.send(i, Begin(api.Opaque(None, params.model_bits), number))
        this = Round(node, params, clients, compute_s)
        while this.missing and (left_s := began_s + params.timeout_s - node.now_s) > 0:
            this.divide((yield node.decide(this.observation(energy_j))))
            received = yield node.receive(Update, timeout_s=left_s)
            if received is None:
                break
            if received.msg.number == number:
                k = clients.index(received.sender)
                this.missing.discard(received.sender)
                compute_s[k], energy_j[k] = received.msg.compute_s, received.msg.energy_j
        node.record("round_s", node.now_s - began_s)
        node.record("missing", len(this.missing))


def on_client(node: Node, params: Params) -> Process:
    """Compute what the server asks for, and upload it."""
    (server,) = node.servers
    before_j = 0.0
    while True:
        received = yield node.receive(Begin, timeout_s=None)
        yield node.work(steps=params.local_steps)
        compute_s, energy_j = node.now_s - received.sent_s, node.energy_j
        update = api.Opaque(None, params.update_bits)
        yield node.send(server, Update(update, received.msg.number, compute_s, energy_j - before_j))
        before_j = energy_j
