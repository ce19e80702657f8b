"""kNN-Per: the common model, corrected by the training samples that are nearest in its features.

Source: Marfoq, Neglia, Kameni and Vidal, "Personalized federated learning through local
memorization", ICML 2022; as a baseline of pFedGraph (Ye et al., ICML 2023) and of DPFL (Kharrat,
Canini and Horvath 2024), both with 10 neighbours and weight 0.5.

Symbols: w FedAvg's model, phi(x) its features, d squared Euclidean distance between features, ld
(`knn_weight`) the weight of the neighbours.

Rounds are FedAvg's. A node predicts with ld p_kNN + (1 - ld) p_w: p_w is the softmax of w's
outputs; p_kNN the vote of those `neighbours` of its training samples whose features are nearest,
each for its class with e^-(d / F) for F features. Published with every w that is adopted, as
`mixed`.

Readings and departures:
- d is squared, and divided by the number of features, as in the authors' code; `kernel = "plain"`
  is e^-d, as in pFedGraph's code, where in wide models the nearest neighbour alone votes.
- `votes = "softmax"` is pFedGraph's code, which takes a softmax of the sums of e^-d over classes
  where the paper divides them by their sum.
- pFedGraph's memory is of augmented samples, here of samples as they are, as in the paper.
- The memory has at most `memory` training samples of a node, chosen at random once.
- ld is one number for all nodes, as in both baselines; the paper tunes each node's on validation
  samples.
- Computing the memory anew for each w takes no virtual time.

Personalizes: the prediction, by the training samples that are nearest in features.
Shares: the common model.
Sends: `b * theta + 32` per neighbour; with a server `b * theta + 32` up, `b * theta` down.
Needs: equal architectures; a model of base and head.
Cost a round: `S` steps, a mean, a pass over the samples remembered.
Late or absent peers: the mean is over the models that came; with `absent`, the own model or the
peer's last one replaces a missing one. A client that gets no answer continues from its own model.
"""

from typing import Any, Literal

import torch
from torch import Tensor

from netsim import api
from netsim.api import Batch, Node, Process

from .fedproto import num_features


class Params(api.RoundParams):
    """Number of neighbours that vote, the weight of their vote, and the number of samples kept.

    Attributes
    ----------
    neighbours
        Number of nearest training samples that vote.
    knn_weight
        ld, weight of their vote beside the model's softmax. Source: 0.5 as in pFedGraph and DPFL.
    votes
        Conversion of votes into a distribution: divided by their sum, or by a softmax, as in
        pFedGraph's code.
    kernel
        Whether e^-d^2 is of the squared distance of features over their number, as in the authors'
        code, or of the squared distance itself ("plain").
    memory
        Greatest number of a node's training samples that are remembered.
    """

    neighbours: api.Count = 10
    knn_weight: api.Fraction = 0.5
    votes: Literal["normalised", "softmax"] = "normalised"
    kernel: Literal["per_feature", "plain"] = "per_feature"
    memory: api.Count = 5000


@api.algorithm(
    mixes_to_one=True,
    tasks=("classification",),
    needs_parts=("head",),
    common_parts=("parameters",),
)
def processes(node: Node, params: Params) -> list[Process]:
    """Rounds of FedAvg with a memory beside."""
    return api.round_processes(node, params, KnnPer(node, params))


class KnnPer(api.AveragedModel[Params]):
    """One node: `model` is w."""

    def __init__(self, node: Node, params: Params) -> None:
        super().__init__(node, params)
        order = node.permutation("memory", range(node.train_size))
        self.places = tuple(sorted(order[: params.memory]))

    def train(self) -> Process:
        trained = yield self.model.train(**self.how())
        return None if trained is None else api.Share(trained.theta, self.node.train_size)

    def adopt(self, common: api.Mean) -> None:
        w, node = common.theta, self.node
        self.model.replace(w)
        shape = (len(self.places), num_features(w) + 1)
        memory = node.measure(remembered, w, "train", (self.places,), shape)
        node.publish(w, "mixed", predict=with_neighbours, given=(memory, self.params))


def remembered(model: Any, batch: Batch, places: tuple[int, ...]) -> Tensor:
    """Features and class of the samples at these places: (m, F + 1)."""
    some = torch.tensor(places, device=batch.y.device)
    features: Tensor = model.features(batch.x[some])
    return torch.cat([features, batch.y[some].to(features)[:, None]], dim=1)


def with_neighbours(model: Any, x: Tensor, memory: Tensor, params: Params) -> Tensor:
    """log(ld p_kNN + (1 - ld) p_w) of samples x: (n, L)."""
    features = model.features(x)
    known, classes = memory[:, :-1], memory[:, -1].long()
    d = torch.cdist(features, known, compute_mode="donot_use_mm_for_euclid_dist").square()
    if params.kernel == "per_feature":
        d = d / features.shape[1]
    nearest, which = d.topk(min(params.neighbours, len(known)), largest=False)
    p_w = model.head(features).softmax(1)
    if params.votes == "softmax":
        sums = torch.zeros_like(p_w).scatter_add(1, classes[which], (-nearest).exp())
        p_knn = sums.softmax(1)
    else:  # e^-d over its sum, in a form that survives distances at which all e^-d are 0
        p_knn = torch.zeros_like(p_w).scatter_add(1, classes[which], (-nearest).softmax(1))
    p: Tensor = params.knn_weight * p_knn + (1 - params.knn_weight) * p_w
    return p.clamp(min=torch.finfo(p.dtype).tiny).log()
