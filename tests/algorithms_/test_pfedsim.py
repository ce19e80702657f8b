"""pFedSim: whole runs against Algorithm 1, written down in plain PyTorch."""

import math

import pytest
import torch

from .transcription import (
    HIDDEN,
    LOSSY,
    NODES,
    ROUNDS,
    SERVER,
    WORLD,
    Given,
    layers,
    mean,
    sgd,
    shown,
)
from .weights import logged

EXACT = {"rtol": 0, "atol": 1e-12}
CUT = HIDDEN * 65
BASE = {"kind": "pfedsim", "general_rounds": 1}


def weights(thetas, i):
    a = []
    for j in range(NODES):
        mine, theirs = layers(thetas[i])[2], layers(thetas[j])[2]
        cosines = [
            float(mine[c] @ theirs[c] / (mine[c].norm() * theirs[c].norm())) for c in range(10)
        ]
        s = 0.9999 if i == j else max(0.0, sum(cosines) / 10)
        a.append(-math.log(1 - s))
    return [x / sum(a) for x in a]


@pytest.mark.thinned(6)
@pytest.mark.parametrize("world", [WORLD, SERVER], ids=["peers", "server"])
@pytest.mark.parametrize(("general", "sizes"), [(0, True), (1, True), (1, False), (3, True)])
def test_pfedsim(play, world, general, sizes):
    algorithm = {"kind": "pfedsim", "general_rounds": general}
    run = play(algorithm | {"weights": "sizes" if sizes else "equal"}, **world)
    given = Given(run)
    theta = [given.initial for _ in range(NODES)]
    for t in range(ROUNDS):
        trained = [sgd(theta[i], given.epoch(i, t)) for i in range(NODES)]
        if t < general:
            theta = [mean(trained, given.sizes if sizes else [1] * NODES)] * NODES
        else:
            a = [weights(trained, i) for i in range(NODES)]
            theta = [
                torch.cat([mean([row[:CUT] for row in trained], a[i]), trained[i][CUT:]])
                for i in range(NODES)
            ]
    for stage, expected in (("trained", trained), ("mixed", theta)):
        for mine, theirs in zip(shown(run, stage), expected, strict=True):
            torch.testing.assert_close(mine, theirs, **EXACT)
    if general < ROUNDS:
        last = {i: ref for _, i, _, ref in logged(run)}
        for i in range(NODES):
            assert last[i].tensor().tolist() == pytest.approx(a[i], abs=1e-12)


@pytest.mark.thinned(3)
@pytest.mark.parametrize("change", [{"absent": "self"}, {"absent": "last"}, {"max_age_s": 0.001}])
def test_absence_counts_where_messages_are_lost(play, change):
    plain, changed = (play({**BASE, **more}, **LOSSY) for more in ({}, change))
    pairs = zip(shown(plain, "trained"), shown(changed, "trained"), strict=True)
    assert not all(torch.equal(*pair) for pair in pairs)
