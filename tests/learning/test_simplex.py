import numpy as np
import pytest
import torch

from netsim.api import project_to_simplex


def by_bisection(v, total):
    """max(v - shift, 0) with the shift at which it sums to `total`: the optimality conditions."""
    low, high = v.min() - total, v.max()
    for _ in range(200):
        shift = (low + high) / 2
        if np.maximum(v - shift, 0).sum() > total:
            low = shift
        else:
            high = shift
    return np.maximum(v - shift, 0)


@pytest.mark.parametrize("total", [1.0, 0.3, 5.0])
def test_it_is_the_nearest_point(total):
    rng = np.random.default_rng(0)
    for size in (1, 2, 5, 40):
        for scale in (0.01, 1.0, 100.0):
            v = rng.normal(size=size) * scale
            found = project_to_simplex(torch.from_numpy(v), total).numpy()
            np.testing.assert_allclose(found, by_bisection(v, total), rtol=0, atol=1e-10)


def test_no_other_point_is_nearer():
    rng = np.random.default_rng(1)
    v = rng.normal(size=6)
    nearest = ((project_to_simplex(torch.from_numpy(v)).numpy() - v) ** 2).sum()
    others = rng.dirichlet(np.full(6, 0.5), size=2000)
    assert (((others - v) ** 2).sum(1) >= nearest - 1e-12).all()


def test_rows_are_projected_one_by_one():
    v = torch.randn(4, 3, 5, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    together = project_to_simplex(v)
    each = torch.stack([torch.stack([project_to_simplex(row) for row in m]) for m in v])
    assert torch.equal(together, each)


@pytest.mark.slow
def test_a_point_on_the_simplex_stays():
    v = torch.tensor([0.2, 0.5, 0.3, 0.0], dtype=torch.float64)
    torch.testing.assert_close(project_to_simplex(v), v, rtol=0, atol=1e-15)


def test_ties_share():
    assert project_to_simplex(torch.zeros(4)).tolist() == [0.25] * 4


def test_entries_far_above_the_total_keep_their_order():
    """In float32, 1e9 - 1 is 1e9."""
    found = project_to_simplex(torch.tensor([1e9, 0.0, -5.0, 1e9]))
    assert found.tolist() == [0.5, 0.0, 0.0, 0.5]


def test_nan_stays_nan():
    assert project_to_simplex(torch.tensor([1.0, float("nan")])).isnan().any()
