"""pFedSim: FedAvg first, then means of backbones weighted by the likeness of classifiers.

Source: Tan, Zhou, Liu, Wang and Zhang 2023, "pFedSim: similarity-aware model aggregation towards
personalized federated learning", Algorithm 1 (github KarhouTam/FL-bench), as a baseline of
Mukherjee, Simonetto and Jamali-Rad 2024 (MAPL).

Symbols: theta_i model of node i, its classifier (`head`) and feature extractor (`backbone`), n_i
training samples, s_ij similarity, a_ij weight.

For `general_rounds` rounds this is FedAvg. From then on each node keeps its classifier and gets
sum_j a_ij backbone_j with a_ij proportional to -ln(1 - s_ij), where s_ij = max(0, mean over classes
of the cosine of the classes' rows in the classifiers of i and j), and s_ii = 0.9999.

Readings and departures:
- The first phase is half of all rounds in the paper (200 of 400 as a baseline of MAPL); a node
  doesn't know how many there will be, so `general_rounds` is asked for. With a server its rounds
  count, among peers each node's own.
- A classifier's rows are its weights, without biases. No s_ij is above 0.9999 (the logarithm).
- Whole models go up in both phases; down, whole ones first, then backbones.
- Running statistics of a model are averaged in the first phase and stay with their node after it.
- What arrives while a client trains replaces what was trained of it, whatever `on_arrival`.
- The model after averaging is published as `mixed`, the one before as `trained`.
- Absent nodes: weights are over those heard (`AbsenceParams`).

Personalizes: the head; in the last phase base weights too.
Shares: whole models; bases in the last phase.
Sends: `b * theta + 32` per neighbour; with a server `b * theta + 32` up, `b * theta` down, later `b
* base` down.
Needs: equal architectures; a model of base and head; half of the number of rounds
(`general_rounds`).
Cost a round: `S` steps, a mean per node.
Late or absent peers: weights are over the models that came; with `absent`, the own model takes the
weight of the others, or their last models replace them.
"""

from collections.abc import Iterable, Mapping, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from netsim import api
from netsim.api import Node, Process

LIKEST = 0.9999
"""The similarity of a node to itself, and the most that another may have."""


class Params(api.RoundParams):
    """Round in which models become personal.

    Attributes
    ----------
    general_rounds
        Rounds of FedAvg before models become personal; half of all in the paper.
    """

    general_rounds: api.Index


@api.algorithm(
    mixes_to_one=True,
    tasks=("classification",),
    needs_parts=("backbone", "head.weight", "head.bias"),
    common_parts=("parameters",),
)
def processes(node: Node, params: Params) -> list[Process]:
    """Rounds with one mean for all, later with one for each."""
    return api.personal_processes(node, params, Participant(node, params), answers)


class Participant:
    """One node: its model, and what has come since it last began to train."""

    def __init__(self, node: Node, params: Params) -> None:
        self.node, self.params = node, params
        self.theta = node.initial()
        self.arrived: api.Mean | None = None

    def train(self) -> Process:
        """Train the whole model; its `Share`."""
        self.arrived = None
        trained = yield self.node.train(self.theta, **self.params.how())
        self.theta = trained.theta
        share = api.trained_share(self.node, trained)
        if self.arrived is not None:
            self.adopt(self.arrived)
        return share

    def adopt(self, common: api.Mean) -> None:
        """Go on from the mean of all models, or from the own classifier on a mean of backbones."""
        self.arrived = common
        is_whole = common.theta.architecture is not None
        self.theta = common.theta if is_whole else self.theta.with_part("backbone", common.theta)
        self.node.publish(self.theta, "mixed")


def answers(
    node: Node, params: Params, shares: Mapping[int, api.Share], whose: Sequence[int]
) -> Iterable[tuple[int, api.Mean]]:
    """The mean for each node of `whose`."""
    if node.round <= params.general_rounds:
        others = node.neighbours if params.absent == "self" and node.role != "server" else ()
        stand_ins = {j: shares[node.id] for j in others}
        mean = api.weighted_mean(node, params, {**stand_ins, **shares})
        return [(i, mean) for i in whose]
    ids = sorted(shares)
    heads = [shares[j].theta.part("head.weight") for j in ids]
    num_classes = node.initial().part("head.bias").num_values
    own = tuple(ids.index(i) for i in whose)
    graph = node.compute(similarity_weights, heads, own, num_classes)
    backbones = {j: api.Mean(shares[j].theta.part("backbone")) for j in ids}
    return api.own_means(node, params, backbones, whose, graph)


@api.batched
def similarity_weights(heads: Sequence[Tensor], own: tuple[int, ...], num_classes: int) -> Tensor:
    """Rows of a_ij at the places `own`: (m, K) from K classifiers (num_classes x features,)."""
    rows = F.normalize(torch.stack(list(heads)).view(len(heads), num_classes, -1), dim=2)
    cosines = torch.einsum("icf,jcf->ij", rows[list(own)], rows) / num_classes
    s = cosines.clamp(min=0.0, max=LIKEST)
    itself = torch.arange(len(heads), device=s.device) == s.new_tensor(own)[:, None]
    weights = -torch.log1p(-torch.where(itself, torch.full_like(s, LIKEST), s))
    return weights / weights.sum(1, keepdim=True)
