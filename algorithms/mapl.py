"""MAPL: contrastive prototypes and a learned graph, for nodes whose models may differ.

Source: Mukherjee, Simonetto and Jamali-Rad, "MAPL: model agnostic peer-to-peer learning", 2024
(arXiv:2403.19792); code at github SayakMukherjee/MAPL. PML is the local learning, CGL the learning
of the graph.

Symbols: f_i backbone, h_i projection, g_i head with one weight vector a class, P_i prototypes
(C, D), z projections, tau temperature, w_i weights on the node itself and its peers, s_ij
similarity of heads, c_j = n_j / sum n confidence, d_i = sum_j w_ij - w_ii degree, E local epochs,
E_g graph steps.

A round: train on L = L_supcon + L_proto + L_unif + L_CE (PML); from round `warmup_rounds` on swap
heads and take a graph step (CGL); tell peers whose edge has appeared or gone; swap prototypes over
active edges, those with w_ij > 0; P_i is their weighted mean in the next round. Any architectures
that share D: `[model] kind = "mapl"`; one without a projection projects by its features.

Readings and departures (paper against code; taken is what the published tables ran):
- L_supcon is minus the log of the *sum* over positives, not Khosla's mean of logs. In L_proto and
  L_unif prototypes are not normalised; tau cancels in L_proto; L_unif has no log.
- The barrier -log(d_i + delta) has no gradient in the code, where d_i is a constant of the step
  before: `barrier = "inert"`. `"active"` keeps w_i uniform, for steps of Adam see only signs.
- A graph step is one of a fresh Adam (betas 0.5, 0.999), then the projection on the simplex; the
  l2 term is not squared. With E_g > 1 Adam's state lasts the E_g steps.
- s_i is divided by its largest value over peers, unless none is positive. Peers that are no
  neighbours stay at 0 (the code pushes them down, and the projection may lift them again).
- Heads go to all neighbours (`heads = "all"`, the code; a pruned edge can come back), or over
  active edges only (`"active"`). A head carries n_j (32 bits); sum n is over the neighbourhood.
- A receiver tells the sender of an edge (`Edge`) when it appears or goes, again in the next round
  if what comes from the sender shows that this was lost. The paper counts no such messages.
- The last, smaller batch of an epoch is trained on; the code drops it.
- Ablations: `contrast = false` leaves out L_supcon, `uniformity = false` L_unif (Table 2), where
  `warmup_rounds` as long as the run leaves out CGL; in the graph step `similarity = false` has
  s_ij = 1, `confidence = false` c_j = 1, `norm = "l1"` ||w_i||_1 (Table 3).
- `mix_backbones` is MAPL+, for equal architectures: parameters of the backbones with the same
  weights and in the same messages; running statistics stay at home. The code never calls it.
- Absent and late peers: see `AbsenceParams`. The graph step leaves the weight of a peer as it is if
  its head did not come. Each node counts its own rounds.

Personalizes: the whole model; with `mix_backbones` the head and the projection.
Shares: prototypes of classes, and heads to compare.
Sends: `b * C * F` per neighbour until `warmup_rounds`, then `2 * b * C * F + 32` (prototypes over
edges with a weight only), and 1 bit when an edge appears or goes.
Needs: equal numbers of features (models may differ); a model of base and head.
Cost a round: `S` steps on two views of each sample, a graph step, a mean of prototypes.
Late or absent peers: the graph step leaves the weight of a peer as it is if its head did not come;
the mean is over the prototypes that came; with `absent`, the own ones take the weight of the
others, or last ones replace them.
"""

import functools
import itertools
import math
import operator
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import torch
import torch.nn.functional as F
from torch import Tensor

from netsim import api
from netsim.api import (
    Batch,
    Message,
    Node,
    Process,
    Ref,
    project_to_simplex,
    prototype_loss,
    supervised_contrastive_loss,
    uniformity_loss,
)


class Params(api.AbsenceParams):
    """The published values.

    Attributes
    ----------
    local_epochs
        E, passes over the training samples in a round.
    warmup_rounds
        Rounds before heads are swapped and the graph is learned.
    temperature
        tau, divisor of products of features and prototypes.
    graph_steps
        E_g, steps on the graph in a round.
    lam
        Weight of the similarity of heads in a graph step.
    mu
        Weight of the regulariser in a graph step.
    beta
        Weight of the regulariser's norm against its barrier.
    graph_learning_rate
        Learning rate of a graph step (Adam).
    barrier
        Whether -log(d_i + delta) has a gradient: "inert" as in the code, or "active".
    delta
        Constant that keeps the logarithm of the barrier finite.
    heads
        Receivers of heads: to all neighbours, as in the code, or over edges with weight ("active").
    mix_backbones
        Whether backbones are mixed, too (MAPL+); for equal architectures.
    contrast
        Whether the loss has L_supcon; false is an ablation of Table 2.
    uniformity
        Whether the loss has L_unif; false is an ablation of Table 2.
    similarity
        Whether a graph step goes by the similarity of heads; false is an ablation of Table 3.
    confidence
        Whether nodes with more samples count more in a graph step; false is an ablation of Table 3.
    norm
        Norm of w_i in the regulariser; "l1" is an ablation of Table 3.
    augmentation
        Greatest difference of the two views of an image.
    """

    local_epochs: api.Count = 1
    warmup_rounds: api.Index = 100
    temperature: api.Positive = 100.0
    graph_steps: api.Count = 1
    lam: api.NonNegative = 0.5
    mu: api.NonNegative = 0.1
    beta: api.NonNegative = 0.5
    graph_learning_rate: api.Positive = 0.1
    barrier: Literal["inert", "active"] = "inert"
    delta: api.Positive = 1e-6
    heads: Literal["all", "active"] = "all"
    mix_backbones: bool = False
    contrast: bool = True
    uniformity: bool = True
    similarity: bool = True
    confidence: bool = True
    norm: Literal["l2", "l1"] = "l2"
    augmentation: api.Augmentation = api.Augmentation()


@dataclass(frozen=True)
class Head(Message):
    """A classifier's weights, and how many training samples the node has."""

    weight: Ref
    size: int


@dataclass(frozen=True)
class Prototypes(Message):
    """P_j; with MAPL+ the backbone too."""

    prototypes: Ref
    backbone: Ref | None = None


@api.algorithm(
    knows_servers=False,
    mixes_to_one=True,
    tasks=("classification",),
    needs_parts=("head.bias",),
    common_parts=lambda params: ("head.weight", *(("backbone",) if params.mix_backbones else ())),
)
def processes(node: Node, params: Params) -> list[Process]:
    """The round; under `rounds` also what takes in messages that come late."""
    heads, prototypes = api.Inbox(node, Head, params), api.Inbox(node, Prototypes, params)
    edges = api.Edges(node, prototypes, params)
    listeners = [*heads.listeners(), *prototypes.listeners(), *edges.listeners()]
    return [on_round(node, params, heads, prototypes, edges), *listeners]


def on_round(
    node: Node, params: Params, heads: api.Inbox, prototypes: api.Inbox, edges: api.Edges
) -> Process:
    """One node; its own entry comes first in w_i."""
    theta, peers = node.initial(), node.neighbours
    classes = theta.part("head.bias").num_values
    own = first_prototypes_of(node, theta, classes)  # P_i
    uniform = [1.0 / (1 + len(peers))] * (1 + len(peers))
    w, weights = node.compute(first_weights, len(uniform)), uniform  # w_i, and as numbers
    for rounds in itertools.count():
        yield node.wakeup()
        trained = yield node.train(
            theta, epochs=params.local_epochs, loss=pml_loss, given=(params,), learn={"P": own}
        )  # PML
        theta, own = trained.theta, trained.learned["P"]
        node.publish(theta, "trained")
        if rounds >= params.warmup_rounds:  # CGL
            head = Head(theta.part("head.weight"), node.train_size)
            to = peers if params.heads == "all" else edges.subscribers()
            heard = yield from heads.exchange(head, to)
            w = learned_weights(node, params, heads, w, head, heard, classes)
            weights = list((yield node.value(w, default=uniform)))
            yield from edges.settle({j: weights[1 + k] > 0 for k, j in enumerate(peers)})
        node.log_weights([node.id, *peers], weights, what="learned")
        backbone = theta.part("backbone") if params.mix_backbones else None
        came = yield from prototypes.exchange(Prototypes(own, backbone), edges.subscribers())
        of = {j: weights[1 + k] for k, j in enumerate(peers)}
        senders = [j for j in came if of[j] > 0]
        mixed = [own, *(came[j].prototypes for j in senders)]
        full = api.mixing_shares(weights[0], of, senders, params.absent)
        shares = api.discounted(node, params, mixed, full)
        node.log_weights([node.id, *senders], shares)
        own = node.mix(mixed, shares)
        if backbone is not None:  # MAPL+
            backbones = [backbone, *(came[j].backbone for j in senders)]
            theta = theta.with_part("backbone", node.mix(backbones, shares))
            node.publish(theta, "mixed")


def first_prototypes_of(node: Node, theta: Ref, classes: int) -> Ref:
    """P_i (C, D) at the start, as wide as the classifier."""
    like = theta.part("head.weight")
    shape = (classes, like.num_values // classes)
    draws = tuple(node.uniform("prototypes", like.num_values))
    prototypes: Ref = node.compute(first_prototypes, like, draws, shape, like=shape)
    return prototypes


def learned_weights(
    node: Node,
    params: Params,
    heads: api.Inbox,
    w: Ref,
    own: Head,
    heard: Mapping[int, Head],
    classes: int,
) -> Ref:
    """w_i after E_g graph steps over the peers whose heads are at hand."""
    if not heard:
        return w
    sizes = [heads.last[j].msg.size if j in heads.last else 0 for j in node.neighbours]
    total = own.size + sum(sizes)
    confidence = tuple(size / total for size in (own.size, *sizes))
    if not params.confidence:
        confidence = (1.0,) * len(confidence)
    places = (0, *(1 + node.neighbours.index(j) for j in heard))
    known = [own.weight, *(head.weight for head in heard.values())]
    after: Ref = node.compute(graph_row, w, known, places, confidence, classes, params, like=w)
    return after


def first_prototypes(like: Tensor, draws: tuple[float, ...], shape: tuple[int, int]) -> Tensor:
    """P_i ~ U(-1/sqrt(D), 1/sqrt(D)): (C, D), in the models' precision."""
    draws_in = like.new_tensor(draws).view(shape)
    return (draws_in * 2.0 - 1.0) / math.sqrt(shape[1])


def first_weights(count: int) -> Tensor:
    """w_ij = 1/N: (N,). In float64 whatever the models are in, for steps follow signs."""
    return torch.full((count,), 1.0 / count, dtype=torch.float64)


@api.loss(uniforms=2 * api.VIEW_DRAWS)
def pml_loss(model: Any, batch: Batch, learned: dict[str, Tensor], params: Params) -> Tensor:
    """L = L_supcon + L_proto + L_unif + L_CE on two views of each sample."""
    x, y, tau = api.two_views(batch, params.augmentation), batch.y.repeat(2), params.temperature
    prototypes = learned["P"]
    z, logits = projected(model, x)
    parts = [supervised_contrastive_loss(z, y, tau)] if params.contrast else []
    parts.append(prototype_loss(z, y, prototypes))
    if params.uniformity:
        parts.append(uniformity_loss(prototypes, tau))
    return functools.reduce(operator.add, [*parts, F.cross_entropy(logits, y)])


def projected(model: Any, x: Tensor) -> tuple[Tensor, Tensor]:
    """Projections (B, D) and logits (B, C)."""
    if hasattr(model, "projection"):
        z, logits = model.project(x)
        return z, logits
    features = model.features(x)
    return features, model.head(features)


def head_similarity(heads: Tensor) -> Tensor:
    """s_ij, the mean over classes of the cosine of class vectors: (N, C, D) -> (N, N)."""
    unit = F.normalize(heads, dim=-1)
    return torch.einsum("icd,jcd->ij", unit, unit) / heads.shape[1]


def graph_row(
    w: Tensor,
    heads: list[Tensor],
    places: tuple[int, ...],
    confidence: tuple[float, ...],
    classes: int,
    params: Params,
) -> Tensor:
    """E_g steps on w_i (N,) over the members in `places`, whose heads are given, its own first.

    The weights of others stay, and the simplex is that of what they leave.
    """
    s = head_similarity(torch.stack(heads).view(len(heads), classes, -1))[0].to(w)
    s = s.nan_to_num(nan=-1.0)  # a head that has diverged is like no other
    largest = s[1:].max()
    s = torch.where(largest > 0, s / largest, s)
    s[0] = 1.0
    if not params.similarity:
        s = torch.ones_like(s)
    similarity, heard = torch.zeros_like(w), torch.zeros_like(w, dtype=torch.bool)
    similarity[list(places)], heard[list(places)] = s, True
    kept = w.masked_fill(heard, 0.0)
    own = 0 if params.barrier == "active" else None
    return kept + graph_step(
        w, similarity, w.new_tensor(confidence), heard, params.lam, params.mu, params.beta,
        params.graph_learning_rate, params.graph_steps, 1.0 - kept.sum(), own, params.delta,
        params.norm,
    )  # fmt: skip


def graph_step(
    w: Tensor,
    similarity: Tensor,
    confidence: Tensor,
    mask: Tensor,
    lam: float,
    mu: float,
    beta: float,
    lr: float,
    steps: int = 1,
    total: float | Tensor = 1.0,
    barrier_of: int | None = None,
    delta: float = 1e-6,
    norm_of: Literal["l2", "l1"] = "l2",
) -> Tensor:
    """Projected Adam on -lam sum_j s_j w_j c_j + mu (beta ||w|| - log(d + delta)).

    Parameters
    ----------
    w : torch.Tensor
        (N,) weights.
    similarity : torch.Tensor
        (N,) divided by its maximum, 1 for the node itself.
    confidence : torch.Tensor
        (N,) c_j = n_j / sum n.
    mask : torch.Tensor
        (N,) of bool: the node itself and its neighbours; what is not among them becomes 0.
    lam, mu, beta, lr : float
        `lr` is Adam's.
    steps : int
        E_g; Adam's state is fresh at the first.
    total : float
        What the result sums to.
    barrier_of : int, optional
        The node itself, if the barrier -log(d + delta) is to have a gradient: d = sum w - w_own.
    delta : float
    norm_of : str
        Which norm ||w|| is.

    Returns
    -------
    torch.Tensor
        (N,)
    """
    first, second = torch.zeros_like(w), torch.zeros_like(w)
    allowed = mask.to(torch.bool)
    for k in range(1, steps + 1):
        norm = w.norm()
        slope = torch.where(norm > 0, w / norm, 0.0) if norm_of == "l2" else w.sign()
        gradient = -lam * similarity * confidence + mu * beta * slope
        if barrier_of is not None:
            push = torch.ones_like(w) * (mu / (w.sum() - w[barrier_of] + delta))
            push[barrier_of] = 0.0
            gradient = gradient - push
        first = ADAM_BETAS[0] * first + (1.0 - ADAM_BETAS[0]) * gradient
        second = ADAM_BETAS[1] * second + (1.0 - ADAM_BETAS[1]) * gradient.square()
        size = (second / (1.0 - ADAM_BETAS[1] ** k)).sqrt() + ADAM_EPSILON
        v = w - lr * first / (1.0 - ADAM_BETAS[0] ** k) / size
        w = project_to_simplex(v.masked_fill(~allowed, -torch.inf), total)
    return w


ADAM_BETAS = (0.5, 0.999)
ADAM_EPSILON = 1e-8
