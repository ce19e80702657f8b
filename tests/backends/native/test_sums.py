"""Training that begins with weighted sums of rows gives what it gives from the sums themselves."""

from itertools import pairwise

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from netsim.backends.native.data import Data, Rows, Sums
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
