"""CFL: FedAvg in clusters of nodes, which split where updates point apart.

Source: Sattler, Mueller and Samek, "Clustered federated learning: model-agnostic distributed
multitask optimization under privacy constraints", IEEE TNNLS 2021, Algorithms 1 to 3, as a baseline
of pFedGraph and its code.

Symbols: theta_i model after local training, u_i = theta_i - (what node i started from) its update,
c a cluster of nodes, eps_1, eps_2.

At first all nodes are one cluster. After a round of local training a cluster of more than two
members splits in two if ||mean of u_i|| < eps_1 while max ||u_i|| > eps_2: the mean has nearly
arrived, single members have not. The parts are those of an agglomerative clustering by -cos of u_i
and u_j. Then every member of a cluster goes on from the plain mean of its models: for members that
started alike, that is the start plus the mean update.

Readings and departures:
- eps_1 = 2.0 and eps_2 = 2.5 as pFedGraph sets them; their scale is that of a round's update.
- `linkage = "complete"` is the code's; the bipartition of the paper, which makes the largest cosine
  across the parts as small as it can be, is what `"single"` finds.
- The paper splits only if gamma_max < sqrt((1 - a) / 2), a the largest cosine across the parts
  (Algorithm 1): `gamma_max`; pFedGraph's code does not test it. The paper weighs means, that of the
  test included, by samples: `weights = "sizes"`; pFedGraph's code has them plain.
- Updates are over parameters, not running statistics; the initial model must be common to all.
- Models are sent, not updates: whoever combines them knows what the members of a cluster started
  from. Among peers a node keeps its own cluster alone: over a complete topology that loses nothing,
  the server's. Links that lose messages, and clocks of their own, leave peers with different views
  of a cluster, and updates are counted from the start that the node knows of.
- An absent member takes no part in the decision and goes with the larger part (with the one of the
  lowest number among equals); who is heard again can be split off later.
- The model after local training is published as `trained` (pFedGraph's code evaluates it), the mean
  as `mixed`.

Personalizes: the whole model, alike within a cluster.
Shares: whole models.
Sends: `b * theta + 32` per neighbour; with a server `b * theta + 32` up, `b * theta` down.
Needs: equal architectures; a common initial model.
Cost a round: `S` steps, a mean per cluster.
Late or absent peers: absent members do not count in a split and go with its larger part; the mean
is over the models that came; with `absent`, the own model takes the weight of the others, or their
last models replace them.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

import torch
import torch.nn.functional as F
from scipy.cluster.hierarchy import cut_tree, linkage
from scipy.spatial.distance import squareform
from torch import Tensor

from netsim import api
from netsim.api import Node, Process, Ref


class Params(api.PlainTraining, api.AbsenceParams):
    """Time of the first split of a cluster, and thresholds for splits.

    Attributes
    ----------
    eps_1
        Norm of a cluster's mean update below which it may split. Source: Sattler et al. 2021; 2.0
        as in pFedGraph's code.
    eps_2
        Norm of a member's update above which its cluster may split. Source: Sattler et al. 2021;
        2.5 as in pFedGraph's code.
    gamma_max
        Greatest distance of a member's gradient from that of its cluster's data, as a share of its
        length: a split needs sqrt((1 - a) / 2) above it, a the largest cosine across the parts.
        Absent: not tested, as in pFedGraph's code. Source: Sattler et al. 2021, Algorithm 1.
    weights
        Weight of a member in the means of its cluster: the same for all, as in pFedGraph's code, or
        its number of training samples ("sizes"). Source: Sattler et al. 2021, Algorithm 1.
    linkage
        Clustering of updates: by complete linkage, as the code does, or by "single" linkage, which
        finds the paper's bipartition.
    """

    eps_1: api.NonNegative = 2.0
    eps_2: api.NonNegative = 2.5
    gamma_max: api.Fraction | None = None
    weights: Literal["equal", "sizes"] = "equal"
    linkage: Literal["complete", "single"] = "complete"


@api.algorithm(mixes_to_one=True, common_parts=("parameters",))
def processes(node: Node, params: Params) -> list[Process]:
    """Rounds of FedAvg in clusters."""
    participant = api.AveragedModel(node, params)
    return api.personal_processes(node, params, participant, Clusters(node).means)


class Clusters:
    """State of the clusters at a server, or at a node among peers.

    Attributes
    ----------
    everyone : list of int
        The nodes, ascending.
    together : Ref
        (K, K), 1 where two nodes are of one cluster; among peers the own row is of use alone.
    starts : dict of int to Ref
        What each node started its local training from.
    """

    def __init__(self, node: Node) -> None:
        self.everyone = sorted({*node.neighbours, *([] if node.role == "server" else [node.id])})
        self.starts = dict.fromkeys(self.everyone, node.initial())
        self.together = node.compute(ones, node.initial(), len(self.everyone))
        self.updates: dict[int, tuple[api.Share, Ref]] = {}

    def means(
        self, node: Node, params: Params, shares: Mapping[int, api.Share], whose: Sequence[int]
    ) -> Iterator[tuple[int, api.Mean]]:
        """Split clusters, then the mean of its cluster for each node of `whose`."""
        ids = sorted(shares)
        for j in ids:
            if j not in self.updates or self.updates[j][0] is not shares[j]:  # no stand-in
                parts = [theta.part("parameters") for theta in (shares[j].theta, self.starts[j])]
                self.updates[j] = shares[j], node.mix(parts, [1.0, -1.0])
        places, own = self.places(ids), self.places(whose)
        sizes = tuple(shares[j].size if params.weights == "sizes" else 1 for j in ids)
        self.together, graph = node.compute(
            split, self.together, [self.updates[j][1] for j in ids], places, own, sizes,
            params.eps_1, params.eps_2, params.gamma_max, params.linkage,
            like=(self.together, (len(own), len(ids))),
        )  # fmt: skip
        for i, mean in api.own_means(node, params, shares, whose, graph):
            if node.role == "server":
                self.starts[i] = mean.theta
            else:  # the members of its cluster start from the same
                self.starts = dict.fromkeys(self.everyone, mean.theta)
            yield i, mean

    def places(self, ids: Sequence[int]) -> tuple[int, ...]:
        """Return the positions of nodes among all."""
        return tuple(self.everyone.index(j) for j in ids)


def ones(like: Tensor, count: int) -> Tensor:
    """One cluster: (count, count)."""
    return like.new_ones(count, count)


def split(
    together: Tensor,
    updates: Sequence[Tensor],
    places: tuple[int, ...],
    own: tuple[int, ...],
    sizes: tuple[int, ...],
    eps_1: float,
    eps_2: float,
    gamma_max: float | None,
    method: str,
) -> tuple[Tensor, Tensor]:
    """Clusters after this round, and what each model counts for each node.

    Parameters
    ----------
    together : torch.Tensor
        (K, K)
    updates : sequence of torch.Tensor
        (P,) each, u_j of the n nodes heard.
    places : tuple of int
        Which of the K nodes these are.
    own : tuple of int
        The nodes whose clusters are looked at.
    sizes : tuple of int
        What each of the n counts in a mean.
    eps_1, eps_2 : float
    gamma_max : float or None
    method : str
        `complete` or `single`.

    Returns
    -------
    together : torch.Tensor
        (K, K)
    graph : torch.Tensor
        (len(own), n): shares of the members heard of the same cluster, 0 for others.
    """
    together = together.clone()
    for cluster in dict.fromkeys(tuple(together[i].nonzero()[:, 0].tolist()) for i in own):
        heard = [place for place in cluster if place in places]
        u = torch.stack([updates[places.index(place)] for place in heard])
        shares = u.new_tensor([sizes[places.index(place)] for place in heard])
        mean = u.mean(0) if len(set(sizes)) == 1 else shares @ u / shares.sum()
        has_arrived = torch.linalg.vector_norm(mean) < eps_1
        if len(heard) > 2 and has_arrived and torch.linalg.vector_norm(u, dim=1).max() > eps_2:
            part = bipartition(u, method)
            if gamma_max is not None and gap(u, part) <= gamma_max:
                continue
            larger = max((0, 1), key=part.count)
            side = dict(zip(heard, part, strict=True))
            for a in cluster:
                for b in cluster:
                    together[a, b] = float(side.get(a, larger) == side.get(b, larger))
    graph = together[list(own)][:, list(places)] * together.new_tensor(sizes)
    return together, graph / graph.sum(1, keepdim=True)


def gap(updates: Tensor, part: Sequence[int]) -> float:
    """sqrt((1 - a) / 2), a the largest cosine of updates (n, P) across two parts."""
    directions = F.normalize(updates, dim=1)
    cosines = (directions @ directions.T).nan_to_num(nan=-1.0)
    first = torch.tensor(part, device=updates.device) == 0
    largest = cosines[first][:, ~first].max().clamp(min=-1.0, max=1.0)
    return math.sqrt((1.0 - float(largest)) / 2.0)


def bipartition(updates: Tensor, method: str) -> list[int]:
    """0 or 1 for each of n updates (n, P), 0 for the first."""
    directions = F.normalize(updates, dim=1)
    distances = 1.0 - (directions @ directions.T).nan_to_num(nan=-1.0)
    condensed = squareform(distances.double().cpu().numpy(), checks=False)
    part: list[int] = cut_tree(linkage(condensed, method), n_clusters=2)[:, 0].tolist()
    return part
