"""FedBN against Algorithm 1, written down in plain PyTorch."""

import pandas as pd
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from .transcription import NODES, RATE, ROUNDS, SERVER, STACKED, WORLD, Given, difference, shown

STEPS = 3
MODEL = {"model": {"kind": "iot_mlp", "hidden": 6}}
WORLDS = {"peers": WORLD | MODEL, "server": SERVER | MODEL, "stacked": STACKED | MODEL}
ALGORITHM = {"kind": "fedbn", "local_steps": STEPS}


def network(row):
    """The model of a row: normalisation, then two layers, as the row has them."""
    norm, first, last = nn.BatchNorm1d(64), nn.Linear(64, 6), nn.Linear(6, 10)
    made = nn.Sequential(norm, first, nn.ReLU(), last).double()
    at = 0
    own = [norm.weight, norm.bias, first.weight, first.bias, last.weight, last.bias]
    for tensor in (*own, norm.running_mean, norm.running_var):
        tensor.data = row[at : at + tensor.numel()].view(tensor.shape).clone()
        at += tensor.numel()
    assert at == len(row)
    return made


def row_of(made):
    norm, first, _, last = made
    own = [norm.weight, norm.bias, first.weight, first.bias, last.weight, last.bias]
    tensors = (*own, norm.running_mean, norm.running_var)
    return torch.cat([t.detach().reshape(-1) for t in tensors])


@pytest.mark.thinned(3)
@pytest.mark.parametrize("world", WORLDS)
def test_algorithm_1(play, world):
    run = play(ALGORITHM, **WORLDS[world])
    given = Given(run)
    models = [network(given.initial) for _ in range(NODES)]
    for t in range(ROUNDS):
        for k, model in enumerate(models):
            optimizer = torch.optim.SGD(model.parameters(), RATE)
            for x, y in given.batches(k, STEPS * t, STEPS):
                optimizer.zero_grad()
                F.cross_entropy(model(x), y).backward()
                optimizer.step()
        trained = [row_of(model) for model in models]
        p = torch.tensor(given.sizes).double() / sum(given.sizes)
        with torch.no_grad():
            for layer in (1, 3):
                for name in ("weight", "bias"):
                    each = torch.stack([getattr(m[layer], name) for m in models])
                    w = (p.view(-1, *[1] * (each.dim() - 1)) * each).sum(0)
                    for model in models:
                        getattr(model[layer], name).copy_(w)
    assert difference(shown(run, "trained"), trained) < 1e-12
    assert difference(shown(run, "mixed"), [row_of(m) for m in models]) < 1e-12


def test_normalisation_layers_are_not_sent(play, tmp_path):
    play(ALGORITHM, tmp_path / "run", **WORLDS["peers"])
    log = pd.read_parquet(tmp_path / "run" / "messages")
    assert set(log.bits) == {32 * (64 * 6 + 6 + 6 * 10 + 10 + 1)}  # and the number of samples
