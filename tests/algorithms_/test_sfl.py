"""SFL and SFL*: whole runs against the equations, and the learned graph against torch.nn."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from algorithms.sfl import Params, drawn, learned_graph
from netsim.errors import NetsimError

from .transcription import (
    LOSSY,
    NODES,
    ROUNDS,
    SERVER,
    WORLD,
    Given,
    cross_entropy,
    sgd,
    shown,
)

EXACT = {"rtol": 0, "atol": 1e-12}
EDGES = [[0, 1], [1, 2], [3, 4]]


def over_sums(a):
    return torch.stack([row / row.sum() for row in a])


def linked(edges):
    a = torch.eye(NODES).double()
    for i, j in edges:
        a[i, j] = a[j, i] = 1
    return over_sums(a)


def alike(thetas, origin):
    moved = [theta - origin for theta in thetas]
    return over_sums(
        torch.tensor(
            [[max(0.0, float(a @ b / a.norm() / b.norm())) for b in moved] for a in moved],
            dtype=torch.float64,
        )
    )


class Constructor(nn.Module):
    """Two embeddings, each with a linear layer behind it."""

    def __init__(self, count, size, seed):
        super().__init__()
        self.parts = nn.ModuleList(
            [nn.Embedding(count, size) for _ in range(2)]
            + [nn.Linear(size, size) for _ in range(2)]
        ).double()
        for parameter, value in zip(self.parameters(), drawn(count, size, seed), strict=True):
            parameter.data = value

    def forward(self):
        one, two = (
            torch.tanh(3 * self.parts[k + 2](self.parts[k].weight)) for k in range(2)
        )  # fmt: skip
        return torch.relu(torch.tanh(3 * (one @ two.T - two @ one.T)))


def constructed(thetas, seed, size, epochs, rate, nearest):
    constructor = Constructor(NODES, size, seed)
    target = torch.stack([torch.stack([(a - b).norm() for b in thetas]) for a in thetas])
    target = target / target.norm(dim=1, keepdim=True)
    optimizer = torch.optim.SGD(constructor.parameters(), lr=rate, weight_decay=1e-4)
    for _ in range(epochs):
        optimizer.zero_grad()
        F.mse_loss(F.normalize(constructor()), target).backward()
        optimizer.step()
    a = constructor().detach()
    for row in a:
        row[row < row.sort(descending=True).values[nearest - 1]] = 0
    own = torch.eye(NODES).double()
    return torch.stack([r / r.sum() if r.sum() > 0 else own[i] for i, r in enumerate(a)])


def transcription(given, layers, mixing, strength, graph):
    theta = [given.initial for _ in range(NODES)]
    for t in range(ROUNDS):
        trained = []
        for i in range(NODES):

            def near(row, x, y, start=theta[i]):
                return cross_entropy(row, x, y) + strength / 2 * ((row - start) ** 2).sum()

            trained.append(sgd(theta[i], given.epoch(i, t), near))
        a = graph(trained, t)
        flown = trained
        for _ in range(layers):
            flown = [sum(a[i, j] * flown[j] for j in range(NODES)) for i in range(NODES)]
        theta = [mixing * flown[i] + (1 - mixing) * trained[i] for i in range(NODES)]
    return theta


def compare(run, theta):
    for mine, theirs in zip(shown(run, "mixed"), theta, strict=True):
        torch.testing.assert_close(mine, theirs, **EXACT)


BOTH = pytest.mark.parametrize("world", [WORLD, SERVER], ids=["peers", "server"])


@pytest.mark.thinned(3)
@BOTH
@pytest.mark.parametrize(("layers", "mixing", "strength"), [(3, 1.0, 0.0), (2, 0.7, 0.5)])
def test_sfl(play, world, layers, mixing, strength):
    algorithm = {"kind": "sfl", "edges": EDGES, "layers": layers}
    run = play(algorithm | {"mixing": mixing, "strength": strength}, **world)
    a = linked(EDGES)
    compare(run, transcription(Given(run), layers, mixing, strength, lambda thetas, t: a))


@BOTH
def test_sfl_by_similarity(play, world):
    run = play({"kind": "sfl", "graph": "similarity", "layers": 1}, **world)
    given = Given(run)
    compare(run, transcription(given, 1, 1.0, 0.0, lambda thetas, t: alike(thetas, given.initial)))


@pytest.mark.thinned(2)
@BOTH
def test_sfl_with_a_learned_graph(play, world):
    algorithm = {"kind": "sfl", "graph": "learned", "edges": EDGES, "learned_part": 0.4}
    numbers = {"embedding": 6, "graph_iterations": 4, "graph_rate": 0.5, "nearest": 2}
    run = play(algorithm | numbers, **world)
    given = Given(run)

    def graph(thetas, t):
        (u,) = run.world.streams.uniforms("common/embeddings", counters=range(t, t + 1))
        found = constructed(thetas, int(u * 2**31), 6, 4, 0.5, 2)
        return 0.6 * linked(EDGES) + 0.4 * found

    compare(run, transcription(given, 3, 1.0, 0.0, graph))


def test_a_learned_graph_comes_nearer_to_the_distances():
    models = torch.randn(6, 20, generator=torch.Generator().manual_seed(1)).double()
    distances = torch.cdist(models, models)

    def misfit(epochs):
        params = Params(graph="learned", graph_iterations=epochs, graph_rate=1.0)
        found = F.normalize(learned_graph(distances, 5, params))
        return float(F.mse_loss(found, F.normalize(distances)))

    assert misfit(300) < misfit(1)


@pytest.mark.thinned(3)
@pytest.mark.parametrize("change", [{"absent": "self"}, {"absent": "last"}, {"max_age_s": 0.001}])
def test_absence_counts_where_messages_are_lost(play, change):
    plain, changed = (play({"kind": "sfl", **more}, **LOSSY) for more in ({}, change))
    pairs = zip(shown(plain, "mixed"), shown(changed, "mixed"), strict=True)
    assert not all(torch.equal(*pair) for pair in pairs)


@pytest.mark.parametrize(
    "algorithm",
    [{"nearest": 2}, {"graph": "similarity", "edges": EDGES}, {"graph": "given", "embedding": 2}],
)
def test_what_another_graph_has_is_refused(play, algorithm):
    with pytest.raises(NetsimError, match="has no meaning with graph"):
        play({"kind": "sfl", **algorithm}, **WORLD)
