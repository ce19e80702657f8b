"""pFedGraph: weigh every other node's model by size and by the similarity of updates.

Source: Ye, Ni, Wu, Chen and Wang, "Personalized federated learning with inferred collaboration
graphs", ICML 2023, Algorithm 1 and Eqs. (1)-(4); code at github MediaBrain-SJTU/pFedGraph.

Symbols: theta_i trained model, theta_init common initial model, n_i training samples, p_i = n_i /
sum n, W collaboration graph (row i: node i's weights, its own included), S_ij similarity, alpha
weight of similarity against size, theta~_i = sum_j W_ij theta_j the model that node i starts the
next round from, theta-_i = sum_j W_ij theta_j / ||theta_j|| the direction it keeps near, lam.

With a node of role `server` this is the published algorithm: clients send models, the server solves
the graph and answers each. Without one, nodes exchange models and each solves its own row: the same
numbers for (K - 1) |theta| received a node and round. Under `rounds` this is Algorithm 1; under
other schedules a node takes what has come by its own wake-up, the server answers, by its own clock,
every client heard from since, and `[training] on_arrival` says what an answer does to a client that
trains.

Readings and departures:
- The code's `alpha` weighs the size term: alpha here is the paper's, 1 / (the code's). The reported
  "0.08 K" is the code's, so the default is 1 / (0.08 K), 1.25 for K = 10.
- The code adds lam cos(.) to the loss, which drives models apart; Eq. (3) subtracts lam/2 cos(.):
  `sign = "paper"`, or `"code"`.
- Eq. (1) has the cosine of models, which is about 1 for every pair; Appendix C and the code that of
  updates theta - theta_init, used here, over all layers or the linear ones only (`layers = "fc"`).
- Similarities over 0.9, strictly, count as 1.
- ||x - p||^2 - alpha s.x is ||x - (p + alpha s / 2)||^2 plus a constant, so the minimiser of Eqs.
  (2) and (4) on the simplex is a projection; the code calls a QP solver.
- `augment`: random crops and mirrored images in training, as the code does for CIFAR.
- `direction = "approx"`: theta~_i / ||theta~_i|| stands for theta-_i, which is then not sent.
- Ablations: `sizes = "equal"` has p_j = 1/K (Table 9); `graph = "similarity"` solves nothing, W_ij
  is max(0, S_ij) over the sum of its row (Tables 8 and 13). Table 5's metrics are not spelled out.
  Taken for S_ij (`similarity`): the inner product over that of i with itself, 1 / (1 + distance)
  for "l1" and "l2". Taken in Eq. (3) (`regulariser`), where theta~_i stands for all theta_j and
  nothing more is sent: -lam/2 theta.theta~_i, lam/2 ||theta - theta~_i||^2 (the gradient of the
  mean over j) and lam/2 ||theta - theta~_i||_1.
- n_i counts training samples; the code's counts those cut off for validation too.
- W^0 is never used: no regulariser before the first answer.
- A model with values that are not finite gets weight 0; the code's solver would fail.
- Over lossy links (`AbsenceParams`) the graph is solved over those heard, as the code does
  with sampled clients; under `absent = "self"` as large a part of the weight as the others that are
  missing stays with the node's own model.

Personalizes: the whole model.
Shares: whole models, weighted by likeness of updates and size.
Sends: `b * theta + 32` per neighbour; with a server `b * theta + 32` up, `b * (theta + P)` down (`b
* theta` with `direction = "approx"`).
Needs: equal architectures; a common initial model.
Cost a round: `S` steps, two means per node.
Late or absent peers: the graph is solved over the models that came; with `absent`, the own model
takes the weight of the others, or their last models replace them. A client that gets no answer
continues from its own model.
"""

import operator
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal, Self

import torch
import torch.nn.functional as F
from torch import Tensor

from netsim import api
from netsim.api import Batch, Held, Message, Node, Process, Ref, project_to_simplex

Metric = Literal["cosine", "inner", "l2", "l1"]


class Params(api.AbsenceParams):
    """Graph and local training, with the published values.

    Attributes
    ----------
    steps
        tau, local steps of a round.
    alpha
        Weight of similarity against size. Absent: 1 / (0.08 K) for K nodes. Source: Ye et al. 2023,
        Eq. (2).
    lam
        Strength of the pull towards theta-_i in local training. Source: Ye et al. 2023, Eq. (3).
    threshold
        Similarity above which two nodes count as equal. Source: Ye et al. 2023, the code.
    layers
        Layers whose updates are compared: all, or the fully connected ones ("fc").
    direction
        Model near which a node keeps: theta-_i, which is sent as well, or the mean that it starts
        from ("approx").
    sign
        Sign of the pull: the paper's, or that of the code, which drives models apart.
    augment
        Whether training images are cropped and mirrored at random, as the code does for CIFAR.
    graph
        Whether the graph is solved for, or follows from similarities alone. Source: Ye et al. 2023,
        Tables 8 and 13 ("similarity").
    sizes
        Weight of a node: its training samples, or the same for all. Source: Ye et al. 2023, Table 9
        ("equal").
    similarity
        Comparison of updates for the graph. Source: Ye et al. 2023, Table 5.
    regulariser
        Comparison of models in the local loss. Source: Ye et al. 2023, Table 5.
    """

    steps: api.Count = 200
    alpha: api.NonNegative | None = None
    lam: api.NonNegative = 0.01
    threshold: api.Finite = 0.9
    layers: Literal["all", "fc"] = "all"
    direction: Literal["exact", "approx"] = "exact"
    sign: Literal["paper", "code"] = "paper"
    augment: Annotated[bool, api.Needs("images")] = False
    graph: Literal["solved", "similarity"] = "solved"
    sizes: Literal["samples", "equal"] = "samples"
    similarity: Metric = "cosine"
    regulariser: Metric = "cosine"

    @api.model_validator(mode="after")
    def _is_used(self) -> Self:
        unused = {"alpha", "sizes"} if self.graph == "similarity" else set[str]()
        for key in self.changed(unused):
            raise ValueError(f'{key} has no meaning with graph = "similarity"')
        if self.regulariser != "cosine" and self.changed(["direction"]):
            raise ValueError('direction is for regulariser = "cosine"')
        return self


@dataclass(frozen=True)
class Personal(Message):
    """Models from which a node trains on: theta~_i, and theta-_i unless that is approximated."""

    theta: Ref
    direction: Ref | None


@dataclass
class State:
    """A node's model, and the direction that it keeps near once it has one."""

    model: Held
    direction: Ref | None = None


@api.algorithm(mixes_to_one=True, tasks=("any",), common_parts=("parameters",))
def processes(node: Node, params: Params) -> list[Process]:
    """A server, a client of it, or a node among peers."""
    api.require_one_server(node)
    inbox = api.Inbox(node, api.Update, params)
    if node.role == "server":
        return [server(node, params, inbox), *inbox.listeners()]
    state = State(node.hold(node.initial()))
    if node.servers:
        return [client(node, params, state), on_personal(node, params, state)]
    return [peer(node, params, state, inbox), *inbox.listeners()]


def client(node: Node, params: Params, state: State) -> Process:
    """Train from theta~_i and send theta_i."""
    while True:
        yield node.wakeup()
        trained = yield train(params, state)
        if trained is not None:  # else an answer has taken its place (`discard_step`)
            node.publish(trained.theta, "trained")
            update = api.Update(trained.theta, node.train_size)
            yield node.exchange(update, to=node.servers, expect=())


def on_personal(node: Node, params: Params, state: State) -> Process:
    """The server's answer arrives."""
    while True:
        received = yield node.receive(Personal, timeout_s=None)
        if received.age_s <= node.max_age_s:
            adopt(node, params, state, received.msg)


def server(node: Node, params: Params, inbox: api.Inbox) -> Process:
    """W^t from all theta_i, then theta~_i and theta-_i for each client heard from."""
    answered: dict[int, float] = {}
    while True:
        yield node.wakeup()
        models = yield from inbox.exchange()
        sent_s = {i: inbox.last[i].sent_s for i in models}
        new = [i for i in models if sent_s[i] > answered.get(i, -1.0)]
        for i, personal in solved(node, params, models, new, len(node.neighbours)):
            node.send(i, personal)
            answered[i] = sent_s[i]


def peer(node: Node, params: Params, state: State, inbox: api.Inbox) -> Process:
    """Without a server: exchange theta_i, solve row i of Eq. (4), mix."""
    while True:
        yield node.wakeup()
        trained = yield train(params, state)
        node.publish(trained.theta, "trained")
        mine = api.Update(trained.theta, node.train_size)
        models = (yield from inbox.exchange(mine)) | {node.id: mine}
        for _, personal in solved(node, params, models, [node.id], len(node.neighbours) + 1):
            adopt(node, params, state, personal)


def train(params: Params, state: State) -> Any:
    """Local steps on H_i, Eq. (3), from theta~_i; on F_i alone while there is no theta-_i."""
    strength = -params.lam / 2 if params.sign == "paper" else params.lam
    direction = state.direction if params.lam else None
    loss_of = augmented_loss if params.augment else regularised_loss
    given = (direction, strength, params.regulariser)
    return state.model.train(steps=params.steps, loss=loss_of, given=given)


def adopt(node: Node, params: Params, state: State, personal: Personal) -> None:
    """Go on from theta~_i."""
    state.model.replace(personal.theta)
    mixed = personal.theta.part("parameters")
    if params.regulariser != "cosine":
        state.direction = mixed
    else:
        state.direction = personal.direction or node.compute(F.normalize, mixed, 2.0, 0)
    node.publish(personal.theta, "mixed")


def solved(
    node: Node, params: Params, models: dict[int, api.Update], whose: Sequence[int], clients: int
) -> Iterable[tuple[int, Personal]]:
    """Solve the rows of the nodes `whose` over the models at hand; (i, theta~_i and theta-_i).

    `clients` is K: how many models there would be if none were missing.
    """
    if not whose:
        return
    ids = sorted(models)
    thetas = [models[j].theta for j in ids]
    sizes = tuple(models[j].size if params.sizes == "samples" else 1 for j in ids)
    part = "parameters" if params.layers == "all" else "fully_connected"
    alpha: float | None = 1.0 / (0.08 * clients) if params.alpha is None else params.alpha
    compared, initial = tuple(t.part(part) for t in thetas), node.initial().part(part)
    positions = tuple(ids.index(i) for i in whose)
    if params.graph == "similarity":
        alpha = None
    constants = (alpha, params.threshold, params.similarity)
    missing = (clients - len(ids)) / max(clients - 1, 1) if params.absent == "self" else 0.0
    graph = node.compute(rows, compared, initial, sizes, positions, *constants)
    parts = tuple(theta.part("parameters") for theta in thetas)
    for k, i in enumerate(whose):
        w = node.compute(operator.getitem, graph, k)
        node.log_weights(ids, w, node=i, what="learned")
        if missing:
            w = node.compute(with_missing, w, positions[k], missing)
        w = api.discounted(node, params, thetas, w, positions[k])
        node.log_weights(ids, w, node=i)
        exact = params.direction == "exact" and params.regulariser == "cosine"
        near = node.mix(parts, node.compute(over_norms, w, parts)) if exact else None
        yield i, Personal(node.mix(thetas, w), near)


def update_similarity(updates: Tensor, threshold: float = 0.9) -> Tensor:
    """S of Eq. (1), (K, K): cosines of updates theta_j - theta_init, those over the threshold as 1.

    `updates` is (K, P); the column of one that is not finite is -inf.
    """
    return similarity_to(updates, updates, threshold)


def similarity_to(
    own: Tensor, updates: Tensor, threshold: float, metric: Metric = "cosine"
) -> Tensor:
    """Rows of S: (m, K) from (m, P) and (K, P).

    Parameters
    ----------
    own : torch.Tensor
        (m, P), some of `updates`.
    updates : torch.Tensor
        (K, P).
    threshold : float
        What is over it counts as 1.
    metric : Metric
    """
    likeness = alike(own, updates, metric).nan_to_num(nan=0.0)
    s = torch.where(likeness > threshold, torch.ones_like(likeness), likeness)
    return s.masked_fill(~updates.isfinite().all(dim=-1), -torch.inf)


def alike(own: Tensor, updates: Tensor, metric: Metric) -> Tensor:
    """Cosine similarities of updates: (m, K) from (m, P) and (K, P)."""
    if metric in ("l1", "l2"):
        apart = [torch.linalg.vector_norm(updates - x, ord=int(metric[1]), dim=-1) for x in own]
        return 1 / (1 + torch.stack(apart))
    length: Tensor = torch.linalg.vector_norm(own, dim=-1, keepdim=True).clamp(min=1e-8)
    if metric == "inner":
        return torch.matmul(own, updates.T) / length.square()
    lengths = torch.linalg.vector_norm(updates, dim=-1, keepdim=True).clamp(min=1e-8)
    return torch.matmul(own / length, (updates / lengths).T)


def similarity_weights(similarity: Tensor) -> Tensor:
    """max(0, S_ij) over the sum of its row: (m, K); a row without any is shared by all finite."""
    positive = similarity.clamp(min=0.0)
    finite = (~similarity.isneginf()).to(positive)
    positive = torch.where(positive.sum(dim=-1, keepdim=True) > 0, positive, finite)
    return positive / positive.sum(dim=-1, keepdim=True)


def collaboration_weights(similarity: Tensor, sizes: Tensor, alpha: float) -> Tensor:
    """W of Eqs. (2) and (4), (..., K): row i minimises ||x - p||^2 - alpha S_i.x on the simplex.

    Parameters
    ----------
    similarity : torch.Tensor
        (..., K), any number of rows; a weight is 0 where it is -inf.
    sizes : torch.Tensor
        (K,), n_j.
    alpha : float
        The paper's: 1 / (the argument of the published code).
    """
    p = sizes.to(similarity) / sizes.sum()
    # -inf becomes what lies so far below all others that the projection gives it nothing.
    target = torch.where(similarity.isneginf(), p - 2 - alpha, p + alpha / 2 * similarity)
    return project_to_simplex(target)


def rows(
    thetas: tuple[Tensor, ...],
    initial: Tensor,
    sizes: tuple[int, ...],
    positions: tuple[int, ...],
    alpha: float | None,
    threshold: float,
    metric: Metric = "cosine",
) -> Tensor:
    """Rows of W at some positions, (m, K).

    Without an alpha they are by similarity alone.
    """
    updates, own = torch.stack(thetas) - initial, list(positions)
    similarity = similarity_to(updates[own], updates, threshold, metric)  # Eq. (1)
    if alpha is None:
        return similarity_weights(similarity)
    return collaboration_weights(similarity, similarity.new_tensor(sizes), alpha)  # Eqs. (2), (4)


@api.batched
def with_missing(w: Tensor, own: int, missing: float) -> Tensor:
    """A row of W (K,), the part `missing` of which stays on its own entry."""
    kept = torch.zeros_like(w)
    kept[own] = missing
    return (1 - missing) * w + kept


def over_norms(w: Tensor, thetas: Sequence[Tensor] | Tensor) -> Tensor:
    """w_j / ||theta_j||, and 0 where w_j is: (K,)."""
    norms = torch.stack([torch.linalg.vector_norm(theta) for theta in thetas])
    return torch.where(w > 0, w / norms, torch.zeros_like(w))


def alignment(theta: Tensor, direction: Tensor, metric: Metric = "cosine") -> Tensor:
    """The inner product of theta / ||theta|| and a direction: a scalar.

    By the other metrics, where `direction` is theta~_i: their inner product, or how far apart they
    are, negative.
    """
    if metric == "inner":
        return torch.dot(theta, direction)
    if metric == "l2":
        return -(theta - direction).square().sum()
    if metric == "l1":
        return -(theta - direction).abs().sum()
    length: Tensor = torch.linalg.vector_norm(theta)
    return torch.dot(theta, direction) / length


def cosine_regularizer(theta: Tensor, thetas: Tensor, w: Tensor, lam: float) -> Tensor:
    """-lam/2 sum_j w_j cos(theta, theta_j), what Eq. (3) adds to the loss: (P,), (K, P), (K,)."""
    return -lam / 2 * alignment(theta, over_norms(w, thetas) @ thetas)


def regularised_loss(
    model: torch.nn.Module,
    batch: Batch,
    learned: dict[str, Tensor],
    direction: Tensor | None,
    strength: float,
    metric: Metric = "cosine",
) -> Tensor:
    """H_i of Eq. (3): the loss, and strength (-lam/2) times the alignment with theta-_i."""
    value = batch.loss(model(batch.x))
    if direction is None:
        return value
    theta = torch.cat([parameter.reshape(-1) for parameter in model.parameters()])
    return value + strength * alignment(theta, direction, metric)


@api.loss(uniforms=api.CROP_FLIP_DRAWS)
def augmented_loss(model: torch.nn.Module, batch: Batch, *rest: Any) -> Tensor:
    """The same on cropped and mirrored images."""
    return regularised_loss(model, replace(batch, x=api.crop_and_flip(batch)), *rest)
