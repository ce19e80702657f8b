"""FedAMP and HeurFedAMP: a personal model that keeps near a mean weighted by likeness.

Source: Huang, Chu, Zhou, Wang, Liu, Pei and Zhang, "Personalized cross-silo federated learning on
non-IID data", AAAI 2021, Algorithm 1 and the heuristic of its Section on HeurFedAMP; as a baseline
of pFedGraph (Tables 1 and 10; its "FedAMP" is HeurFedAMP) and its code.

Symbols: theta_i personal model, u_i cloud model of node i, xi_ij attention, A(x) = 1 - e^{-x/sigma}
and A' its derivative, alpha_k step of the message passing, lam (`strength`).

A round: theta_i is trained on F_i(theta) + lam / (2 alpha_k) ||theta - u_i||^2 from where it is; it
is never replaced. Then u_i <- sum_j xi_ij theta_j:
- FedAMP: xi_ij = alpha_k A'(||theta_i - theta_j||^2) for j != i, xi_ii = 1 - their sum;
- HeurFedAMP (`heuristic`): xi_ii = `own_weight`, the rest shared by a softmax over j != i of sigma
  times the cosine of i and j; strength lam / 2.

Readings and departures:
- u_i of the first round is the initial model: what Algorithm 1 gives with one common to all.
- The cosines are those of updates theta_j - theta_init, as in pFedGraph's code; `compare =
  "models"` is the paper's, about 1 for every pair.
- sigma = 1 and alpha_k = 1 for FedAMP (the scale of ||theta_i - theta_j||^2 is the user's matter);
  10, 0.3 and lam = 1 for HeurFedAMP, as pFedGraph sets them. alpha_k is constant.
- Where alpha_k is so large that xi_ii would be below 0, the others are divided by their sum.
- The model to report is theta_i, published as `trained`; u_i is not published.
- Absent nodes: attention is over those heard (`AbsenceParams`).

Personalizes: the whole model, theta_i, which is never replaced.
Shares: whole models, of which each node gets a mean u_i of its own.
Sends: `b * theta + 32` per neighbour; with a server `b * theta + 32` up, `b * theta` down.
Needs: equal architectures; a common initial model.
Cost a round: `S` steps, a mean per node.
Late or absent peers: attention is over the models that came; with `absent`, the own model takes the
weight of the others, or their last models replace them. Without an answer theta_i stays near the
last u_i.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, Self

import torch
import torch.nn.functional as F
from torch import Tensor

from netsim import api
from netsim.api import Node, Process


class Params(api.PlainTraining, api.AbsenceParams):
    """Attention, and how strongly models keep near their cloud models.

    Attributes
    ----------
    heuristic
        Whether weights are HeurFedAMP's: a softmax of cosines.
    strength
        lam, weight of the distance between theta_i and u_i. Source: Huang et al. 2021, Algorithm 1.
    sigma
        Fall of attention with distance; with `heuristic` the factor of the cosines. Absent: 1, with
        `heuristic` 10.
    alpha
        alpha_k, step of the message passing.
    own_weight
        xi_ii, weight of the own model with `heuristic`. Source: 0.3 as in pFedGraph's code.
    compare
        Vectors of the cosines: updates since the start, as in pFedGraph's code, or "models", as in
        the paper.
    """

    heuristic: bool = False
    strength: api.NonNegative = 1.0
    sigma: api.Positive | None = None
    alpha: api.Positive = 1.0
    own_weight: api.Fraction = 0.3
    compare: Literal["updates", "models"] = "updates"

    @api.model_validator(mode="after")
    def _of_its_variant(self) -> Self:
        others = {"alpha"} if self.heuristic else {"own_weight", "compare"}
        for key in self.changed(others):
            raise ValueError(f"{key} has no meaning with heuristic = {str(self.heuristic).lower()}")
        return self

    def sharpness(self) -> float:
        """Sigma."""
        return self.sigma or (10.0 if self.heuristic else 1.0)


@api.algorithm(mixes_to_one=True, common_parts=("parameters",))
def processes(node: Node, params: Params) -> list[Process]:
    """Rounds in which every node has a cloud model of its own."""
    return api.personal_processes(node, params, Personal(node, params), cloud_models)


class Personal:
    """One node: theta_i, and the u_i that it keeps near."""

    def __init__(self, node: Node, params: Params) -> None:
        self.node, self.params = node, params
        self.theta = self.cloud = node.initial()

    def train(self) -> Process:
        """theta_i on F_i + lam / (2 alpha_k) ||theta - u_i||^2."""
        params = self.params
        pull = params.strength if params.heuristic else params.strength / params.alpha
        trained = yield self.node.train(self.theta, anchor=(self.cloud, pull), **params.how())
        self.theta = trained.theta
        return api.trained_share(self.node, trained)

    def adopt(self, common: api.Mean) -> None:
        """u_i."""
        self.cloud = common.theta


def cloud_models(
    node: Node, params: Params, shares: Mapping[int, api.Share], whose: Sequence[int]
) -> Iterator[tuple[int, api.Mean]]:
    """u_i = sum_j xi_ij theta_j for each i of `whose`."""
    ids = sorted(shares)
    thetas = [shares[j].theta.part("parameters") for j in ids]
    own = tuple(ids.index(i) for i in whose)
    args: tuple[Any, ...]
    if params.heuristic:
        origin = node.initial().part("parameters") if params.compare == "updates" else None
        args = (similarity_attention, thetas, own, params.own_weight, params.sharpness(), origin)
    else:
        args = (distance_attention, thetas, own, params.alpha, params.sharpness())
    return api.own_means(node, params, shares, whose, node.compute(*args))


@api.batched
def distance_attention(
    thetas: Sequence[Tensor], own: tuple[int, ...], alpha: float, sigma: float
) -> Tensor:
    """FedAMP's xi of the nodes at the places `own`: (m, K) from K models (P,)."""
    models, rows = torch.stack(list(thetas)), []
    for i in own:
        squares = (models - models[i]).square().sum(1)
        xi = alpha / sigma * torch.exp(-squares / sigma)  # alpha_k A'
        xi = xi * others_of(i, xi)
        xi = xi / xi.sum().clamp(min=1.0)
        rows.append(xi + (1 - others_of(i, xi)) * (1.0 - xi.sum()))
    return torch.stack(rows)


@api.batched
def similarity_attention(
    thetas: Sequence[Tensor],
    own: tuple[int, ...],
    own_weight: float,
    sigma: float,
    origin: Tensor | None,
) -> Tensor:
    """HeurFedAMP's xi of the nodes at the places `own`: (m, K)."""
    models = torch.stack(list(thetas))
    if len(models) == 1:
        return models.new_ones(1, 1)
    directions = F.normalize(models if origin is None else models - origin, dim=1)
    rows = []
    for i in own:
        itself = 1 - others_of(i, models[:, 0])
        scores = (sigma * directions @ directions[i]).masked_fill(itself.bool(), -torch.inf)
        rows.append(own_weight * itself + (1 - own_weight) * torch.softmax(scores, 0))
    return torch.stack(rows)


def others_of(i: int, like: Tensor) -> Tensor:
    """0 at place i and 1 elsewhere: (K,)."""
    return (torch.arange(len(like), device=like.device) != i).to(like)
