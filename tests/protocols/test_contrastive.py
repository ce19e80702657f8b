"""The uniformity loss at every length of its prototypes, against arithmetic with 60 digits."""

import decimal
import math

import numpy as np
import pytest
import torch

from netsim.api import uniformity_loss

NORMS = [0.1, 0.3, 1.0, 1.5, 1.9, 3.0, 5.0, 10.0]
CLASSES, WIDTH, TAU = 6, 8, 0.1


def prototypes(norm, dtype):
    """Random directions of one length."""
    rows = np.random.default_rng(3).normal(size=(CLASSES, WIDTH))
    rows *= norm / np.linalg.norm(rows, axis=1, keepdims=True)
    return torch.tensor(rows, dtype=dtype)


def oracle(rows, temperature):
    """mean_c sum_{c' != c} e^{P_c.P_c' / tau}, each pair on its own, 60 digits.

    Also the largest sum of |P_ck P_c'k| / tau: rounding errors of an exponent are in proportion.
    """
    exact = [[decimal.Decimal(value) for value in row] for row in rows.double().tolist()]
    total, largest = decimal.Decimal(0), decimal.Decimal(0)
    with decimal.localcontext() as context:
        context.prec = 60
        tau = decimal.Decimal(temperature)
        for c, own in enumerate(exact):
            for k, other in enumerate(exact):
                if k != c:
                    products = [a * b / tau for a, b in zip(own, other, strict=True)]
                    total += sum(products).exp()
                    largest = max(largest, sum(map(abs, products)))
        return total / len(exact), float(largest)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("norm", NORMS)
def test_the_uniformity_loss_has_its_digits_at_every_length(norm, dtype):
    """An exponent x = P.P'/tau is off by WIDTH + 2 roundings of its products' sizes, e^x by as

    large a part of itself; the sum over pairs adds one rounding each.
    """
    rows = prototypes(norm, dtype)
    expected, size = oracle(rows, TAU)
    found = float(uniformity_loss(rows, TAU))
    limit = torch.finfo(dtype)
    if expected > decimal.Decimal(limit.max):
        assert found == math.inf
    else:
        roundings = (WIDTH + 2) * size + CLASSES**2
        assert found == pytest.approx(float(expected), rel=roundings * limit.eps)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("norm", [0.1, 1.5, 3.0])
def test_its_gradient_is_finite_and_has_no_part_of_the_diagonal(norm, dtype):
    """dL/dP_c = (2 / C) sum_{c' != c} e^{P_c.P_c'/tau} P_c' / tau."""
    rows = prototypes(norm, dtype).requires_grad_()
    uniformity_loss(rows, TAU).backward()
    p = rows.detach().double().numpy()
    pairs = np.exp(p @ p.T / TAU) * (1 - np.eye(CLASSES))
    expected = 2 / CLASSES * pairs @ p / TAU
    tolerance = 1e3 * torch.finfo(dtype).eps * np.abs(expected).max()
    np.testing.assert_allclose(rows.grad.double().numpy(), expected, rtol=0, atol=tolerance)
