"""SFL and SFL*: models flow along a graph of the nodes, which is known or learned from them.

Source: Chen, Long, Wu, Zhou and Jiang, "Personalized federated learning with a graph", IJCAI 2022,
Algorithm 1 (github dawenzi098/SFL-Structural-Federated-Learning), SFL* as a baseline of pFedGraph
(Table 11).

Symbols: theta_i model after local training, A (K, K) adjacency, its rows summing to 1, L `layers`,
gamma `mixing`.

A round: local training, then theta_i <- gamma sum_j (A^L)_ij theta_j + (1 - gamma) theta_i, as the
layers of a graph convolution without weights would have it.
- SFL: A is the graph of `edges`, without which every pair is linked.
- SFL* (`graph = "learned"`): A is 1 - `learned_part` of that graph and `learned_part` of one found
  anew each round: relu(tanh(3 (E_1 E_2' - E_2 E_1'))) of two embeddings E = tanh(3 (X V + b)) of
  the nodes, trained for `graph_iterations` steps so that its rows, as unit vectors, come near those
  of the L2 distances between models in the mean square; the `nearest` largest of a row are kept.
- `graph = "similarity"`: A_ij is max(0, cosine of updates theta - theta_init). The SFL* of
  pFedGraph's Table 11 has the numbers of its own ablation of that kind (Table 13) in 10 of 12
  cells: that is this one with `layers = 1`.

Readings and departures:
- Nodes are linked to themselves in the known graph; rows are divided by their sums, a row of zeros
  is the node's own. The learned graph is fitted to distances, not to nearness, as in the code.
- The embeddings are drawn anew each round, the same for all nodes, as torch.nn draws them; steps
  are plain SGD with `graph_rate` and weight decay 1e-4.
- `strength` / 2 ||theta - (what the round started from)||^2 in the local loss is the paper's
  regularizer towards the aggregated model; 0 for pFedGraph's baseline. The one towards a global
  model is left out, and so is the noise that the code adds.
- Absent nodes: the graph is restricted to those heard (`AbsenceParams`).

Personalizes: the whole model.
Shares: whole models, mixed along a graph.
Sends: `b * theta + 32` per neighbour; with a server `b * theta + 32` up, `b * theta` down.
Needs: equal architectures; `edges`, or a graph that is learned.
Cost a round: `S` steps, a mean per node; `graph = "learned"`: `graph_iterations` steps on K x K
numbers.
Late or absent peers: the graph is restricted to the nodes whose models came; with `absent`, the own
model takes the weight of the others, or their last models replace them.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, Self

import torch
import torch.nn.functional as F
from torch import Tensor

from netsim import api
from netsim.api import Index, Node, Process

SHARPNESS, DECAY = 3.0, 1e-4
"""Of the tanh, and weight decay of the embeddings."""


class Params(api.PlainTraining, api.AbsenceParams):
    """Choice of the graph, and of the way models flow along it.

    Attributes
    ----------
    graph
        Graph along which models flow: that of `edges`, one that is partly learned (SFL*), or the
        similarity of updates.
    edges
        Pairs of linked nodes; empty: every pair. Example: `[[0, 1], [1, 2]]`
    layers
        L, how many times models flow along the graph in a round.
    mixing
        gamma, weight of what has flowed against the node's own model.
    strength
        Weight of the distance to the model that a round started from.
    learned_part
        Weight of the learned graph against the given one.
    nearest
        Number of entries of a row of the learned graph that are kept.
    embedding
        Numbers of a node's embedding, from which the graph is learned.
    graph_iterations
        Steps of the graph's learning in a round.
    graph_rate
        Learning rate of the graph.
    """

    graph: Literal["given", "learned", "similarity"] = "given"
    edges: tuple[tuple[Index, Index], ...] = ()
    layers: api.Count = 3
    mixing: api.Fraction = 1.0
    strength: api.NonNegative = 0.0
    learned_part: api.Fraction = 0.05
    nearest: api.Count = 30
    embedding: api.Count = 40
    graph_iterations: api.Count = 10
    graph_rate: api.Positive = 0.01

    @api.model_validator(mode="after")
    def _of_its_graph(self) -> Self:
        learned = {"learned_part", "nearest", "embedding", "graph_iterations", "graph_rate"}
        unused = {"given": learned, "learned": set(), "similarity": {*learned, "edges"}}
        for key in self.changed(unused[self.graph]):
            raise ValueError(f'{key} has no meaning with graph = "{self.graph}"')
        return self


@api.algorithm(mixes_to_one=True, common_parts=("parameters",))
def processes(node: Node, params: Params) -> list[Process]:
    """Rounds in which models flow along a graph."""
    return api.personal_processes(node, params, Participant(node, params), along_the_graph)


class Participant(api.AveragedModel[Params]):
    """One node, whose model keeps near the one it starts from if there is a strength."""

    def how(self) -> dict[str, Any]:
        how = super().how()
        if self.params.strength:
            how["anchor"] = (self.model.theta, self.params.strength)
        return how


def along_the_graph(
    node: Node, params: Params, shares: Mapping[int, api.Share], whose: Sequence[int]
) -> Iterator[tuple[int, api.Mean]]:
    """The rows of A^L for the nodes `whose`, and their means."""
    ids = sorted(shares)
    thetas = [shares[j].theta.part("parameters") for j in ids]
    known = {frozenset(edge) for edge in params.edges}
    links = tuple(
        (a, b) for a, i in enumerate(ids) for b, j in enumerate(ids)
        if i == j or not known or frozenset((i, j)) in known
    )  # fmt: skip
    origin, own = node.initial().part("parameters"), tuple(ids.index(i) for i in whose)
    (u,) = node.uniform("embeddings", 1, common=True)
    args = (thetas, origin, links, own, int(u * 2**31), params)
    graph = node.compute(rows, *args, like=(len(own), len(ids)))
    return api.own_means(node, params, shares, whose, graph)


def rows(
    thetas: Sequence[Tensor],
    origin: Tensor,
    links: tuple[tuple[int, int], ...],
    own: tuple[int, ...],
    seed: int,
    params: Params,
) -> Tensor:
    """Rows of gamma A^L + (1 - gamma) I at the places `own`.

    Parameters
    ----------
    thetas : sequence of torch.Tensor
        (P,) each, of the n nodes heard.
    origin : torch.Tensor
        (P,) theta_init.
    links : tuple of (int, int)
        The places that the known graph links, both ways.
    own : tuple of int
    seed : int
        Of the embeddings.
    params : Params

    Returns
    -------
    torch.Tensor
        (len(own), n)
    """
    models = torch.stack(list(thetas))
    if params.graph == "similarity":
        directions = F.normalize(models - origin, dim=1)
        a = normalised((directions @ directions.T).clamp(min=0.0))
    else:
        a = models.new_zeros(len(models), len(models))
        a[[i for i, _ in links], [j for _, j in links]] = 1.0
        a = normalised(a)
    if params.graph == "learned":
        exactly = "donot_use_mm_for_euclid_dist"
        distances = torch.cdist(models, models, compute_mode=exactly)
        found = normalised(learned_graph(distances, seed, params))
        a = (1.0 - params.learned_part) * a + params.learned_part * found
    flow: Tensor = torch.linalg.matrix_power(a, params.layers)
    own_part = (1.0 - params.mixing) * torch.eye(len(a)).to(a)
    return (params.mixing * flow + own_part)[list(own)]


def normalised(a: Tensor) -> Tensor:
    """Rows over their sums; a row of zeros becomes the node's own: (n, n)."""
    total = a.sum(1, keepdim=True)
    return torch.where(total > 0, a / total.clamp(min=1e-30), torch.eye(len(a)).to(a))


def learned_graph(distances: Tensor, seed: int, params: Params) -> Tensor:
    """The graph that fits distances (n, n), with the largest entries of each row: (n, n)."""
    target = F.normalize(distances)
    values = [v.to(target).requires_grad_() for v in drawn(len(target), params.embedding, seed)]
    with torch.enable_grad():
        for _ in range(params.graph_iterations):
            misfit = F.mse_loss(F.normalize(graph_of(values)), target)
            gradients = torch.autograd.grad(misfit, values)
            with torch.no_grad():
                for value, gradient in zip(values, gradients, strict=True):
                    value -= params.graph_rate * (gradient + DECAY * value)
    a = graph_of(values).detach()
    largest = a.topk(min(params.nearest, len(a)), dim=1)
    return torch.zeros_like(a).scatter(1, largest.indices, largest.values)


def graph_of(values: Sequence[Tensor]) -> Tensor:
    """relu(tanh(3 (E_1 E_2' - E_2 E_1'))) of X_1, X_2 (n, d), V_1, b_1, V_2, b_2: (n, n)."""
    x_1, x_2, v_1, b_1, v_2, b_2 = values
    e_1 = torch.tanh(SHARPNESS * (x_1 @ v_1.T + b_1))
    e_2 = torch.tanh(SHARPNESS * (x_2 @ v_2.T + b_2))
    return torch.relu(torch.tanh(SHARPNESS * (e_1 @ e_2.T - e_2 @ e_1.T)))


def drawn(count: int, size: int, seed: int) -> list[Tensor]:
    """X_1, X_2 normal, V and b uniform in +- 1 / sqrt(size), as `graph_of` takes them."""
    generator = torch.Generator().manual_seed(seed)
    how: dict[str, Any] = {"generator": generator, "dtype": torch.float64}
    embeddings = [torch.randn(count, size, **how) for _ in range(2)]
    layers = [torch.rand(*shape, **how) for _ in range(2) for shape in ((size, size), (size,))]
    return embeddings + [(2 * u - 1) / size**0.5 for u in layers]
