"""FedRep against Algorithm 1, written down in plain PyTorch."""

import pandas as pd
import pytest
import torch

from netsim.errors import NetsimError

from .transcription import (
    BASE,
    HEAD,
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

ALGORITHM = {"kind": "fedrep", "head_steps": 3, "local_steps": 2}


def steps(row, batches, part, decay):
    """SGD on one part of a model; the other one stays bit by bit."""
    for batch in batches:
        row, g = row.clone(), gradient(row, batch)
        row[part] -= RATE * (g[part] + decay * row[part])
    return row


@pytest.mark.slow
@pytest.mark.parametrize("decay", [0.0, 0.1])
@pytest.mark.parametrize("world", WORLDS)
def test_algorithm_1(play, world, decay):
    tables = WORLDS[world]
    tables = tables | {"training": tables["training"] | {"weight_decay": decay}}
    run = play(ALGORITHM, **tables)
    given = Given(run)
    theta = [given.initial for _ in range(NODES)]
    for t in range(ROUNDS):
        for i in range(NODES):
            theta[i] = steps(theta[i], given.batches(i, 5 * t, 3), HEAD, decay)
            theta[i] = steps(theta[i], given.batches(i, 5 * t + 3, 2), BASE, decay)
        phi = mean([row[BASE] for row in theta], given.sizes)
        trained, theta = theta, [torch.cat([phi, row[HEAD]]) for row in theta]
    assert difference(shown(run, "trained"), trained) < 1e-12
    assert difference(shown(run, "mixed"), theta) < 1e-12


@pytest.mark.slow
def test_only_the_base_is_sent(play, tmp_path):
    play(ALGORITHM, tmp_path / "run", **WORLD)
    log = pd.read_parquet(tmp_path / "run" / "messages")
    assert set(log.bits) == {32 * (BASE.stop + 1)}  # and the number of samples


@pytest.mark.slow
def test_heads_may_be_trained_by_epochs(play):
    by_epochs = {"kind": "fedrep", "local_steps": 2}
    one, same, two = (
        shown(play(by_epochs | c, **WORLD), "mixed")
        for c in ({}, {"head_epochs": 1}, {"head_epochs": 2})
    )
    assert difference(one, same) == 0
    assert difference(one, two) > 1e-6
    with pytest.raises(NetsimError, match="head_epochs or head_steps"):
        play(ALGORITHM | {"head_epochs": 1}, **WORLD)
