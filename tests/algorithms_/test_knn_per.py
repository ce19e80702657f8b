"""kNN-Per against its equations, sample by sample in plain PyTorch."""

import pytest
import torch

from algorithms.knn_per import Params, with_neighbours

from .transcription import (
    NODES,
    ROUNDS,
    WORLD,
    WORLDS,
    Given,
    difference,
    features,
    logits,
    mean,
    predictions,
    sgd,
    shown,
)

ALGORITHM = {"kind": "knn_per", "local_steps": 3, "neighbours": 4, "knn_weight": 0.3}


def fedavg(given):
    w = given.initial
    for t in range(ROUNDS):
        w = mean([sgd(w, given.batches(i, 3 * t, 3)) for i in range(NODES)], given.sizes)
    return w


def expected(w, x, known, classes, softmax=False, plain=False):
    """ld p_kNN + (1 - ld) p_w, sample by sample."""
    rows = []
    for sample in x:
        d = [float(((features(w, sample) - features(w, other)) ** 2).sum()) for other in known]
        d = d if plain else [one / len(features(w, sample)) for one in d]
        nearest = sorted(range(len(d)), key=d.__getitem__)[:4]
        votes = torch.zeros(10, dtype=torch.float64)
        for k in nearest:
            votes[classes[k]] += torch.exp(torch.tensor(-d[k], dtype=torch.float64))
        p_knn = torch.softmax(votes, 0) if softmax else votes / votes.sum()
        rows.append(0.3 * p_knn + 0.7 * torch.softmax(logits(w, sample), 0))
    return torch.stack(rows)


@pytest.mark.thinned(12)
@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("kernel", ["per_feature", "plain"])
@pytest.mark.parametrize("votes", ["normalised", "softmax"])
def test_predictions(play, world, votes, kernel):
    run = play(ALGORITHM | {"votes": votes, "kernel": kernel}, **WORLDS[world])
    given = Given(run)
    w = fedavg(given)
    assert difference(shown(run, "mixed"), [w] * NODES) < 1e-12
    for i in range(NODES):
        x, _ = given.split(i, "test")
        mine = predictions(run, i, x, "mixed").exp()
        theirs = expected(w, x, *given.split(i, "train"), votes == "softmax", kernel == "plain")
        assert float((mine - theirs).abs().max()) < 1e-12
    assert set(run.parts[0].publishing.published) == {"mixed"}


@pytest.mark.slow
def test_a_memory_has_at_most_so_many_samples(play):
    run = play(ALGORITHM | {"memory": 6}, **WORLD)
    given = Given(run)
    for i in range(NODES):
        memory, _ = run.parts[i].publishing.published["mixed"].given
        x, y = given.split(i, "train")
        own = torch.cat([features(fedavg(given), x), y[:, None]], dim=1)
        distances = (memory.tensor()[:, None] - own).abs().amax(2)
        assert memory.shape == (6, own.shape[1])
        assert float(distances.amin(1).max()) < 1e-12


class Far(torch.nn.Module):
    """Features so far apart that every e^-d is 0."""

    def features(self, x):
        return 1e4 * x

    def head(self, features):
        return features.new_zeros(len(features), 3)


@pytest.mark.parametrize("votes", ["normalised", "softmax"])
def test_neighbours_far_away_vote_and_give_numbers(votes):
    memory = torch.tensor([[1.0, 0.0], [2.0, 1.0], [4.0, 1.0]])
    params = Params(neighbours=10, votes=votes)
    p = with_neighbours(Far(), torch.tensor([[3.2]]), memory, params).exp()
    assert p.isfinite().all()
    assert float(p.sum()) == pytest.approx(1.0)
    if votes == "normalised":
        assert p[0].tolist() == pytest.approx([1 / 6, 2 / 3, 1 / 6])
