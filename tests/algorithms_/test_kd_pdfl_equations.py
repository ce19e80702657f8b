import itertools
import math

import numpy as np
import pytest
import scipy.stats
import torch
from pydantic import ValidationError
from scipy.optimize import linprog

from algorithms.kd_pdfl import (
    Params,
    bounded,
    confidence,
    connectivity_step,
    distances,
    first_weights,
    mix,
    output_distance,
    own_and_peer_shares,
    step_on_heard,
)


def rows(*values):
    return torch.tensor(values, dtype=torch.float64)


def distributions(seed, *shape):
    rng = np.random.default_rng(seed)
    return torch.from_numpy(rng.dirichlet(np.ones(shape[-1]), size=shape[:-1]))


# -- Eq. (3)


def test_eq_3_by_hand():
    own = rows([0.5, 0.5], [1.0, 0.0])
    peers = torch.stack([rows([0.25, 0.75], [0.0, 1.0]), own])
    # First sample 2 * 0.25^2 = 0.125, second 1 + 1 = 2; mean 1.0625. The same model is at 0.
    assert output_distance(own, peers).tolist() == [1.0625, 0.0]


def test_wasserstein1_with_unit_cost_is_total_variation():
    own, peers = distributions(0, 6, 4), distributions(1, 3, 6, 4)
    variation = 0.5 * (own - peers).abs().sum(-1).mean(-1)
    unit = (1 - torch.eye(4)).tolist()
    for cost in (None, unit):
        found = output_distance(own, peers, "wasserstein1", cost)
        torch.testing.assert_close(found, variation, rtol=0, atol=1e-9)


def test_wasserstein1_of_labels_on_a_line_is_scipys():
    own, peers = distributions(2, 7, 5), distributions(3, 2, 7, 5)
    place = np.arange(5)
    line = np.abs(np.subtract.outer(place, place)).tolist()
    found = output_distance(own, peers, "wasserstein1", line)
    for peer, value in zip(peers, found, strict=True):
        each = [
            scipy.stats.wasserstein_distance(place, place, p, q)
            for p, q in zip(own.numpy(), peer.numpy(), strict=True)
        ]
        assert float(value) == pytest.approx(np.mean(each), abs=1e-12)


def dual_transport(p, q, cost):
    """Kantorovich's dual: max p.f + q.g with f_i + g_j <= cost_ij."""
    labels = len(p)
    bounds, limits = [], []
    for i, j in itertools.product(range(labels), repeat=2):
        row = np.zeros(2 * labels)
        row[i] = row[labels + j] = 1.0
        bounds.append(row)
        limits.append(cost[i][j])
    prices = -np.concatenate([p, q])
    return -linprog(prices, A_ub=np.array(bounds), b_ub=limits, bounds=(None, None)).fun


def test_wasserstein1_under_any_cost_is_the_dual_programs_value():
    own, peers = distributions(4, 3, 4), distributions(5, 2, 3, 4)
    cost = np.random.default_rng(6).uniform(0.1, 2.0, (4, 4))
    np.fill_diagonal(cost, 0.0)
    found = output_distance(own, peers, "wasserstein1", cost.tolist())
    for peer, value in zip(peers, found, strict=True):
        each = [dual_transport(p, q, cost) for p, q in zip(own.numpy(), peer.numpy(), strict=True)]
        assert float(value) == pytest.approx(np.mean(each), abs=1e-9)


def test_a_cost_for_another_number_of_labels_is_refused():
    own = distributions(0, 2, 4)
    with pytest.raises(ValueError, match="cost is for 2 labels, there are 4"):
        output_distance(own, own[None], "wasserstein1", [[0, 1], [1, 0]])


@pytest.mark.slow
def test_wasserstein2_is_the_best_of_all_assignments_and_never_above_eq_3():
    for seed in range(20):
        own, peers = distributions(seed, 5, 3), distributions(100 + seed, 2, 5, 3)
        found = output_distance(own, peers, "wasserstein2")
        for peer, value in zip(peers, found, strict=True):
            best = min(
                sum(float(((own[i] - peer[j]) ** 2).sum()) for i, j in enumerate(order)) / 5
                for order in itertools.permutations(range(5))
            )
            assert float(value) == pytest.approx(best, abs=1e-12)
        assert (found <= output_distance(own, peers) + 1e-12).all()


@pytest.mark.parametrize("distance", ["squared_l2", "wasserstein1", "wasserstein2"])
@pytest.mark.parametrize("step", ["elementwise", "norm"])
def test_a_model_that_diverged_loses_its_weight(distance, step):
    outputs = torch.randn(3, 4, 5, generator=torch.Generator().manual_seed(0))
    outputs[2, 1, 0] = torch.nan
    params = Params(distance=distance, step=step)
    d = distances(outputs, params)
    w = step_on_heard(first_weights(3, 0), d, (1, 2), params)
    assert w[2] == 0
    assert torch.isfinite(w).all()


def test_outputs_are_compared_as_softmax_or_raw():
    logits = torch.tensor([[[0.0, math.log(3.0)]], [[math.log(3.0), 0.0]]])
    # Softmax (1/4, 3/4) and (3/4, 1/4): 2 * 0.5^2. Raw: 2 * log(3)^2.
    assert distances(logits, Params()).item() == pytest.approx(0.5, abs=1e-6)
    raw = distances(logits, Params(outputs="logits")).item()
    assert raw == pytest.approx(2 * math.log(3.0) ** 2, abs=1e-6)


# -- Eq. (2)


def test_eq_2_by_hand():
    w, d = rows(0.25, 0.25, 0.5), rows(0.1, 1.0, 0.3)
    # Degree 1, so dg/dw = -1 and h = (0.1, 1.0, 0.3) - 0.3 = (-0.2, 0.7, 0).
    moved = connectivity_step(w, d, mu1=1.0, mu2=0.3, delta=0.0)
    torch.testing.assert_close(moved, rows(1.25, 0.0, 0.5), rtol=0, atol=1e-15)
    length = math.sqrt(0.2**2 + 0.7**2)
    moved = connectivity_step(w, d, mu1=1.0, mu2=0.3, delta=0.0, step="norm")
    expected = rows(0.25 + 0.2 / length, 0.0, 0.5)  # 0.25 - 0.7 / 0.728 is below 0
    torch.testing.assert_close(moved, expected, rtol=0, atol=1e-15)


@pytest.mark.parametrize("step", ["elementwise", "norm"])
def test_no_gradient_means_no_step(step):
    w = rows(0.2, 0.7)
    moved = connectivity_step(w, rows(1.0, 0.1), mu1=0.0, mu2=0.0, delta=1e-6, step=step)
    assert torch.equal(moved, w)


def test_the_step_goes_down_the_gradient_of_the_objective():
    """F(w) = mu1 w.d - mu2 log(sum of all w + delta), of which only the heard w_j move."""
    generator = torch.Generator().manual_seed(1)
    w = 2 + torch.rand(7, generator=generator, dtype=torch.float64)  # so that none reaches 0
    d = torch.rand(3, generator=generator, dtype=torch.float64)
    heard = (1, 4, 6)
    mu1, mu2, delta = 0.8, 6.0, 0.01
    free = w.clone().requires_grad_()
    (mu1 * free[list(heard)] @ d - mu2 * torch.log(free.sum() + delta)).backward()
    h = free.grad[list(heard)]
    for step, direction in (("elementwise", h.sign()), ("norm", h / h.norm())):
        params = Params(mu1=mu1, mu2=mu2, delta=delta, step=step)
        change = w - step_on_heard(w, d, heard, params)
        expected = torch.zeros(7, dtype=torch.float64)
        expected[list(heard)] = direction
        torch.testing.assert_close(change, expected, rtol=0, atol=1e-12)


def test_first_weights():
    assert first_weights(4, 2).tolist() == [0.25, 0.25, 0.0, 0.25]


# -- Eq. (4) and line 13


def test_confidence_by_hand():
    assert confidence(30, 300.0, 4) == pytest.approx(0.1)
    assert confidence(90, 300.0, 4) == pytest.approx(0.2)
    assert confidence(10_000, 300.0, 0) == 1.0


def test_mix_by_hand():
    theta, peers = rows(1.0, 2.0), rows([3.0, 0.0], [5.0, 4.0])
    # Weights (1, 3) are shares (1/4, 3/4) of what the own model leaves, 0.8.
    mixed = mix(theta, peers, rows(1.0, 3.0), 0.2)
    torch.testing.assert_close(mixed, rows(3.8, 2.8), rtol=0, atol=1e-15)


def test_where_no_weight_is_left_the_own_model_stays():
    theta, peers = rows(1.0, 2.0), rows([3.0, 0.0], [5.0, 4.0])
    assert torch.equal(mix(theta, peers, rows(0.0, 0.0), 0.2), theta)
    shares = own_and_peer_shares(rows(0.0, 0.0, 0.0), (1,), (2,), 0.2)
    assert shares.tolist() == [1.0, 0.0]


def test_equal_weights_and_full_confidence_give_the_mean():
    theta, peers = rows(1.0, 2.0), rows([3.0, 0.0], [5.0, 4.0])
    mixed = mix(theta, peers, rows(0.05, 0.05), confidence(50, 1.0, 2))
    torch.testing.assert_close(mixed, rows(3.0, 2.0), rtol=0, atol=1e-15)


def test_the_share_of_a_missing_peer_stays_with_the_own_model():
    w = rows(0.0, 1.0, 2.0, 1.0)
    shares = own_and_peer_shares(w, (1, 3), (2,), 0.2)
    torch.testing.assert_close(shares, rows(0.6, 0.2, 0.2), rtol=0, atol=1e-15)


# -- parameters


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"distance": "wasserstein1", "outputs": "logits"}, "needs distributions"),
        ({"cost": ((0.0, 1.0), (1.0, 0.0))}, "cost is for distance"),
        ({"distance": "wasserstein1", "cost": ((0.0, 1.0),)}, "as many columns as rows"),
        ({"mu1": -1.0}, "greater than or equal to 0"),
    ],
)
def test_parameters_that_make_no_sense_are_refused(given, message):
    with pytest.raises(ValidationError, match=message):
        Params(**given)


def test_bounded_weights_of_known_peers_sum_to_one_and_others_stay():
    w = bounded(rows(0.0, 1.25, 0.25, 3.5), (1, 3))
    torch.testing.assert_close(w, rows(0.0, 1.25 / 4.75, 0.25, 3.5 / 4.75), rtol=0, atol=1e-15)
    assert torch.equal(bounded(rows(0.25, 0.0), (1,)), rows(0.25, 0.0))
