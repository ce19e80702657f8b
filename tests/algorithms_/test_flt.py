"""FLT: whole runs against its description, k-means and matchings by plain loops."""

from itertools import permutations

import pandas as pd
import pytest
import torch

from algorithms.flt import cluster_centres, matching_distance
from netsim.api import Batch

from .transcription import (
    HIDDEN,
    LOSSY,
    NODES,
    ROUNDS,
    SERVER,
    WORLD,
    Given,
    features,
    sgd,
    shown,
)

EXACT = {"rtol": 0, "atol": 1e-12}


def centres(given, i, iterations):
    x, y = given.split(i, "train")
    z = features(given.initial, x)
    (u,) = given.draws(i, "centres", 0, 1)
    generator = torch.Generator().manual_seed(int(u * 2**31))
    chosen = torch.randperm(len(z), generator=generator)[: len(set(y.tolist()))]
    found = [z[k] for k in chosen]
    for _ in range(iterations):
        groups = [[] for _ in found]
        for row in z:
            away = [float(((row - c) ** 2).sum()) for c in found]
            groups[away.index(min(away))].append(row)
        found = [sum(g) / len(g) if g else c for g, c in zip(groups, found, strict=True)]
    return found


def matched(a, b):
    if len(a) > len(b):
        a, b = b, a
    costs = [[float((p - q).norm()) for q in b] for p in a]
    return min(
        sum(costs[k][j] for k, j in enumerate(order)) / len(a)
        for order in permutations(range(len(b)), len(a))
    )


def links(given, threshold, iterations):
    c = [centres(given, i, iterations) for i in range(NODES)]
    d = {(i, j): matched(c[i], c[j]) for i in range(NODES) for j in range(i)}
    limit = threshold * sum(d.values()) / len(d)
    return [
        [j for j in range(NODES) if i == j or d[max(i, j), min(i, j)] < limit] for i in range(NODES)
    ]


@pytest.mark.slow
@pytest.mark.parametrize("world", [WORLD, SERVER], ids=["peers", "server"])
@pytest.mark.parametrize(("threshold", "sizes"), [(1.0, True), (0.9, False)])
def test_flt(play, world, threshold, sizes):
    algorithm = {"kind": "flt", "threshold": threshold, "iterations": 3}
    run = play(algorithm | {"weights": "sizes" if sizes else "equal"}, **world)
    given = Given(run)
    linked = links(given, threshold, 3)
    n = given.sizes if sizes else [1] * NODES
    theta = [given.initial for _ in range(NODES)]
    for t in range(ROUNDS):
        trained = [sgd(theta[i], given.epoch(i, t)) for i in range(NODES)]
        theta = [
            sum(n[j] * trained[j] for j in linked[i]) / sum(n[j] for j in linked[i])
            for i in range(NODES)
        ]
    for stage, expected in (("trained", trained), ("mixed", theta)):
        for mine, theirs in zip(shown(run, stage), expected, strict=True):
            torch.testing.assert_close(mine, theirs, **EXACT)
    assert max(map(len, linked)) > 1
    assert min(map(len, linked)) < NODES


@pytest.mark.slow
def test_centres_are_sent_once_or_as_often_as_said(play, tmp_path):
    for rounds in (1, 2):
        folder = tmp_path / str(rounds)
        run = play({"kind": "flt", "announce": rounds}, folder, **WORLD)
        log = pd.read_parquet(folder / "messages")
        model = 32 * run.world.initial[0].numel() + 32
        classes = [len(set(Given(run).split(i, "train")[1].tolist())) for i in range(NODES)]
        with_centres = log[log.bits > model]
        assert len(log) == ROUNDS * NODES * (NODES - 1)
        assert len(with_centres) == rounds * NODES * (NODES - 1)
        assert set(with_centres.bits) == {model + 32 * k * HIDDEN for k in classes}


@pytest.mark.slow
def test_centres_that_did_not_come_are_warned_of(play):
    never = "whose centres it has not got"
    assert not play({"kind": "flt"}, **WORLD).recorder.warnings.all()
    lossy = play({"kind": "flt"}, **LOSSY).recorder.warnings.all()
    assert any(never in text and "announce = 1" in text for text in lossy)
    # Without a barrier the second model of a node takes the place of its first, with centres.
    clocks = {"exchange": {"schedule": "poisson", "rate_hz": 0.02}}
    slow = play({"kind": "flt"}, **WORLD | clocks).recorder.warnings.all()
    assert any(never in text for text in slow)


def test_a_matching_is_one_to_one():
    a = torch.tensor([[0.0], [1.0]])
    assert float(matching_distance(a, torch.tensor([[1.0], [3.0]]))) == 1.5
    assert float(matching_distance(a, torch.tensor([[5.0], [1.0], [0.5]]))) == 0.25


def test_more_iterations_bring_centres_nearer_to_their_samples():
    class Itself:
        features = torch.nn.Identity()

    batch = Batch(torch.rand(60, 3, generator=torch.Generator().manual_seed(2)), torch.zeros(60))

    def misfit(iterations):
        found = cluster_centres(Itself(), batch, 5, 7, iterations)
        return float(torch.cdist(batch.x, found).min(1).values.square().sum())

    assert misfit(20) < misfit(2) < misfit(1)


@pytest.mark.slow
@pytest.mark.parametrize(
    "change",
    [{"absent": "self"}, {"absent": "last"}, {"max_age_s": 0.001}, {"announce": 3}],
)
def test_absence_counts_where_messages_are_lost(play, change):
    base = {"kind": "flt", "threshold": 3.0}
    plain, changed = (play({**base, **more}, **LOSSY) for more in ({}, change))
    pairs = zip(shown(plain, "mixed"), shown(changed, "mixed"), strict=True)
    assert not all(torch.equal(*pair) for pair in pairs)
