"""Models and sizes of minibatches that do not go together are refused before anything runs."""

import numpy as np
import pytest
from torch import nn

import netsim
from netsim.errors import ScenarioError


def data(sizes: dict[int, int]) -> tuple[tuple[np.ndarray, ...], tuple[np.ndarray, ...]]:
    """So many training samples of each user, and four test samples each."""
    rng = np.random.default_rng(0)

    def part(counts: dict[int, int]) -> tuple[np.ndarray, ...]:
        users = np.repeat(list(counts), list(counts.values()))
        x = rng.normal(size=(len(users), 1, 2, 2)).astype(np.float32)
        return x, np.arange(len(users)) % 3, users

    return part(sizes), part(dict.fromkeys(sizes, 4))


def made(model, sizes, batch_size=4, **tables):
    base = {
        "horizon_s": 20.0,
        "nodes": {"count": len(sizes)},
        "exchange": {"schedule": "rounds", "interval_s": 10.0},
        "data": {"kind": data(sizes), "partition": {"kind": "by_user"}},
        "training": {"batch_size": batch_size},
        "compute": {"kind": "fixed", "step_s": 0.001},
        "algorithm": {"kind": "local"},
        "model": model,
    }
    return netsim.Scenario(name="sizes", **{**base, **tables})


def flat_norm(num_classes):
    return nn.Sequential(nn.Flatten(), nn.BatchNorm1d(4), nn.Linear(4, num_classes))


def image_norm(num_classes):
    """Four values a channel of one sample: BatchNorm has a variance of them."""
    return nn.Sequential(nn.BatchNorm2d(1), nn.Flatten(), nn.Linear(4, num_classes))


def instance_norm(num_classes):
    pooled = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.InstanceNorm2d(1), nn.Flatten())
    return nn.Sequential(pooled, nn.Linear(1, num_classes))


class TwoByTwo(nn.Module):
    """A layer that takes samples in pairs while it learns."""

    def forward(self, x):
        return x.reshape(-1, 2, 4).flatten(0, 1) if self.training else x.flatten(1)


def pairs(num_classes):
    return nn.Sequential(TwoByTwo(), nn.Linear(4, num_classes))


REFUSED = [
    (flat_norm, {0: 1, 1: 8}, 4, r"1 sample, as node 0 has with 1 training sample .*min_samples"),
    (flat_norm, {0: 8, 1: 8}, 1, r"1 sample, as node 0 has with 8 .*batch_size = 2 or more"),
    (instance_norm, {0: 8, 1: 8}, 4, r"forward pass fails on 2 samples of shape \(1, 2, 2\)"),
    (pairs, {0: 8, 1: 7}, 4, r"minibatch of 3 samples, as node 1 has with 7 .*change the model"),
]
PLAYED = [
    (flat_norm, {0: 5, 1: 2}, 4),  # a single sample left over is left out of the epoch
    (image_norm, {0: 1, 1: 8}, 4),
    (pairs, {0: 8, 1: 6}, 4),
]


@pytest.mark.thinned(2)
@pytest.mark.parametrize(("model", "sizes", "batch_size", "said"), REFUSED)
def test_a_model_is_refused_with_node_size_and_remedy(tmp_path, model, sizes, batch_size, said):
    with pytest.raises(ScenarioError, match=said):
        netsim.run(made(model, sizes, batch_size), out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.thinned(3)
@pytest.mark.parametrize(("model", "sizes", "batch_size"), PLAYED)
@pytest.mark.filterwarnings("ignore::netsim.python_api.playing.RunWarning")
def test_what_is_not_refused_trains(tmp_path, model, sizes, batch_size):
    run = netsim.run(made(model, sizes, batch_size), out=tmp_path / "run")
    assert (run.nodes["train_samples"] > 0).all()


def test_batches_of_an_algorithm_of_its_own_are_tried_too(tmp_path):
    one = {"kind": "local", "name": "one", "training": {"batch_size": 1}}
    scenario = made(flat_norm, {0: 8, 1: 8}, algorithm=[{"kind": "local"}, one])
    with pytest.raises(ScenarioError, match="batch_size = 1"):
        netsim.run(scenario, out=tmp_path / "run")
