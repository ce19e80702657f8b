"""FedRoD against its equations, written down in plain PyTorch."""

import pytest
import torch
import torch.nn.functional as F

from .transcription import (
    BASE,
    HEAD,
    HIDDEN,
    NODES,
    RATE,
    ROUNDS,
    WORLDS,
    Given,
    difference,
    features,
    gradient,
    logits,
    mean,
    predictions,
    shown,
)

ALGORITHM = {"kind": "fedrod", "local_steps": 3}


def head(values, z):
    return z @ values[: 10 * HIDDEN].view(10, HIDDEN).T + values[10 * HIDDEN :]


def balanced(counts):
    """-log(n_y e^g_y / sum_c n_c e^g_c), over the classes that the node has."""

    def loss(row, x, y):
        g = logits(row, x)
        held = [c for c in range(10) if counts[c]]
        total = sum(counts[c] * torch.exp(g[:, c]) for c in held)
        own = torch.tensor([counts[int(c)] for c in y]) * torch.exp(g[range(len(y)), y])
        return -torch.log(own / total).mean()

    return loss


def transcribed(given, shared):
    start = given.initial
    theta, personal = ([part.clone() for _ in range(NODES)] for part in (start, start[HEAD]))
    counts = [
        [int((given.split(i, "train")[1] == c).sum()) for c in range(10)] for i in range(NODES)
    ]
    assert any(0 in n for n in counts)
    for t in range(ROUNDS):
        for i in range(NODES):
            for x, y in given.batches(i, 3 * t, 3):
                z, g = features(theta[i], x), logits(theta[i], x)

                def of_both(values, z=z, g=g, y=y):
                    return F.cross_entropy(g + head(values, z), y)

                step = gradient(personal[i], (), of_both)
                theta[i] = theta[i] - RATE * gradient(theta[i], (x, y), balanced(counts[i]))
                personal[i] = personal[i] - RATE * step
        common = mean([row[shared] for row in theta], given.sizes)
        trained, theta = theta, [row.clone() for row in theta]
        for row in theta:
            row[shared] = common
    return trained, theta, personal


@pytest.mark.slow
@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize(("share", "shared"), [("parameters", slice(None)), ("backbone", BASE)])
def test_both_heads(play, world, share, shared):
    run = play(ALGORITHM | {"share": share}, **WORLDS[world])
    given = Given(run)
    trained, mixed, personal = transcribed(given, shared)
    assert difference(shown(run, "trained"), trained) < 1e-12
    assert difference(shown(run, "mixed"), mixed) < 1e-12
    for i in range(NODES):
        x, _ = given.split(i, "test")
        expected = logits(mixed[i], x) + head(personal[i], features(mixed[i], x))
        assert float((predictions(run, i, x, "mixed") - expected).abs().max()) < 1e-12
