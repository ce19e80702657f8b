"""Per-FedAvg against Algorithm 1 and its approximations, written down in plain PyTorch."""

import pytest
import torch
from torch.autograd.functional import hvp

from algorithms.per_fedavg import parts
from netsim.api import Batch
from netsim.errors import NetsimError

from .transcription import (
    NODES,
    RATE,
    ROUNDS,
    WORLD,
    WORLDS,
    Given,
    cross_entropy,
    difference,
    gradient,
    mean,
    shown,
)

ALGORITHM = {"kind": "per_fedavg", "local_steps": 2, "alpha": 0.3}


def cut(batch, count):
    """Equal parts in order; one of fewer than two samples takes the next one, or one before."""
    n, pieces = len(batch[1]), []
    for k in range(count):
        i, j = k * n // count, (k + 1) * n // count
        if j - i < 2:
            i, j = (i, i + 2) if i + 2 <= n else (n - 2, n)
        pieces.append((batch[0][i:j], batch[1][i:j]))
    return pieces


def first_order(theta, batch):
    b1, b2 = cut(batch, 2)
    return gradient(theta - 0.3 * gradient(theta, b1), b2)


def hessian_free(theta, batch):
    b1, b2, b3 = cut(batch, 3)
    h = gradient(theta - 0.3 * gradient(theta, b1), b2)
    slopes = gradient(theta + 0.05 * h, b3) - gradient(theta - 0.05 * h, b3)
    return h - 0.3 * slopes / (2 * 0.05)


def exact(theta, batch):
    b1, b2 = cut(batch, 2)
    h = gradient(theta - 0.3 * gradient(theta, b1), b2)
    _, product = hvp(lambda row: cross_entropy(row, *b1), theta, h)
    return h - 0.3 * product


META = {"first_order": first_order, "hessian_free": hessian_free, "exact": exact}


@pytest.mark.thinned(16)
@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("variant", META)
def test_algorithm_1(play, world, variant):
    delta = {"delta": 0.05} if variant == "hessian_free" else {}
    run = play(ALGORITHM | {"variant": variant, **delta}, **WORLDS[world])
    given = Given(run)
    w = given.initial
    for t in range(ROUNDS):
        thetas = []
        for i in range(NODES):
            theta = w
            for batch in given.batches(i, 2 * t, 2):
                theta = theta - RATE * META[variant](theta, batch)
            thetas.append(theta)
        w = mean(thetas, given.sizes)
    adapted = [w - 0.3 * gradient(w, given.split(i, "train")) for i in range(NODES)]
    assert difference(shown(run, "trained"), thetas) < 1e-12
    assert difference(shown(run, "mixed"), adapted) < 1e-12


@pytest.mark.slow
def test_the_reported_model_may_be_the_one_after_local_training(play):
    adapted, plain = (play(ALGORITHM | {"adapt": a}, **WORLD) for a in (True, False))
    assert set(plain.parts[0].publishing.published) == {"trained"}
    assert difference(shown(plain, "trained"), shown(adapted, "trained")) == 0


@pytest.mark.parametrize("samples", [1, 2, 3, 4, 5, 7, 10])
@pytest.mark.parametrize("count", [2, 3])
def test_parts_cover_a_minibatch_and_are_never_empty(samples, count):
    numbers = torch.arange(samples)
    cut_in = [part.y.tolist() for part in parts(Batch(numbers, numbers), count)]
    assert all(cut_in)
    assert sorted({n for part in cut_in for n in part}) == numbers.tolist()
    assert min(map(len, cut_in)) == (1 if samples == 1 else max(2, samples // count))
    assert sum(map(len, cut_in)) == max(samples, count * min(2, samples))


@pytest.mark.slow
@pytest.mark.parametrize("variant", META)
@pytest.mark.parametrize("backend", ["sequential", "stacked"])
def test_models_that_normalise_batches_learn_their_statistics(play, backend, variant):
    tables = WORLD | {
        "model": {"kind": "iot_mlp", "hidden": 8},
        "run": {"device": "cpu", "backend": backend},
    }
    run = play(ALGORITHM | {"variant": variant}, **tables)
    row = shown(run, "mixed")[0]
    assert row.isfinite().all()
    assert not torch.equal(row[-128:], run.world.initial[0][-128:])


@pytest.mark.slow
def test_the_length_of_a_finite_difference_counts_where_there_is_one(play):
    free = ALGORITHM | {"variant": "hessian_free"}
    plain, changed = (shown(play(free | c, **WORLD), "mixed") for c in ({}, {"delta": 0.5}))
    assert difference(plain, changed) > 1e-9
    with pytest.raises(NetsimError, match="hessian_free"):
        play(ALGORITHM | {"delta": 0.1}, **WORLD)
