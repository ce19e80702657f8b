"""pFedMe against Algorithm 1, written down in plain PyTorch."""

import pytest

from netsim.errors import NetsimError

from .transcription import (
    NODES,
    ROUNDS,
    WORLD,
    WORLDS,
    Given,
    cross_entropy,
    difference,
    mean,
    sgd,
    shown,
)

ALGORITHM = {
    "kind": "pfedme",
    "local_steps": 3,
    "inner_steps": 2,
    "strength": 2.0,
    "inner_learning_rate": 0.1,
    "outer_learning_rate": 0.2,
}


def transcribed(given, beta=1.0):
    """Personal models and local ones after the last local training, and the mean after it."""
    w = given.initial
    for t in range(ROUNDS):
        local, personal = [], []
        for i in range(NODES):
            w_i = theta = w
            for r in range(3):

                def envelope(row, x, y, w_i=w_i):
                    return cross_entropy(row, x, y) + 2.0 / 2 * ((row - w_i) ** 2).sum()

                theta = sgd(theta, 2 * given.batches(i, 3 * t + r, 1), envelope, 0.1)
                w_i = w_i - 0.2 * 2.0 * (w_i - theta)
            local.append(w_i)
            personal.append(theta)
        w = (1 - beta) * w + beta * mean(local, given.sizes)
    return personal, local, w


@pytest.mark.thinned(6)
@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("beta", [1.0, 0.6])
def test_algorithm_1(play, world, beta):
    run = play(ALGORITHM | {"beta": beta}, **WORLDS[world])
    personal, _, _ = transcribed(Given(run), beta)
    assert difference(shown(run, "trained"), personal) < 1e-12
    assert set(run.parts[0].publishing.published) == {"trained"}
    assert run.parts[0].processor.local_steps == ROUNDS * 3 * 2


@pytest.mark.thinned(3)
@pytest.mark.parametrize("world", WORLDS)
def test_the_reported_model_may_be_the_local_one(play, world):
    run = play(ALGORITHM | {"report": "w", "beta": 1.5}, **WORLDS[world])
    _, local, w = transcribed(Given(run), 1.5)
    assert difference(shown(run, "trained"), local) < 1e-12
    assert difference(shown(run, "mixed"), [w] * NODES) < 1e-12


def test_epochs_are_refused(play):
    with pytest.raises(NetsimError, match="local_epochs or local_steps"):
        play({"kind": "pfedme", "local_epochs": 2}, **WORLD)
