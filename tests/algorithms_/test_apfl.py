"""APFL against Algorithm 1, written down in plain PyTorch."""

import pytest

from netsim.errors import NetsimError

from .transcription import (
    NODES,
    RATE,
    ROUNDS,
    WORLD,
    WORLDS,
    Given,
    difference,
    gradient,
    mean,
    shown,
)

ALGORITHM = {"kind": "apfl", "local_steps": 3}


@pytest.mark.slow
@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("adaptive", [False, True])
def test_algorithm_1(play, world, adaptive):
    rate_of_a = {"alpha_learning_rate": 0.9} if adaptive else {}
    algorithm = ALGORITHM | {"adaptive": adaptive, "alpha": 0.3, **rate_of_a}
    run = play(algorithm, **WORLDS[world])
    given = Given(run)
    w = given.initial
    v, a = [w.clone() for _ in range(NODES)], [0.3] * NODES
    for t in range(ROUNDS):
        own, before = [], []
        for i in range(NODES):
            if adaptive:
                (batch,) = given.batches(i, t, 1, "alpha")
                slope = (v[i] - w) @ gradient(a[i] * v[i] + (1 - a[i]) * w, batch)
                a[i] = min(1.0, max(0.0, a[i] - 0.9 * float(slope)))
            w_i = w
            for batch in given.batches(i, 3 * t, 3):
                v_bar = a[i] * v[i] + (1 - a[i]) * w_i
                w_i = w_i - RATE * gradient(w_i, batch)
                v[i] = v[i] - RATE * a[i] * gradient(v_bar, batch)
            own.append(w_i)
            before.append(a[i] * v[i] + (1 - a[i]) * w_i)
        w = mean(own, given.sizes)
    after = [a[i] * v[i] + (1 - a[i]) * w for i in range(NODES)]
    assert difference(shown(run, "trained"), before) < 1e-12
    assert difference(shown(run, "mixed"), after) < 1e-12
    assert (len(set(a)) > 1) == (0.0 in a) == adaptive  # some weights were clipped


@pytest.mark.slow
def test_a_rate_of_what_is_not_learned_is_refused(play):
    with pytest.raises(NetsimError, match="adaptive"):
        play(ALGORITHM | {"adaptive": False, "alpha_learning_rate": 0.1}, **WORLD)
