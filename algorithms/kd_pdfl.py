"""KD-PDFL: weigh each peer's model by how closely its outputs match ours on our own data.

Source: Jeong and Kountouris, "Personalized decentralized federated learning with knowledge
distillation", ICC 2023 (arXiv:2302.12156), Algorithm 1 and Eqs. (1)-(4).

Symbols: theta_i model, w_i weights on peers, N_i the peers that answered, d_ij distance between
outputs, c_i confidence in the own model, M nodes, T_ex slots per exchange.

Readings where the paper is silent or contradicts itself (each an option where one is listed):
- Eq. (3), called a Wasserstein distance, is a batch mean of squared L2 distances between outputs:
  `distance = "squared_l2"`; true Wasserstein distances are `"wasserstein1"` and `"wasserstein2"`.
- p are softmax outputs (`outputs = "softmax"`), on a training batch; `"logits"` for raw ones.
- g(w) = -log(sum_j w_ij + delta), as in Zantedeschi et al. 2020, over all j != i.
- eta = 1./|h| is elementwise (`step = "elementwise"`: each weight moves by 1), or h / ||h||.
- Only weights of peers heard in this exchange change, each by a whole step of 1, and nothing bounds
  them. So over radio a weight counts how often a peer was heard more than how alike its data are.
  `weights = "bounded"` divides those of all peers ever heard by their sum after every step; who was
  heard last still moves most.
- theta_i <- c_i theta_i + (1 - c_i) sum_j w^_ij theta_j with w^ = w / sum of w over N_i; the
  printed c_i w_ii would weigh the own model by 0 for ever. With no weight left, theta_i stays.
- All nodes start from a common random model; the printed theta = 0 would only train a bias.
- Who trains in exchange slots, what a peer does with the star's model: see `StarParams`.
- The paper's Appendix A is not covered: nothing here follows or checks it.

Personalizes: the whole model.
Shares: whole models, of peers that are asked.
Sends: `2 * b * theta` per peer and exchange: one to the star, one back.
Needs: equal architectures.
Cost a round: `1` step per slot; in an exchange the star computes outputs of all models on one
minibatch, and a mean.
Late or absent peers: the star leaves out peers that do not answer; with `absent`, it takes their
weight itself, or uses their last models.
"""

from collections.abc import Sequence
from typing import Any, Literal, Self

import numpy as np
import torch
from scipy.optimize import linear_sum_assignment, linprog
from torch import Tensor

from netsim import api
from netsim.api import Node, Process, Ref

Distance = Literal["squared_l2", "wasserstein1", "wasserstein2"]
Step = Literal["elementwise", "norm"]

FAR = 1e30
"""Distance to a model that has diverged: its weight falls to 0, which keeps it out of the mix."""


class Params(api.StarParams, api.FallingRate):
    """Choices that the paper leaves open.

    The paper tells of no falling learning rate, but of one for FedAvg+, which it compares with;
    `switch_s` and `fine_tune_learning_rate` give it to both.

    Attributes
    ----------
    mu1
        Weight of the distances between outputs. Source: Jeong and Kountouris 2023, Eq. (2); no
        value is published.
    mu2
        Weight of the regulariser g, which keeps weights from vanishing. Source: Jeong and
        Kountouris 2023, Eq. (2); no value is published.
    c_base
        Divisor of a node's number of training samples for the confidence in its own model, which is
        at most an equal share. Source: Jeong and Kountouris 2023, Eq. (4); no value is published.
    delta
        Constant that keeps the logarithm in g finite.
    distance
        Distance between outputs; the printed equation is `squared_l2`. Source: Jeong and Kountouris
        2023, Eq. (3).
    cost
        Cost (L, L) of moving mass between labels for `distance = "wasserstein1"`. Absent: 0 for
        staying, 1 for any move.
    outputs
        Outputs that are compared: softmax outputs, or raw ones.
    step
        Step of the weights: each moves by 1 ("elementwise"), or all by a vector of length 1.
    weights
        Whether weights grow without a bound, as printed, or those of peers ever heard are divided
        by their sum after every step ("bounded").
    """

    mu1: api.NonNegative = 1.0
    mu2: api.NonNegative = 0.5
    c_base: api.Positive = 300.0
    delta: api.Positive = 1e-6
    distance: Distance = "squared_l2"
    cost: tuple[tuple[api.NonNegative, ...], ...] | None = None
    outputs: Literal["softmax", "logits"] = "softmax"
    step: Step = "elementwise"
    weights: Literal["printed", "bounded"] = "printed"

    @api.model_validator(mode="after")
    def _distance_makes_sense(self) -> Self:
        if self.distance == "wasserstein1" and self.outputs == "logits":
            raise ValueError('distance = "wasserstein1" needs distributions: outputs = "softmax"')
        if self.cost is not None and self.distance != "wasserstein1":
            raise ValueError('cost is for distance = "wasserstein1"')
        if self.cost is not None and any(len(row) != len(self.cost) for row in self.cost):
            raise ValueError("cost must have as many columns as rows")
        return self


@api.algorithm(
    schedules=api.STAR_SCHEDULES,
    knows_servers=False,
    tasks=("classification",),
    common_parts=("parameters",),
)
def processes(node: Node, params: Params) -> list[Process]:
    """The star exchange with Eqs. (1)-(4) as its rule."""
    return KdPdfl(node, params).processes()


class KdPdfl(api.StarExchange[Params]):
    """One node: `model` is theta_i; w_i is never sent."""

    def __init__(self, node: Node, params: Params) -> None:
        super().__init__(node, params)
        self.w: Ref = node.compute(first_weights, node.num_nodes, node.id)
        self.known: set[int] = set()

    def how(self) -> dict[str, Any]:
        return {"learning_rate": self.params.learning_rate(self.node.now_s)}

    def combine(self, heard: api.Heard) -> Ref:
        node, params, theta = self.node, self.params, self.model.theta
        peers, missing = tuple(heard.peers), tuple(heard.missing)
        if not peers:
            node.log_weights([node.id], [1.0])
            return theta
        outputs = node.outputs([theta, *heard.thetas], node.batch())  # line 6
        d = node.compute(distances, outputs, params, like=(len(peers),))  # line 7, Eq. (3)
        self.w = node.compute(
            step_on_heard, self.w, d, peers, params, like=self.w
        )  # lines 8-11, Eq. (2)
        if params.weights == "bounded":
            self.known.update(peers)
            self.w = node.compute(bounded, self.w, tuple(sorted(self.known)), like=self.w)
        c = confidence(node.train_size, params.c_base, len(peers) + len(missing))  # 12, Eq. (4)
        thetas = [theta, *heard.thetas]
        shares = node.compute(
            own_and_peer_shares, self.w, peers, missing, c, like=(1 + len(peers),)
        )
        shares = api.discounted(node, params, thetas, shares)
        node.log_weights(range(node.num_nodes), self.w, what="learned")
        node.log_weights([node.id, *peers], shares)
        return node.mix(thetas, shares)  # line 13


def first_weights(num_nodes: int, node: int) -> Tensor:
    """w_ij(0) = 1/M for j != i and w_ii(0) = 0: (M,). In float64 whatever the models are in."""
    w = torch.full((num_nodes,), 1.0 / num_nodes, dtype=torch.float64)
    w[node] = 0.0
    return w


def distances(outputs: Tensor, params: Params) -> Tensor:
    """d_ij of m peers (m,) from outputs (1 + m, n, L), the node's own first."""
    p = outputs.softmax(-1) if params.outputs == "softmax" else outputs
    d = output_distance(p[0], p[1:], params.distance, params.cost)
    return d.nan_to_num(nan=FAR, posinf=FAR)


def output_distance(
    self_outputs: Tensor,
    peer_outputs: Tensor,
    kind: Distance = "squared_l2",
    cost: Sequence[Sequence[float]] | None = None,
) -> Tensor:
    """d_ij, Eq. (3), or a Wasserstein distance in its place.

    Parameters
    ----------
    self_outputs : torch.Tensor
        (n, L) outputs of theta_i on a batch.
    peer_outputs : torch.Tensor
        (m, n, L) outputs of each theta_j on the same batch.
    kind : str
        `squared_l2`: (1/n) sum over samples of ||p_i - p_j||^2. `wasserstein1`: mean over samples
        of W1 between the two distributions over labels. `wasserstein2`: squared W2 between the two
        clouds of n outputs, by optimal assignment; the identity assignment gives Eq. (3), so it is
        never above it.
    cost : (L, L), optional
        Cost of moving mass between labels for `wasserstein1`; None is 0 for staying, 1 otherwise.

    Returns
    -------
    torch.Tensor
        (m,)
    """
    if kind == "squared_l2":
        return (self_outputs - peer_outputs).square().sum(-1).mean(-1)
    if cost is not None and len(cost) != self_outputs.shape[-1]:
        raise ValueError(f"cost is for {len(cost)} labels, there are {self_outputs.shape[-1]}")
    values = []
    for other in peer_outputs:
        if not torch.isfinite(self_outputs - other).all():  # no transport plan can be found
            values.append(self_outputs.new_tensor(torch.nan))
        elif kind == "wasserstein1":
            values.append(_wasserstein1(self_outputs, other, cost))
        else:
            values.append(_squared_wasserstein2(self_outputs, other))
    return torch.stack(values)


def _wasserstein1(p: Tensor, q: Tensor, cost: Sequence[Sequence[float]] | None) -> Tensor:
    """Mean over samples of W1 between rows of p and q, (n, L) each, under a label cost (L, L)."""
    if cost is None:  # with 0/1 cost W1 is the total variation
        return 0.5 * (p - q).abs().sum(-1).mean()
    c = np.asarray(cost, dtype=float)
    if (c == np.abs(np.subtract.outer(np.arange(len(c)), np.arange(len(c))))).all():
        return (p - q).cumsum(-1)[:, :-1].abs().sum(-1).mean()  # labels on a line
    labels = len(c)
    leaves = np.kron(np.eye(labels), np.ones(labels))
    arrives = np.kron(np.ones(labels), np.eye(labels))
    constraints = np.vstack([leaves, arrives])
    total = 0.0
    for a, b in zip(p.double().cpu().numpy(), q.double().cpu().numpy(), strict=True):
        masses = np.concatenate([a / a.sum(), b / b.sum()])
        total += linprog(c.ravel(), A_eq=constraints, b_eq=masses, method="highs").fun
    return p.new_tensor(total / len(p))


def _squared_wasserstein2(p: Tensor, q: Tensor) -> Tensor:
    """Squared W2 between two clouds of n equally likely points, rows of p and q."""
    squares = (p[:, None, :] - q[None, :, :]).square().sum(-1)
    rows, columns = linear_sum_assignment(squares.double().cpu().numpy())
    return squares[rows, columns].mean()


def connectivity_step(
    w: Tensor, d: Tensor, mu1: float, mu2: float, delta: float, step: Step = "elementwise"
) -> Tensor:
    """One step on the weights, Eq. (2): w <- max(0, w - eta h).

    h_j = mu1 d_j + mu2 dg/dw_j with g(w) = -log(sum w + delta).

    Parameters
    ----------
    w, d : torch.Tensor
        (m,) weights and distances.
    mu1, mu2, delta : float
    step : str
        `elementwise`: eta_j = 1/|h_j|, each weight moves by 1 (0 where h_j = 0); `norm`: h/||h||.

    Returns
    -------
    torch.Tensor
        (m,)
    """
    h = mu1 * d - mu2 / (w.sum() + delta)
    if step == "elementwise":
        return (w - h.sign()).clamp(min=0)
    norm: Tensor = h.norm()
    return (w - h / norm.clamp(min=torch.finfo(h.dtype).tiny)).clamp(min=0)


def step_on_heard(w: Tensor, d: Tensor, peers: tuple[int, ...], params: Params) -> Tensor:
    """Eq. (2) on the weights of the peers heard; the degree in g counts all. w (M,), d (m,)."""
    heard, after = list(peers), w.clone()
    after[heard] = 0.0
    rest = float(after.sum())
    after[heard] = connectivity_step(
        w[heard], d.to(w), params.mu1, params.mu2, params.delta + rest, params.step
    )
    return after


def bounded(w: Tensor, known: tuple[int, ...]) -> Tensor:
    """Weights (M,), those of `known` peers over their sum; zeros stay."""
    those, after = list(known), w.clone()
    total = w[those].sum()
    if total > 0:
        after[those] = w[those] / total
    return after


def confidence(train_size: int, c_base: float, num_neighbors: int) -> float:
    """c_i = min(|X_i| / c_base, 1 / (|N_i| + 1)), Eq. (4)."""
    return min(train_size / c_base, 1.0 / (num_neighbors + 1))


def own_and_peer_shares(
    w: Tensor, peers: tuple[int, ...], missing: tuple[int, ...], c: float
) -> Tensor:
    """Shares (1 + m,) of the own and the received models; missing peers' stay with the own."""
    shares = mixing_shares(w[[*peers, *missing]], c)
    heard = len(peers) + 1
    own = shares[:1] + shares[heard:].sum()
    return torch.cat([own, shares[1:heard]])


def mixing_shares(w: Tensor, c: float) -> Tensor:
    """(c, (1 - c) w / sum w), or (1, 0, ...) where w sums to 0: (1 + m,)."""
    total = w.sum()
    if total <= 0:
        return torch.cat([torch.ones_like(w[:1]), torch.zeros_like(w)])
    return torch.cat([torch.full_like(w[:1], c), (1.0 - c) * w / total])


def mix(theta_self: Tensor, thetas: Tensor, w: Tensor, confidence: float) -> Tensor:
    """theta_i <- c_i theta_i + (1 - c_i) sum_j w^_ij theta_j (line 13).

    Parameters
    ----------
    theta_self : torch.Tensor
        (P,)
    thetas : torch.Tensor
        (m, P)
    w : torch.Tensor
        (m,), normalised here; where it sums to 0 the own model stays.
    confidence : float

    Returns
    -------
    torch.Tensor
        (P,)
    """
    shares = mixing_shares(w, confidence).to(theta_self)
    return shares[0] * theta_self + shares[1:] @ thetas
