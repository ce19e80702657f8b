"""FedAMP and HeurFedAMP: whole runs against the equations, node by node in plain PyTorch."""

import math

import pytest
import torch

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
from .weights import logged

EXACT = {"rtol": 0, "atol": 1e-12}
BOTH = pytest.mark.parametrize("world", [WORLD, SERVER], ids=["peers", "server"])


def attention(thetas, i, alpha, sigma):
    xi = [0.0] * NODES
    for j in range(NODES):
        if j != i:
            square = float(((thetas[i] - thetas[j]) ** 2).sum())
            xi[j] = alpha * math.exp(-square / sigma) / sigma
    total = sum(xi)
    if total > 1:
        xi = [x / total for x in xi]
    xi[i] = 1 - sum(xi)
    return xi


def heuristic(thetas, i, own, sigma, origin):
    moved = [theta - origin for theta in thetas]
    e = [
        0.0
        if j == i
        else math.exp(sigma * float(moved[i] @ moved[j] / moved[i].norm() / moved[j].norm()))
        for j in range(NODES)
    ]
    return [own if j == i else (1 - own) * e[j] / sum(e) for j in range(NODES)]


def transcription(given, strength, weights):
    theta = [given.initial for _ in range(NODES)]
    cloud = [given.initial for _ in range(NODES)]
    for t in range(ROUNDS):
        for i in range(NODES):

            def near(row, x, y, u=cloud[i]):
                return cross_entropy(row, x, y) + strength / 2 * ((row - u) ** 2).sum()

            theta[i] = sgd(theta[i], given.epoch(i, t), near)
        xi = [weights(theta, i) for i in range(NODES)]
        cloud = [sum(xi[i][j] * theta[j] for j in range(NODES)) for i in range(NODES)]
    return theta, xi


def compare(run, theta, xi):
    for mine, theirs in zip(shown(run, "trained"), theta, strict=True):
        torch.testing.assert_close(mine, theirs, **EXACT)
    last = {i: ref.tensor().tolist() for _, i, _, ref in logged(run)}
    for i in range(NODES):
        assert last[i] == pytest.approx(xi[i], abs=1e-12)


@pytest.mark.thinned(4)
@BOTH
@pytest.mark.parametrize(("alpha", "sigma"), [(2.0, 10.0), (50.0, 10.0)], ids=["small", "large"])
def test_fedamp(play, world, alpha, sigma):
    run = play({"kind": "fedamp", "strength": 0.8, "alpha": alpha, "sigma": sigma}, **world)
    found = transcription(
        Given(run), 0.8 / alpha, lambda thetas, i: attention(thetas, i, alpha, sigma)
    )
    compare(run, *found)
    own = [found[1][i][i] for i in range(NODES)]
    assert min(own) > 0.1 if alpha == 2.0 else max(own) < 1e-12


@pytest.mark.thinned(4)
@BOTH
@pytest.mark.parametrize("compared", ["updates", "models"])
def test_heurfedamp(play, world, compared):
    algorithm = {"kind": "fedamp", "heuristic": True, "own_weight": 0.4, "sigma": 7.0}
    run = play(algorithm | {"compare": compared, "strength": 0.6}, **world)
    given = Given(run)
    origin = given.initial if compared == "updates" else torch.zeros_like(given.initial)
    compare(
        run,
        *transcription(given, 0.6, lambda thetas, i: heuristic(thetas, i, 0.4, 7.0, origin)),
    )


@pytest.mark.slow
@pytest.mark.parametrize("change", [{"absent": "self"}, {"absent": "last"}, {"max_age_s": 0.001}])
def test_absence_counts_where_messages_are_lost(play, change):
    plain, changed = (play({"kind": "fedamp", **more}, **LOSSY) for more in ({}, change))
    pairs = zip(shown(plain, "trained"), shown(changed, "trained"), strict=True)
    assert not all(torch.equal(*pair) for pair in pairs)


@pytest.mark.thinned(3)
@pytest.mark.parametrize(
    "algorithm",
    [{"own_weight": 0.5}, {"compare": "models"}, {"heuristic": True, "alpha": 2.0}],
)
def test_what_the_other_variant_has_is_refused(play, algorithm):
    with pytest.raises(NetsimError, match="has no meaning with heuristic"):
        play({"kind": "fedamp", **algorithm}, **WORLD)
