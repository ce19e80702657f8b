"""Weighted sums of rows: in place of the models that training begins with, and by themselves."""

from itertools import pairwise

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from netsim.backends.native.data import Data, Rows, Sums
from netsim.backends.native.library import load_library
from netsim.backends.native.row_sums import RowAdder
from netsim.backends.native.workers import Workers
from netsim.backends.parameter_store import Slab, Terms
from netsim.learning.jobs import Optimizer
from netsim.models.iot_mlp import IotMlp

SGD = Optimizer("sgd", 0.0, 0.9)
FIRST = np.array([0, 3, 4, 7])
AT = np.array([0, 1, 2, 1, 2, 0, 1])
WEIGHTS = [0.5, 0.3, 0.2, 1.0, 0.7, 0.0, -0.3]


@pytest.fixture
def made(case):
    def build(dtype=torch.float64):
        return case(lambda: IotMlp().build((21,), 5), (21,), 5, dtype=dtype)

    return build


def trained(made, kernel, models):
    out = torch.zeros_like(made.rows)
    data = Data(made.x, made.y)
    kernel.train(data, models, Rows(out), made.steps, SGD, made.rates)
    return out


def sums(made, weights=WEIGHTS, at=AT, first=FIRST):
    return Sums(made.rows, at, torch.tensor(weights, dtype=made.dtype), first)


def test_sums_are_those_of_rows_in_order(made, variant):
    made = made()
    weights = torch.tensor(WEIGHTS, dtype=torch.float64)
    parts = [slice(a, b) for a, b in pairwise(FIRST)]
    rows = torch.stack([weights[p] @ made.rows[AT[p]] for p in parts])
    kernel = made.kernel(variant)
    expected = trained(made, kernel, Rows(rows))
    assert torch.allclose(trained(made, kernel, sums(made)), expected, rtol=0, atol=1e-12)


def test_they_have_the_bits_of_mixing_in_pytorch(made, variant):
    """Compare bits, also where the processor adds and multiplies in one step, as PyTorch's sum."""
    if variant == "plain":
        pytest.skip("it rounds products")
    made = made(torch.float32)
    weights, starts = torch.tensor(WEIGHTS), torch.from_numpy(FIRST[:-1])
    rows = F.embedding_bag(
        torch.from_numpy(AT), made.rows, starts, mode="sum", per_sample_weights=weights
    )
    kernel = made.kernel(variant)
    assert torch.equal(trained(made, kernel, sums(made)), trained(made, kernel, Rows(rows)))


def test_a_weight_of_zero_keeps_a_row_out(made, variant):
    made = made()
    kernel = made.kernel(variant)
    expected = trained(made, kernel, sums(made))
    made.rows[0] = torch.nan
    found = trained(made, kernel, sums(made))
    assert torch.equal(found[1:], expected[1:])
    assert found[0].isnan().any()


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"first": np.array([0, 3, 7])}, "a sum for each of 3 jobs"),
        ({"first": np.array([0, 3, 2, 7])}, "a sum for each"),
        ({"first": np.array([0, 3, 4, 6])}, "of all rows"),
        ({"at": np.array([0, 1, 2, 1, 3, 0, 1])}, "a row of the tensor for each"),
        ({"weights": WEIGHTS[1:]}, "source_weights: 7 values"),
    ],
)
def test_sums_that_do_not_fit_are_refused(made, how, message):
    made = made()
    with pytest.raises(ValueError, match=message):
        trained(made, made.kernel(), sums(made, **how))


LENGTHS = [1, 7, 32, 130, 1_000, 40_001]


def row_by_row(slab, rows, weights, counts):
    """Sums that PyTorch adds, one row after another."""
    found, at = [], 0
    for count in counts:
        total = torch.zeros_like(slab.storage[0])
        for k in range(at, at + count):
            if weights[k]:
                total.add_(slab.storage[rows[k]], alpha=float(weights[k]))
        found.append(total)
        at += count
    return torch.stack(found)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("length", LENGTHS)
def test_rows_are_added_with_the_bits_of_pytorch(length, dtype, variant):
    """Draw rows, weights and counts of terms; the sums lie in rows of the same slab."""
    draws = np.random.default_rng(length)
    slab = Slab(length, torch.device("cpu"), dtype)
    counts = draws.integers(0, 12, size=17).tolist()
    taken = slab.take(9)
    slab.storage[:] = 0  # behind a value's end, too, where anything may lie
    slab.rows[taken] = torch.from_numpy(draws.standard_normal((9, length))).to(dtype)
    slab.rows[taken[0]] = torch.nan  # a row whose weight is always 0
    rows = draws.choice(taken, size=sum(counts)).tolist()
    weights = torch.from_numpy(draws.standard_normal(len(rows))).to(dtype)
    weights[torch.tensor(rows) == taken[0]] = 0
    expected = row_by_row(slab, rows, weights, counts)
    at = slab.take(len(counts))
    others = torch.tensor(sorted(set(range(len(slab.storage))) - set(at)))
    before, found = slab.storage[others].clone(), []
    library = load_library()
    for threads in (1, 3):
        slab.storage[at] = torch.nan
        adder = RowAdder(library.variant(variant), Workers(library, threads))
        adder(Terms(slab, rows, weights, counts), slab.storage, at)
        found.append(slab.storage[at])
    assert torch.equal(*found)
    assert torch.equal(slab.storage[others].nan_to_num(7.0), before.nan_to_num(7.0))
    if variant == "plain":  # it rounds products
        most = 1e-12 if dtype == torch.float64 else 1e-4
        assert torch.allclose(found[0], expected, rtol=0, atol=most)
    else:
        assert torch.equal(found[0], expected)
    assert not found[0].isnan().any()


def test_rows_of_another_length_are_refused():
    library = load_library()
    slab = Slab(7, torch.device("cpu"), torch.float64)
    adder = RowAdder(library.variant(), Workers(library, 1))
    terms = Terms(slab, [0], torch.ones(1, dtype=torch.float64), [1])
    for out in (torch.zeros(1, 64, dtype=torch.float64), torch.zeros(1, 32)):
        with pytest.raises(ValueError, match="rows of 32 values"):
            adder(terms, out, [0])
