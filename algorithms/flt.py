"""FLT, federated learning with taskonomy: means over nodes whose data have like encodings.

Source: Jamali-Rad, Abdizadeh and Singh, "Federated learning with taskonomy for non-IID data", IEEE
TNNLS 2022 (github hjraad/FLT), as a baseline of Mukherjee, Simonetto and Jamali-Rad 2024 (MAPL).

Symbols: theta_i model, n_i training samples, C_i centres of node i's encoded samples, one for each
class that it holds, d_ij distance of the centres of i and j, A_ij whether they are linked.

Once: each node encodes its samples, finds C_i by k-means, and sends them. d_ij is the mean distance
of the centres of i and j that are matched at the least cost; A_ij = 1 if d_ij < `threshold`, and
for j = i. Each round: local training, then theta_i <- mean of theta_j with A_ij = 1, by n_j.

Readings and departures:
- The encoder is the backbone of the common initial model, untrained, so k-means groups random
  features. FLT pre-trains an auto-encoder (128 features, 25 to 30 epochs) on another data set,
  fine-tunes it for 2 to 5, and sends it to all once. It is not trained here: a scenario has one
  data set, whose samples nobody but their nodes may have seen when they are encoded, and passes of
  each node over its own would move the encoders apart, so that distances of centres would be those
  of encoders. So links are worse than FLT's may be; it costs no message where the paper's has one.
  A model file (`[model]`) that begins with trained weights brings a trained encoder.
- FLT takes distances in a plane that UMAP makes of all centres, where it links below 1. Here they
  are those of encodings, over their mean over all pairs of nodes, so that 1 is the average pair.
- Where two nodes hold different numbers of classes, all centres of the node with fewer are matched.
- Centres go with a node's models in its first `announce` rounds; a node whose centres have not come
  is linked to nobody, and a warning says so. One round is enough in rounds in which nothing is
  lost; where nodes wake by themselves, a newer model may take the place of one with centres.
- k-means starts from samples of the node drawn without replacement. MAPL's setting: SGD 0.01 with
  momentum 0.5, batches of 10; its 20 % of nodes a round are for the schedule to say.
- The model after averaging is published as `mixed`, the one before as `trained`.
- Absent nodes: the mean is over those heard (`AbsenceParams`).

Personalizes: the whole model, alike among linked nodes.
Shares: whole models, and once the centres of encoded samples.
Sends: `b * theta + 32` per neighbour; with a server `b * theta + 32` up, `b * theta` down; `k * b *
F` more up in the first `announce` rounds.
Needs: equal architectures; a common initial model; a model of base and head.
Cost a round: `S` steps, a mean per node; once k-means over the encoded training samples.
Late or absent peers: the mean is over the linked nodes whose models came; with `absent`, the own
model takes the weight of the others, or their last models replace them. A node whose centres were
lost is linked to no other, so `announce` them in several rounds.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from scipy.optimize import linear_sum_assignment
from torch import Tensor

from netsim import api
from netsim.api import Batch, Node, Process, Ref


class Params(api.RoundParams):
    """Number of links, the way to find centres, and the rounds in which they are sent.

    Attributes
    ----------
    threshold
        Distance below which two nodes are linked; 1 is that of the average pair.
    iterations
        Number of iterations of k-means.
    announce
        Rounds in which a node sends its centres; one is enough where nothing is lost.
    """

    threshold: api.NonNegative = 1.0
    iterations: api.Count = 20
    announce: api.Count = 1


@dataclass(frozen=True)
class Announced(api.Share):
    """A model, and C_i (k, F) while it is announced."""

    centres: Ref | None


@api.algorithm(
    mixes_to_one=True,
    tasks=("classification",),
    needs_parts=("head",),
    common_parts=("parameters",),
)
def processes(node: Node, params: Params) -> list[Process]:
    """Rounds of means over those that a node is linked to."""
    participant = Participant(node, params)
    return api.personal_processes(node, params, participant, Links().means, sent=Announced)


class Participant(api.AveragedModel[Params]):
    """One node: its model, and C_i once its first round has begun."""

    centres: Ref | None = None
    rounds = 0

    def train(self) -> Process:
        """Train the model; announce C_i with it in the first rounds."""
        if self.centres is None:
            self.centres = centres_of(self.node, self.params.iterations)
        share = yield from super().train()
        if share is None:
            return None
        self.rounds += 1
        announced = self.centres if self.rounds <= self.params.announce else None
        return Announced(share.theta, share.size, announced)


class Links:
    """Centres and their distances as a server, or a node among peers, has them."""

    def __init__(self) -> None:
        self.centres: dict[int, Ref] = {}
        self.distances: dict[tuple[int, int], Ref] = {}

    def means(
        self, node: Node, params: Params, shares: Mapping[int, Announced], whose: Sequence[int]
    ) -> Iterator[tuple[int, api.Mean]]:
        """The mean over those it is linked to, for each node of `whose`."""
        for j in sorted(shares):
            centres = shares[j].centres
            if centres is not None and j not in self.centres:
                for i, known in self.centres.items():
                    pair = (min(i, j), max(i, j))
                    self.distances[pair] = node.compute(matching_distance, known, centres, like=())
                self.centres[j] = centres
        ids = sorted(shares)
        unknown = [j for j in ids if j not in self.centres]
        if unknown:
            node.warn(
                "candidates lost",
                f"links nobody to {len(unknown)} of {len(ids)} nodes whose centres it has not got, "
                f"sent in their first rounds alone (announce = {params.announce})",
            )
        pairs = sorted(self.distances)
        sizes = tuple(shares[j].size if params.weights == "sizes" else 1 for j in ids)
        graph = node.compute(
            linked_means, [self.distances[pair] for pair in pairs], node.initial().part("head"),
            tuple(pairs), tuple(ids), tuple(whose), sizes, params.threshold,
        )  # fmt: skip
        return api.own_means(node, params, shares, whose, graph)


def centres_of(node: Node, iterations: int) -> Ref:
    """C_i: (k, F) for the k classes that the node holds."""
    theta, k = node.initial(), len(node.classes)
    num_features = theta.part("head.weight").num_values // theta.part("head.bias").num_values
    (u,) = node.uniform("centres", 1)
    given = (k, int(u * 2**31), iterations)
    return node.measure(cluster_centres, theta, "train", given, like=(k, num_features))


def cluster_centres(model: Any, batch: Batch, k: int, seed: int, iterations: int) -> Tensor:
    """k-means of encodings: (k, F); a centre without samples stays where it is."""
    z: Tensor = model.features(batch.x)
    order = torch.randperm(len(z), generator=torch.Generator().manual_seed(seed))
    centres = z[order[:k].to(z.device)]
    for _ in range(iterations):
        nearest = torch.cdist(z, centres).argmin(1)
        members = torch.nn.functional.one_hot(nearest, k).to(z)  # (n, k)
        counts = members.sum(0)[:, None]
        centres = torch.where(counts > 0, members.T @ z / counts.clamp(min=1), centres)
    return centres


def matching_distance(a: Tensor, b: Tensor) -> Tensor:
    """Mean distance of centres (k, F) and (l, F) matched at the least cost: a scalar."""
    costs = torch.cdist(a, b).nan_to_num(nan=1e30)
    rows, columns = linear_sum_assignment(costs.double().cpu().numpy())
    return costs[rows.tolist(), columns.tolist()].mean()


@api.batched
def linked_means(
    distances: Sequence[Tensor],
    like: Tensor,
    pairs: tuple[tuple[int, int], ...],
    ids: tuple[int, ...],
    whose: tuple[int, ...],
    sizes: tuple[int, ...],
    threshold: float,
) -> Tensor:
    """Return the weight of each model of `ids` for each node of `whose`.

    Parameters
    ----------
    distances : sequence of torch.Tensor
        d_ij of each pair, scalars.
    like : torch.Tensor
        Any value where and in the precision in which models are.
    pairs : tuple of (int, int)
        i < j.
    ids, whose : tuple of int
    sizes : tuple of int
        What each of `ids` counts in a mean.
    threshold : float
        In mean distances.

    Returns
    -------
    torch.Tensor
        (len(whose), len(ids))
    """
    limit = threshold * torch.stack(list(distances)).mean() if distances else like.new_zeros(())
    linked = {
        pair: (d < limit).to(like) for pair, d in zip(pairs, distances, strict=True)
    }  # fmt: skip
    one, zero = like.new_ones(()), like.new_zeros(())
    a = [[one if i == j else linked.get((min(i, j), max(i, j)), zero) for j in ids] for i in whose]
    w = torch.stack([torch.stack(row) for row in a]) * like.new_tensor(sizes)
    return w / w.sum(1, keepdim=True)
