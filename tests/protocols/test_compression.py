"""Each compressor against a transcription of its source in numpy, in float64."""

import math

import numpy as np
import pytest
import torch

from netsim.learning.refs import Cell, Ref
from netsim.protocols.compression import Compressor, index_bits
from netsim.protocols.compression.half import halved
from netsim.protocols.compression.qsgd import rounded_at_random
from netsim.protocols.compression.random_k import at_random_places
from netsim.protocols.compression.sign import scaled_signs
from netsim.protocols.compression.top_k import largest
from netsim.protocols.compression.uniform import rounded_to_steps
from netsim.protocols.error_feedback import ErrorFeedback
from netsim.registry import family
from netsim.rng import Streams

KINDS = family("netsim.protocols.compression")
SIZES = [1, 2, 17, 310]
EXACT = {"rtol": 0, "atol": 1e-13}


def vector(size, seed=0):
    return np.random.default_rng(seed).standard_normal(size)


def close(found, expected):
    np.testing.assert_allclose(found.numpy(), expected, **EXACT)


@pytest.mark.parametrize("size", SIZES)
def test_top_k_keeps_the_largest(size):
    x, k = vector(size), max(1, size // 3)
    expected = np.zeros(size)
    for i in sorted(range(size), key=lambda i: (-abs(x[i]), i))[:k]:
        expected[i] = x[i]
    close(largest(torch.from_numpy(x), k), expected)


def test_top_k_takes_the_first_of_equals():
    found = largest(torch.tensor([1.0, -2.0, 2.0, -1.0, 1.0]), 3)
    assert found.tolist() == [1.0, -2.0, 2.0, 0.0, 0.0]


@pytest.mark.parametrize("size", SIZES)
def test_signs_are_scaled_by_the_mean(size):
    x = vector(size)
    x[size // 2] = 0.0
    expected = [math.fsum(abs(x)) / size * (-1 if entry < 0 else 1) for entry in x]
    close(scaled_signs(torch.from_numpy(x)), expected)


@pytest.mark.parametrize("bits", [1, 3, 8])
@pytest.mark.parametrize("size", SIZES)
def test_uniform_steps(size, bits):
    x, levels = vector(size), 2**bits - 1
    step = (x.max() - x.min()) / levels
    numbers = [round((entry - x.min()) / step) if step else 0 for entry in x]
    expected = x.min() + step * np.array(numbers)
    close(rounded_to_steps(torch.from_numpy(x), levels), expected)
    assert len(set(numbers)) <= levels + 1
    assert np.abs(expected - x).max() <= step / 2 + 1e-12


@pytest.mark.parametrize("form", ["float16", "bfloat16"])
def test_half_precision(form):
    x = np.array([0.0, 1.0, 1 / 3, -2.5, 1e-3, 300.7])
    if form == "float16":
        expected = x.astype(np.float16).astype(float)
    else:  # the upper half of a float32, rounded to the nearest even
        bits = x.astype(np.float32).view(np.uint32).astype(np.uint64)
        bits = (bits + 0x7FFF + ((bits >> np.uint64(16)) & np.uint64(1))) & np.uint64(0xFFFF0000)
        expected = bits.astype(np.uint32).view(np.float32).astype(float)
    close(halved(torch.from_numpy(x), form), expected)


@pytest.mark.parametrize("size", SIZES)
def test_random_places(size):
    x, k = vector(size), max(1, size // 4)
    found = at_random_places(torch.from_numpy(x), k, 1.0, 5).numpy()
    kept = np.flatnonzero(found)
    assert len(kept) == k
    assert (found[kept] == x[kept]).all()
    twice = at_random_places(torch.from_numpy(x), k, 2.0, 5).numpy()
    assert (twice == 2 * found).all()


def test_every_place_is_as_likely_as_any_other():
    """k of d in n draws: each count is binomial, its standard deviation sqrt(n p (1 - p))."""
    d, k, n = 20, 5, 2000
    ones = torch.ones(d, dtype=torch.float64)
    counts = sum(at_random_places(ones, k, 1.0, seed) for seed in range(n)).numpy()
    spread = math.sqrt(n * (k / d) * (1 - k / d))
    assert np.abs(counts - n * k / d).max() < 4.5 * spread  # 20 places: 1e-4 to exceed it


@pytest.mark.parametrize("bucket", [None, 7])
@pytest.mark.parametrize("levels", [1, 4, 255])
@pytest.mark.parametrize("size", SIZES)
def test_qsgd_rounds_as_its_paper_says(size, levels, bucket):
    x, bucket = vector(size), bucket or size
    padded = -(-size // bucket) * bucket
    draws = Streams(9).uniforms("qsgd", counters=np.arange(padded))
    expected = []
    for i, entry in enumerate(x):
        start = i // bucket * bucket
        norm = math.sqrt(math.fsum(v * v for v in x[start : start + bucket]))
        a = abs(entry) / norm
        level = min(math.floor(a * levels), levels - 1)
        p = a * levels - level
        xi = (level + 1) / levels if draws[i] < p else level / levels
        expected.append(norm * math.copysign(1, entry) * xi)
    close(rounded_at_random(torch.from_numpy(x), levels, bucket, 9), expected)


@pytest.mark.slow
def test_qsgd_has_no_bias():
    """The mean of n roundings is within z standard errors of the value.

    An entry's rounding has variance (norm / s)^2 p (1 - p) <= (norm / (2 s))^2, so the mean of n
    deviates by more than z norm / (2 s sqrt(n)) with a chance under 2 exp(-z^2 / 2) (Hoeffding, a
    range of norm / s). For 50 entries and z = 5, under 50 * 2 * 3.7e-6 = 4e-4.
    """
    size, levels, n, z = 50, 4, 4000, 5.0
    x = torch.from_numpy(vector(size))
    mean = sum(rounded_at_random(x, levels, size, seed) for seed in range(n)) / n
    limit = z * float(x.norm()) / (2 * levels * math.sqrt(n))
    assert float((mean - x).abs().max()) < limit
    biased = sum(rounded_at_random(x, levels, size, 0) for _ in range(3)) / 3
    assert float((biased - x).abs().max()) > limit  # the test would see one


def test_qsgd_of_zeros_is_zero():
    assert rounded_at_random(torch.zeros(9), 4, 9, 1).tolist() == [0.0] * 9
    assert rounded_to_steps(torch.zeros(9), 255).tolist() == [0.0] * 9


def test_index_bits():
    assert [index_bits(d) for d in (1, 2, 3, 4, 5, 512, 513)] == [0, 1, 2, 2, 3, 9, 10]


class FakeNode:
    """A node that computes at once."""

    def __init__(self):
        self.count = 0

    def compute(self, fn, value, *args, like):
        return made(fn(value.tensor(), *args))

    def uniform(self, purpose, n):
        self.count += 1
        return [Streams(3).uniform(purpose, self.count)]


class Sums:
    """Node that adds Refs at once."""

    def weighted_sum(self, terms):
        return made(sum(weight * ref.tensor() for ref, weight in terms))


def made(tensor):
    return Ref(0, Cell(Sums(), tuple(tensor.shape), None, tensor))


@pytest.mark.parametrize("kind", KINDS)
def test_with_error_feedback_everything_is_sent_in_the_end(kind):
    """Compare the sum of sent values with the sum of all values less the memory."""
    node, compressor = FakeNode(), KINDS[kind](**{"fraction": 0.2} if "_k" in kind else {})
    feedback, dimension = ErrorFeedback(node, compressor), 25
    received, wanted, memory = np.zeros(dimension), np.zeros(dimension), np.zeros(dimension)
    for t in range(6):
        x = vector(dimension, seed=t)
        sent = feedback.compress(made(torch.from_numpy(x))).value.tensor().numpy()
        memory = memory + x - sent
        close(feedback.memory.tensor(), memory)
        received, wanted = received + sent, wanted + x
    close(torch.from_numpy(received + memory), wanted)


@pytest.mark.parametrize("kind", KINDS)
def test_a_compressor_is_a_component_with_shapes_kept(kind):
    compressor = KINDS[kind]()
    assert isinstance(compressor, Compressor)
    value = torch.from_numpy(vector(12)).view(3, 4)
    sent = compressor.compress(FakeNode(), made(value))
    assert sent.value.shape == (3, 4)
    assert 0 < sent.size_bits(32) <= 12 * 32 + 64
