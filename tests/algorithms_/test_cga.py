"""CGA: whole runs against Algorithm 1, its quadratic program solved by trying every active set."""

from itertools import combinations

import pytest
import torch

from algorithms.cga import projected

from .transcription import (
    HIDDEN,
    LOSSY,
    NODES,
    RATE,
    RING,
    ROUNDS,
    UNEVEN,
    WORLD,
    Given,
    metropolis,
    sgd,
    shown,
)

EXACT = {"rtol": 0, "atol": 1e-12}
CUTS = [64 * HIDDEN, HIDDEN, 10 * HIDDEN, 10]


def solved(g, rows, margin):
    """M'v + g by the conditions of Karush, Kuhn and Tucker; and whether any constraint is off."""
    gram, linear = rows @ rows.T, rows @ g
    count = len(rows)
    for size in range(count + 1):
        for free in map(list, combinations(range(count), size)):
            v = torch.full((count,), margin, dtype=g.dtype)
            bound = [k for k in range(count) if k not in free]
            if free:
                right = -linear[free] - gram[free][:, bound] @ v[bound]
                v[free] = torch.linalg.solve(gram[free][:, free], right)
            slope = gram @ v + linear
            if (v >= margin - 1e-14).all() and (slope[bound] >= -1e-14).all():
                return rows.T @ v + g, bool(free)
    raise AssertionError("no active set fits")


def transcription(run, epochs, margin, momentum, by_tensor, nesterov):
    given, neighbours = Given(run), run.world.neighbours
    pi = metropolis(neighbours)
    x = [given.initial for _ in range(NODES)]
    m = [torch.zeros_like(x[0]) for _ in range(NODES)]
    taken, projections = [0] * NODES, 0

    def gradient(i, row):  # of node i's loss at a row, on its next minibatches
        count = len(given.epoch(i, 0)) * epochs if epochs else 1
        used = given.batches(i, taken[i], count)
        taken[i] += count
        return (row - sgd(row, used)) / RATE

    for _ in range(ROUNDS):
        g = {}  # g[i, j]: of node j's loss at x_i
        for j in range(NODES):
            for i in (j, *neighbours[j]):
                g[i, j] = gradient(j, x[i])
        after = []
        for i in range(NODES):
            own = pi[i, i] * g[i, i]
            rows = torch.stack([pi[i, j] * g[i, j] for j in neighbours[i]])
            cuts = CUTS if by_tensor else [len(own)]
            pieces = [
                solved(a, b, margin)
                for a, b in zip(own.split(cuts), rows.split(cuts, 1), strict=True)
            ]
            projections += any(free for _, free in pieces)
            direction = torch.cat([piece for piece, _ in pieces])
            m[i] = momentum * m[i] + direction
            step = direction + momentum * m[i] if nesterov else m[i]
            after.append(sum(pi[i, j] * x[j] for j in range(NODES)) - RATE * step)
        x = after
    return x, projections


@pytest.mark.thinned(24)
@pytest.mark.parametrize("world", [WORLD, RING, UNEVEN], ids=["complete", "ring", "uneven"])
@pytest.mark.parametrize(
    ("epochs", "margin", "by_tensor", "nesterov"),
    [(None, 0.0, False, False), (None, 0.5, True, True), (1, 0.0, False, False)],
    ids=["paper", "code", "epoch"],
)
def test_cga(play, world, epochs, margin, by_tensor, nesterov):
    algorithm = {"kind": "cga", "margin": margin, "by_tensor": by_tensor, "nesterov": nesterov}
    amount = {} if epochs is None else {"local_epochs": epochs}
    run = play(algorithm | amount | {"momentum": 0.6}, **world)
    expected, projections = transcription(run, epochs, margin, 0.6, by_tensor, nesterov)
    for mine, theirs in zip(shown(run, "mixed"), expected, strict=True):
        torch.testing.assert_close(mine, theirs, **EXACT)
    assert projections or epochs is None


def test_two_conflicting_gradients_leave_the_one_between_them():
    """g and one row at 120 degrees: what is left of g is at a right angle to the row."""
    g = torch.tensor([1.0, 0.0], dtype=torch.float64)
    row = torch.tensor([[-0.5, 3**0.5 / 2]], dtype=torch.float64)
    torch.testing.assert_close(projected(g, row, 0.0), torch.tensor([0.75, 3**0.5 / 4]).double())
    torch.testing.assert_close(projected(g, -row, 0.0), g)
    torch.testing.assert_close(projected(g, -row, 0.5), g - 0.5 * row[0])
    assert projected(g, row * torch.nan, 0.0).equal(g)


@pytest.mark.parametrize("row", [[[-1.0, 0.0], [-1.0, 0.0]], [[0.0, 0.0], [-2.0, 0.0]]])
def test_dependent_gradients_are_no_trouble(row):
    g = torch.tensor([1.0, 1.0], dtype=torch.float64)
    left = projected(g, torch.tensor(row, dtype=torch.float64), 0.0)
    torch.testing.assert_close(left, torch.tensor([0.0, 1.0]).double())


@pytest.mark.thinned(4)
@pytest.mark.parametrize("change", [{"absent": "last"}, {"max_age_s": 0.001}])
def test_absence_counts_where_messages_are_lost(play, change):
    plain, changed = (play({"kind": "cga", **more}, **LOSSY) for more in ({}, change))
    pairs = zip(shown(plain, "mixed"), shown(changed, "mixed"), strict=True)
    assert not all(torch.equal(*pair) for pair in pairs)
