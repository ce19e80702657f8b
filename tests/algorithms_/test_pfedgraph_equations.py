"""pFedGraph's equations against numbers by hand, and against the quadratic program they state."""

import math

import numpy as np
import pytest
import torch
from scipy.optimize import minimize

from algorithms.pfedgraph import (
    augmented_loss,
    collaboration_weights,
    cosine_regularizer,
    regularised_loss,
    rows,
    update_similarity,
    with_missing,
)
from netsim.api import Batch, crop_and_flip
from netsim.learning.architecture import build_architecture
from netsim.learning.functions import uniforms_of
from netsim.models.lenet import LeNet

F64 = torch.float64
CPU = torch.device("cpu")


def tensor(*values):
    return torch.tensor(values, dtype=F64)


def test_similarities_over_the_threshold_count_as_one():
    """cos((1,0),(1,1)) = 1/sqrt 2, cos((1,0),(3,1)) = 3/sqrt 10 = 0.949, ((1,1),(3,1)): 0.894."""
    s = update_similarity(tensor([1.0, 0.0], [1.0, 1.0], [3.0, 1.0]))
    half, edge = 1 / math.sqrt(2), 4 / math.sqrt(20)
    expected = tensor([1.0, half, 1.0], [half, 1.0, edge], [1.0, edge, 1.0])
    torch.testing.assert_close(s, expected, rtol=0, atol=1e-15)


def test_a_similarity_at_the_threshold_stays():
    updates = tensor([1.0, 0.0], [0.9, math.sqrt(1 - 0.81)])
    at = float(update_similarity(updates, threshold=2.0)[0, 1])
    assert at == pytest.approx(0.9)
    assert float(update_similarity(updates, threshold=at)[0, 1]) == at
    assert float(update_similarity(updates, threshold=math.nextafter(at, 0))[0, 1]) == 1.0


def test_opposite_updates_have_similarity_minus_one_and_none_has_zero():
    s = update_similarity(tensor([2.0, 0.0], [-3.0, 0.0], [0.0, 0.0]))
    assert s.tolist() == [[1.0, -1.0, 0.0], [-1.0, 1.0, 0.0], [0.0, 0.0, 0.0]]


@pytest.mark.parametrize(
    ("similarity", "sizes", "alpha", "expected"),
    [
        # p = (1/4, 3/4); p + alpha s / 2 = (7/8, 7/8): half of the excess 3/4 from each
        ((1.0, 0.2), (1, 3), 1.25, (0.5, 0.5)),
        # (7/8, 1/8) is on the simplex already
        ((1.0, -1.0), (1, 3), 1.25, (0.875, 0.125)),
        # (5/2, -3/2): the nearest point is a corner
        ((1.0, -1.0), (5, 5), 4.0, (1.0, 0.0)),
        # without similarity, the sizes
        ((1.0, -1.0, 0.3), (1, 2, 5), 0.0, (0.125, 0.25, 0.625)),
        # (1, 0.9, -0.1) - (0.45, 0.45, .): the third is out
        ((1.6, 1.4, -0.6), (4, 4, 4), 5 / 6, (0.5416666666666667, 0.4583333333333333, 0.0)),
    ],
)
def test_weights_are_the_projection_worked_out_by_hand(similarity, sizes, alpha, expected):
    w = collaboration_weights(tensor(*similarity), tensor(*sizes), alpha)
    assert w.tolist() == pytest.approx(expected, abs=1e-15)


@pytest.mark.parametrize("alpha", [0.3, 1.25, 6.0])
def test_weights_solve_the_published_codes_program(alpha):
    """The code minimises lam x'x - (s + 2 lam p)'x on the simplex with lam = 1 / alpha."""
    rng = np.random.default_rng(1)
    similarity, sizes = rng.uniform(-1, 1, (6, 6)), rng.integers(20, 200, 6)
    p, lam = sizes / sizes.sum(), 1 / alpha
    w = collaboration_weights(torch.tensor(similarity), torch.tensor(sizes), alpha).numpy()
    assert (w >= 0).all()
    assert w.sum(1) == pytest.approx(np.ones(6))
    for mine, s in zip(w, similarity, strict=True):

        def objective(x, s=s):
            return lam * x @ x - (s + 2 * lam * p) @ x

        solver = minimize(
            objective,
            p,
            jac=lambda x, s=s: 2 * lam * x - (s + 2 * lam * p),
            bounds=[(0, 1)] * 6,
            constraints={"type": "eq", "fun": lambda x: x.sum() - 1, "jac": np.ones_like},
            method="SLSQP",
            options={"ftol": 1e-15, "maxiter": 500},
        )
        np.testing.assert_allclose(mine, solver.x, rtol=0, atol=1e-6)
        assert objective(mine) <= solver.fun + 1e-12


def test_the_optimum_satisfies_its_kkt_conditions():
    """Gradient 2 (w - p) - alpha s equal on the support, not less elsewhere: exact, any size."""
    rng = np.random.default_rng(2)
    s, sizes, alpha = rng.uniform(-1, 1, (50, 50)), rng.integers(1, 500, 50), 0.9
    w = collaboration_weights(torch.tensor(s), torch.tensor(sizes), alpha).numpy()
    gradient = 2 * (w - sizes / sizes.sum()) - alpha * s
    for g, x in zip(gradient, w, strict=True):
        inside = x > 0
        assert np.ptp(g[inside]) < 1e-12
        assert (g[~inside] >= g[inside].max() - 1e-12).all()


def test_one_row_and_all_rows_agree():
    rng = np.random.default_rng(3)
    thetas = tuple(torch.tensor(t) for t in rng.normal(size=(5, 40)))
    initial, sizes = torch.tensor(rng.normal(size=40)), (3, 1, 4, 1, 5)
    everybody = rows(thetas, initial, sizes, (0, 1, 2, 3, 4), 1.25, 0.9)
    updates = torch.stack(thetas) - initial
    expected = collaboration_weights(update_similarity(updates), tensor(*sizes), 1.25)
    torch.testing.assert_close(everybody, expected, rtol=0, atol=1e-15)
    for i in range(5):
        one = rows(thetas, initial, sizes, (i,), 1.25, 0.9)
        torch.testing.assert_close(one[0], everybody[i], rtol=0, atol=1e-15)


def test_by_similarity_alone_a_diverged_model_gets_nothing_and_its_own_node_the_finite_ones():
    thetas = (tensor(1.0, 0.0), tensor(math.inf, 0.0), tensor(0.0, 2.0), tensor(-1.0, 1.0))
    w = rows(thetas, tensor(0.0, 0.0), (1, 1, 1, 1), (0, 1), None, 0.9)
    torch.testing.assert_close(w, tensor([1.0, 0, 0, 0], [1 / 3, 0, 1 / 3, 1 / 3]))


def test_what_is_missing_stays_with_the_own_model():
    thetas = (tensor(1.0, 0.0), tensor(0.0, 1.0))
    (w,) = rows(thetas, tensor(0.0, 0.0), (1, 1), (1,), 0.0, 0.9)
    w = with_missing(w, 1, 0.25)
    assert w.tolist() == [0.375, 0.625]  # 3/4 of (1/2, 1/2), and 1/4


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_diverged_model_gets_no_weight_and_its_node_the_others_by_size(bad):
    thetas = (tensor(1.0, 0.0), tensor(1.0, bad), tensor(-1.0, 1.0))
    w = rows(thetas, tensor(0.0, 0.0), (1, 1, 2), (0, 1, 2), 1.25, 0.9)
    assert w[:, 1].tolist() == [0.0, 0.0, 0.0]
    assert w.sum(1).tolist() == pytest.approx([1.0, 1.0, 1.0])
    # p = (1/4, 1/4, 1/2) without similarity; the missing 1/4 in equal parts
    assert w[1].tolist() == pytest.approx([0.375, 0.0, 0.625])


def test_the_regulariser_is_minus_half_lam_times_the_mean_cosine():
    """cos((3,4),(1,0)) = 0.6, cos((3,4),(0,2)) = 0.8; 0.25 * 0.6 + 0.75 * 0.8 = 0.75."""
    thetas, w = tensor([1.0, 0.0], [0.0, 2.0]), tensor(0.25, 0.75)
    value = cosine_regularizer(tensor(3.0, 4.0), thetas, w, 0.01)
    assert float(value) == pytest.approx(-0.01 / 2 * 0.75, abs=1e-17)


def test_a_step_against_the_regularisers_gradient_aligns():
    theta = tensor(3.0, 4.0).requires_grad_()
    thetas, w = tensor([1.0, 0.0], [0.0, 2.0]), tensor(1.0, 0.0)
    before = cosine_regularizer(theta, thetas, w, 1.0)
    before.backward()
    after = cosine_regularizer(theta.detach() - 0.1 * theta.grad, thetas, w, 1.0)
    assert float(after) < float(before.detach())
    # d/dtheta of -(1/2) theta_1 / |theta| at (3, 4): -(1/2) (16, -12) / 125
    assert theta.grad.tolist() == pytest.approx([-0.064, 0.048])


def test_the_loss_is_cross_entropy_and_the_regulariser():
    torch.manual_seed(0)
    model = torch.nn.Linear(4, 3).double()
    batch = Batch(torch.randn(5, 4, dtype=F64), torch.tensor([0, 1, 2, 0, 1]))
    thetas, w = torch.randn(3, 15, dtype=F64), tensor(0.5, 0.2, 0.3)
    direction = sum(a * t / t.norm() for a, t in zip(w, thetas, strict=True))
    theta = torch.cat([model.weight.reshape(-1), model.bias]).detach()
    plain = torch.nn.functional.cross_entropy(model(batch.x), batch.y)
    assert regularised_loss(model, batch, {}, None, -0.05) == plain
    torch.testing.assert_close(
        regularised_loss(model, batch, {}, direction, -0.05),
        plain + cosine_regularizer(theta, thetas, w, 0.1),
        rtol=0,
        atol=1e-14,
    )


def test_linear_layers_are_one_part_of_a_model():
    """The published code compares 62,006 - 456 - 2,416 values in its variant `fc`."""
    network = LeNet().build((3, 32, 32), 10)
    lenet = build_architecture("lenet", network, CPU, torch.float32, 10)
    ((start, stop),) = lenet.columns("fully_connected")
    assert (start, stop) == (456 + 2416, 62_006)


def test_crops_move_the_image_and_flips_mirror_it():
    """Draws u: rows and columns start at floor(9 u) of the image padded by 4."""
    x = torch.arange(2 * 2 * 3 * 3, dtype=F64).reshape(2, 2, 3, 3) + 1
    centre = 4.5 / 9
    draws = tensor([centre, centre, 0.7], [(4 + 1) / 9 + 1e-9, (4 - 1) / 9 + 1e-9, 0.2])
    moved = crop_and_flip(Batch(x, torch.zeros(2), draws))
    assert torch.equal(moved[0], x[0])
    expected = torch.zeros(2, 3, 3, dtype=F64)
    expected[:, :2, 1:] = x[1][:, 1:, :2]  # one row further down in the image, one column back
    assert torch.equal(moved[1], expected.flip(-1))


def test_what_a_crop_adds_is_black():
    """A black pixel is -mean / deviation once standardised."""
    x = torch.full((1, 2, 3, 3), 9.0, dtype=F64)
    batch = Batch(x, torch.zeros(1), tensor([0.0, 0.0, 0.9]), ((0.5, 0.2), (0.25, 0.1)))
    moved = crop_and_flip(batch)  # four rows and columns of padding, none of the image
    assert moved[0, :, 0, 0].tolist() == [-2.0, -2.0]
    assert moved.min() == moved.max() == -2.0


def test_the_augmented_loss_asks_for_its_draws():
    assert uniforms_of(augmented_loss) == 3
