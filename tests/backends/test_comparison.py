"""Rounding that a model amplifies is no difference from PyTorch, and a mistake in it is one."""

import pytest
import torch
from torch import nn

from netsim.backends.comparison import Comparison, Outcome, describe_difference
from netsim.backends.sequential import Sequential
from netsim.learning.jobs import Optimizer


@pytest.fixture
def built(build):
    """A world, which a comparison does not keep."""
    return build(training={"dtype": "float32", "batch_size": 7})


@pytest.fixture
def comparison(built):
    return Comparison(built.architectures[0], built.shards, built.streams, Optimizer("sgd", 0.1))


def away(comparison, exact, share):
    """An outcome whose tensors are so far from the exact one, as a share of how far they moved."""
    row = exact.row.clone()
    for s in comparison._architecture.slices:
        part = slice(s.start, s.stop)
        row[part] += share * (exact.row[part] - comparison.start[part]).abs().max()
    return Outcome(row, exact.outputs * (1 + share))


@pytest.mark.parametrize(
    ("of_plain", "of_ours", "only_rounds"),
    [
        (0.02, -0.02, True),  # PyTorch is as far away on the other side
        (0.02, 0.078, True),
        (0.02, 0.085, False),  # more than four times as far
        (0.001, 0.02, False),
        (1.0, 1.5, True),  # PyTorch's float32 went elsewhere, too
    ],
)
def test_a_backend_only_rounds_if_it_is_as_near_to_float64_as_pytorch(
    built, comparison, of_plain, of_ours, only_rounds
):
    exact = comparison._train_in_plain_loop(0, torch.float64)
    plain, ours = (away(comparison, exact, share) for share in (of_plain, of_ours))
    right = Sequential(built.shards, built.streams)
    assert comparison._only_rounds(right, ours, plain, 0) is only_rounds
    assert not comparison._only_rounds(Mistaken(built.shards, built.streams), ours, plain, 0)


class Mistaken(Sequential):
    """Outputs are wrong by a thousandth, also in float64."""

    def predictions(self, asked):
        return [1.001 * found for found in super().predictions(asked)]


class Amplifying(nn.Module):
    """Normalised layers behind each other: a rounding of 1e-7 grows to what training moves."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        layers = [nn.Flatten(), nn.Linear(64, 16)]
        for _ in range(24):
            layers += [nn.Linear(16, 16), nn.BatchNorm1d(16), nn.ReLU()]
        self.layers, self.head = nn.Sequential(*layers), nn.Linear(16, 10)

    def forward(self, x):
        return self.head(self.layers(x))


def amplifying(build):
    made = build(Amplifying(), training={"dtype": "float32", "batch_size": 7})
    made.architectures[0].fresh = Amplifying
    return made


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["native", "stacked"])
def test_a_backend_is_kept_where_the_model_amplifies_rounding(build, play, backend):
    made = amplifying(build)
    comparison = Comparison(made.architectures[0], made.shards, made.streams, Optimizer("sgd", 0.1))
    exact, plain = comparison._train_in_plain_loop(0, torch.float64), comparison._plain_outcome(0)
    single = Outcome(exact.row.float(), exact.outputs.float())
    assert describe_difference(made.architectures[0], plain, single, comparison.start) is not None

    def program(node, keep):
        yield node.train(node.initial(), steps=1)

    played = play(made, program, backend)
    (choice,) = played.simulation.learning.routes.as_dict().values()
    assert choice["source"] == "[run] backend", choice


def test_the_loop_in_float64_is_the_same_training(comparison):
    exact, plain = comparison._train_in_plain_loop(0, torch.float64), comparison._plain_outcome(0)
    assert exact.row.dtype == torch.float64
    moved = (plain.row - comparison.start).abs().max()
    assert (exact.row - plain.row).abs().max() < 1e-4 * moved


def test_what_another_last_bit_of_the_start_makes_is_no_difference(build):
    """Also for the sequential backend, which float64 does not judge alone."""
    made = amplifying(build)
    comparison = Comparison(made.architectures[0], made.shards, made.streams, Optimizer("sgd", 0.1))
    plain, ours = comparison._plain_outcome(0), comparison._train_in_plain_loop(0, nudged=99)
    assert describe_difference(made.architectures[0], ours, plain, comparison.start) is not None
    right = Sequential(made.shards, made.streams)
    assert comparison._only_amplifies(right, ours, plain, 0)
    assert not comparison._only_amplifies(Mistaken(made.shards, made.streams), ours, plain, 0)


@pytest.mark.parametrize("share", [0.02, 0.5])
def test_what_no_last_bit_makes_is_a_difference(built, comparison, share):
    plain, right = comparison._plain_outcome(0), Sequential(built.shards, built.streams)
    assert comparison._only_amplifies(
        right, comparison._train_in_plain_loop(0, nudged=99), plain, 0
    )
    assert not comparison._only_amplifies(right, away(comparison, plain, share), plain, 0)


def test_a_frozen_tensor_tells_as_much_as_others(build):
    made = build(training={"dtype": "float32", "batch_size": 7})
    architecture = made.architectures[0]
    fresh = architecture.fresh

    def frozen():
        module = fresh()
        next(module.parameters()).requires_grad_(False)
        return module

    architecture.fresh = frozen
    comparison = Comparison(architecture, made.shards, made.streams, Optimizer("sgd", 0.1))
    plain, ours = comparison._plain_outcome(0), comparison._train_in_plain_loop(0, nudged=99)
    nobody = object()  # float64 is not asked
    assert comparison._only_amplifies(nobody, ours, plain, 0)
