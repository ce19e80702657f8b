"""Rounding that a model amplifies is no difference from PyTorch, and a mistake in it is one."""

import pytest
import torch

from netsim.backends.comparison import Comparison, Outcome
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
        (0.05, 0.11, False),  # a tenth of the way is never rounding
        (0.001, 0.02, False),
        (1.0, 1.5, False),  # nor is a loop in float64 that went elsewhere a measure
    ],
)
def test_a_backend_only_rounds_if_it_is_as_near_to_float64_as_pytorch(
    comparison, of_plain, of_ours, only_rounds
):
    exact = comparison._trained(0, torch.float64)
    plain, ours = (away(comparison, exact, share) for share in (of_plain, of_ours))
    assert comparison._only_rounds(ours, plain, 0) is only_rounds


def test_the_loop_in_float64_is_the_same_training(comparison):
    exact, plain = comparison._trained(0, torch.float64), comparison._plain(0)
    assert exact.row.dtype == torch.float64
    moved = (plain.row - comparison.start).abs().max()
    assert (exact.row - plain.row).abs().max() < 1e-4 * moved
