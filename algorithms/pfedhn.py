"""pFedHN: one hypernetwork makes every node's model from an embedding of that node.

Source: Shamsian, Navon, Fetaya and Chechik, "Personalized federated learning using hypernetworks",
ICML 2021, Algorithm 1, as a baseline of pFedGraph and its code.

Symbols: h hypernetwork with parameters phi, v_i embedding of node i (one of them), theta_i = h(v_i;
phi) the model made for node i, theta~_i what local training makes of it, Delta_i = theta~_i -
theta_i.

h is a linear layer from v_i, `hidden_layers` times ReLU and a linear layer, and a linear layer to
all parameters of a model (6,295,206 numbers for pFedGraph's 10 nodes with a LeNet).
A node that is visited trains from theta_i and sends Delta_i; then phi and all v take a step of SGD
along -J' Delta_i, J the derivative of h(v_i; phi). Nodes that are visited next get their theta_i.

With a node of role `server` the server has h. Without one, each node has a copy, starts from the
same draws and applies the Delta_j that it hears: over a complete topology that loses nothing the
copies stay equal and are the server's, for |theta| a visit and neighbour.

Readings and departures:
- `visits` nodes train in a round, drawn anew each round; one in the paper and pFedGraph's code, by
  default all, whose steps follow one after another by node number, each with J at the phi of that
  moment. Under schedules without rounds a node is visited when it wakes.
- The first theta_i costs no message: a node draws the first h itself. What is not generated, as
  running statistics, stays with its node.
- A node that is not visited keeps the theta_i that it was sent last, though phi has moved on; among
  peers its own copy makes a new one.
- `rate`, `momentum`, `decay` and `clip` (largest norm of a gradient of h) as pFedGraph sets them;
  local training has the scenario's ([training] clip_norm: 50 there).
- Each Delta_j is applied once; one older than `max_age_s` is not. There is nothing else that an
  absent node could mean.
- The model to report is theta_i, published as `mixed`; theta~_i is `trained`.

Personalizes: the whole model, generated from an embedding of the node.
Shares: a hypernetwork; what is sent are changes of models.
Sends: `b * P` per neighbour; with a server `b * P` up, `b * P` down.
Needs: equal architectures; memory for a hypernetwork of about 100 P numbers.
Cost a round: `S` steps; a step of the hypernetwork for each change that arrives.
Late or absent peers: a change that does not arrive is a step less; the peers' copies of the
hypernetwork then differ.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor

from netsim import api
from netsim.api import Count, Message, Node, NonNegative, Process, Ref


class Params(api.PlainTraining, api.AbsenceParams):
    """The hypernetwork, its optimizer, and how many nodes train in a round; values as in pFedGraph.

    Attributes
    ----------
    visits
        Number of nodes that train in a round, drawn anew each time. Absent: all. Source: Shamsian
        et al. 2021, Algorithm 1 (one).
    embedding
        Numbers of a node's embedding.
    hidden
        Width of the hypernetwork's hidden layers.
    hidden_layers
        Number of hidden layers after the first one.
    rate
        Learning rate of the hypernetwork.
    momentum
        Momentum of the hypernetwork's SGD.
    decay
        Weight decay of the hypernetwork.
    clip
        Largest norm of a gradient of the hypernetwork.
    absent
        Substitute for a node that is not heard: nothing; a change is applied or not.
    """

    visits: Count | None = None
    embedding: Count = 20
    hidden: Count = 100
    hidden_layers: Count = 3
    rate: NonNegative = 0.01
    momentum: api.Fraction = 0.9
    decay: NonNegative = 1e-3
    clip: api.Positive = 50.0
    absent: Literal["renormalise"] = "renormalise"


@dataclass(frozen=True)
class Generated(Message):
    """theta_i."""

    theta: Ref


@dataclass(frozen=True)
class Change(Message):
    """Delta_i."""

    delta: Ref


@api.algorithm(needs_parts=("head",), common_parts=("parameters",))
def processes(node: Node, params: Params) -> list[Process]:
    """A server, a client of it, or a node among peers."""
    api.require_one_server(node)
    inbox, hypernet = api.Inbox(node, Change, params), Hypernet(node, params)
    if node.role == "server":
        return [server(node, inbox, hypernet), *inbox.listeners()]
    state = State(node, params, hypernet)
    if node.servers:
        return [client(node, state, hypernet), on_generated(node, params, state)]
    return [peer(node, state, inbox, hypernet), *inbox.listeners()]


class Hypernet:
    """phi with all v, its momentum, and who is visited when."""

    def __init__(self, node: Node, params: Params) -> None:
        self.node, self.params = node, params
        self.server = node.id if node.role == "server" else min(node.servers, default=None)
        self.num_clients = node.num_nodes - (self.server is not None)
        num_outputs = node.initial().part("parameters").num_values
        self.form = form(self.num_clients, params, num_outputs)
        (u,) = node.uniform("hypernetwork", 1, common=True)
        size = (sum(rows * columns for rows, columns in self.form),)
        like, seed = node.initial().part("head"), int(u * 2**31)
        self.phi: Ref = node.compute(drawn, like, self.form, seed, like=size)
        self.momentum: Ref = node.compute(zeros, like, size[0], like=size)
        self.applied: dict[int, float] = {}
        self._visited: list[set[int]] = []

    def place(self, i: int) -> int:
        """Number of node i's embedding."""
        return i - (self.server is not None and self.server < i)

    def is_visited(self, i: int, in_round: int) -> bool:
        """Return whether node i trains in a round."""
        if self.params.visits is None or self.node.schedule != "rounds":
            return True
        while len(self._visited) < in_round:
            draws = self.node.uniform("visits", self.num_clients, common=True)
            order = sorted(range(self.num_clients), key=draws.__getitem__)
            self._visited.append(set(order[: self.params.visits]))
        return self.place(i) in self._visited[in_round - 1]

    def generate(self, i: int) -> Ref:
        """theta_i = h(v_i; phi)."""
        like = self.node.initial().part("parameters")
        made: Ref = self.node.compute(
            generated, self.phi, self.form, self.place(i), like=like.shape
        )
        return made

    def learn(self, inbox: api.Inbox, changes: Mapping[int, Change]) -> list[int]:
        """A step for each change that has not been applied yet; whose these were."""
        sent_s = {j: inbox.last[j].sent_s if j in inbox.last else self.node.now_s for j in changes}
        own = self.node.id
        new = [j for j in sorted(changes) if j == own or sent_s[j] > self.applied.get(j, -1.0)]
        deltas = [changes[j].delta for j in new]
        factors = api.staleness_factors(self.node, self.params, deltas, None)
        for j, delta, s in zip(new, deltas, factors, strict=True):
            self.phi, self.momentum = self.node.compute(
                step, self.phi, self.momentum, delta if s == 1.0 else s * delta, self.form,
                self.place(j), self.params, like=(self.phi, self.momentum),
            )  # fmt: skip
            self.applied[j] = sent_s[j]
        return new


class State:
    """A node's theta_i."""

    def __init__(self, node: Node, params: Params, hypernet: Hypernet) -> None:
        self.node, self.params = node, params
        self.theta = node.initial()
        self.take(hypernet.generate(node.id))

    def take(self, parameters: Ref) -> None:
        """Go on from a new theta_i."""
        self.theta = self.theta.with_part("parameters", parameters)
        self.node.publish(self.theta, "mixed")

    def change(self) -> Process:
        """Train from theta_i: Delta_i."""
        before = self.theta
        trained = (yield self.node.train(before, **self.params.how())).theta
        self.node.publish(trained, "trained")
        self.theta = api.with_statistics_of(trained, self.theta)
        parts = [theta.part("parameters") for theta in (trained, before)]
        return Change(self.node.mix(parts, [1.0, -1.0]))


def server(node: Node, inbox: api.Inbox, hypernet: Hypernet) -> Process:
    """Steps of h, then theta_i for the nodes that are visited next."""
    while True:
        yield node.wakeup()
        changes = yield from inbox.exchange()
        heard = hypernet.learn(inbox, changes)
        known = node.neighbours if node.schedule == "rounds" else heard
        for i in known:
            if hypernet.is_visited(i, node.round + 1):
                node.send(i, Generated(hypernet.generate(i)))


def client(node: Node, state: State, hypernet: Hypernet) -> Process:
    """Train when visited and send Delta_i."""
    while True:
        yield node.wakeup()
        if hypernet.is_visited(node.id, node.round):
            change = yield from state.change()
            yield node.exchange(change, to=node.servers, expect=())


def on_generated(node: Node, params: Params, state: State) -> Process:
    """A theta_i arrives."""
    while True:
        received = yield node.receive(Generated, timeout_s=None)
        if received.age_s <= node.max_age_s:
            state.take(received.msg.theta)


def peer(node: Node, state: State, inbox: api.Inbox, hypernet: Hypernet) -> Process:
    """Without a server: train when visited, exchange, step the own copy of h."""
    while True:
        yield node.wakeup()
        mine = None
        if hypernet.is_visited(node.id, node.round):
            mine = yield from state.change()
        changes = yield from inbox.exchange(mine)
        hypernet.learn(inbox, changes if mine is None else {**changes, node.id: mine})
        state.take(hypernet.generate(node.id))


Form = tuple[tuple[int, int], ...]
"""Shapes of what phi holds: embeddings, then a weight and a bias (as a column) of each layer."""


def form(num_nodes: int, params: Params, num_outputs: int) -> Form:
    """The shapes for so many nodes and so many parameters of a model."""
    hidden = [params.hidden] * (params.hidden_layers + 1)
    sizes = [params.embedding, *hidden, num_outputs]
    layers = (shape for n, m in pairwise(sizes) for shape in ((m, n), (m, 1)))
    return ((num_nodes, params.embedding), *layers)


def unpacked(phi: Tensor, form: Form) -> list[Tensor]:
    """Split phi into its tensors, each in its shape."""
    parts = torch.split(phi, [rows * columns for rows, columns in form])
    return [part.view(shape) for part, shape in zip(parts, form, strict=True)]


def drawn(like: Tensor, form: Form, seed: int) -> Tensor:
    """Numbers of h as torch.nn draws them: v normal, others uniform in +- 1 / sqrt(inputs)."""
    generator = torch.Generator().manual_seed(seed)
    parts = [torch.randn(form[0], generator=generator, dtype=torch.float64)]
    for weight, bias in zip(form[1::2], form[2::2], strict=True):
        for shape in (weight, bias):
            u = torch.rand(shape, generator=generator, dtype=torch.float64)
            parts.append((2 * u - 1) / weight[1] ** 0.5)
    return torch.cat([part.reshape(-1) for part in parts]).to(like)


def zeros(like: Tensor, size: int) -> Tensor:
    """Zeros where and in the precision in which models are: (size,)."""
    return like.new_zeros(size)


def generated(phi: Tensor, form: Form, place: int) -> Tensor:
    """h(v; phi) of the embedding at a place: (P,)."""
    embeddings, *layers = unpacked(phi, form)
    z = embeddings[place]
    for k, (weight, bias) in enumerate(zip(layers[::2], layers[1::2], strict=True)):
        is_inside = 0 < k < len(layers) // 2 - 1  # ReLU comes before each of the hidden layers
        z = F.linear(torch.relu(z) if is_inside else z, weight, bias[:, 0])
    return z


def step(
    phi: Tensor, momentum: Tensor, delta: Tensor, form: Form, place: int, params: Params
) -> tuple[Tensor, Tensor]:
    """One step of SGD along -J' Delta.

    Parameters
    ----------
    phi, momentum : torch.Tensor
        All numbers of h, and their momentum.
    delta : torch.Tensor
        (P,)
    form : tuple of (int, int)
    place : int
        Whose embedding.
    params : Params

    Returns
    -------
    phi, momentum : torch.Tensor
    """
    with torch.enable_grad():
        at = phi.detach().clone().requires_grad_()
        (g,) = torch.autograd.grad(generated(at, form, place), at, grad_outputs=-delta)
    g = g * (params.clip / (torch.linalg.vector_norm(g) + 1e-6)).clamp(max=1.0)  # as torch clips
    momentum = params.momentum * momentum + g + params.decay * phi
    return phi - params.rate * momentum, momentum
