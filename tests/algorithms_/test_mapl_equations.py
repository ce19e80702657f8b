"""MAPL's equations.

Numbers called the authors' come from running their published losses and their published graph
update in float64 on inputs that are given here by formulas (sines and cosines of ranks); the others
are worked out beside them.
"""

import math

import numpy as np
import pytest
import torch

from algorithms.mapl import (
    Params,
    first_prototypes,
    first_weights,
    graph_row,
    graph_step,
    head_similarity,
    pml_loss,
    prototype_loss,
    supervised_contrastive_loss,
    uniformity_loss,
)
from netsim.api import VIEW_DRAWS, Augmentation, Batch

Z = 3 * torch.sin(1.0 + torch.arange(40, dtype=torch.float64) * 0.7).view(8, 5)
Y = torch.tensor([0, 1, 1, 3] * 2)
P = 0.5 * torch.cos(torch.arange(50, dtype=torch.float64) * 0.9).view(10, 5)


def heads_of(step):
    """Six heads (6, 10, 4): three pairs that look alike, in part; they grow and drift by steps."""
    rank = torch.arange(240, dtype=torch.float64)
    heads = torch.sin(rank * 0.37 + torch.arange(6).repeat_interleave(40) ** 2 * 0.05)
    heads = heads.view(6, 10, 4)
    pull = torch.tensor([0.9, 0.1, -0.2], dtype=torch.float64).view(3, 1, 1)
    heads[3:] = -0.3 * heads[3:] + heads[:3] * pull
    return heads * (1 + 0.5 * step) + step * 0.1 * torch.cos(rank * 0.11).view(6, 10, 4)


SIZES = torch.tensor([300.0, 120.0, 200.0, 299.0, 100.0, 250.0], dtype=torch.float64)


def of_authors(heads, i):
    """Row i of the similarities as the authors' update has them: s_ii = 1, the others / max."""
    s = head_similarity(heads)[i].clone()
    s[i] = -1.0
    s /= s.max()
    s[i] = 1.0
    return s


def plain_step(w, s, c, **changed):
    keys = {"lam": 0.5, "mu": 0.1, "beta": 0.5, "lr": 0.1} | changed
    return graph_step(w, s, c, torch.ones(len(w), dtype=torch.bool), **keys)


# -- losses ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("temperature", "expected"),
    [(100.0, 1.396101285297556), (0.5, 1.8234900545661694), (0.1, 6.29720268166796)],
)
def test_the_contrastive_loss_is_the_authors(temperature, expected):
    assert supervised_contrastive_loss(Z, Y, temperature).item() == pytest.approx(
        expected, abs=1e-12
    )


@pytest.mark.parametrize(
    ("temperature", "expected"),
    [(100.0, 8.993891246461796), (0.5, 11.524406249217288), (0.1, 1099.4640581577842)],
)
def test_the_uniformity_loss_is_the_authors(temperature, expected):
    assert uniformity_loss(P, temperature).item() == pytest.approx(expected, rel=1e-13)


def test_the_prototype_loss_is_the_authors_at_any_temperature():
    """Theirs is 2.4487856533718726 at temperatures 100, 0.5 and 0.1 alike."""
    assert prototype_loss(Z, Y, P).item() == pytest.approx(2.4487856533718726, abs=1e-12)


def test_the_contrastive_loss_by_hand():
    """Two samples, two views: z = (1, 0), (0, 1), (1, 0), (0, 1) after normalising, tau = 1/2.

    Each row has one positive at e^2 and two negatives at e^0: -log(e^2 / (e^2 + 2)).
    """
    z = torch.tensor([[2.0, 0.0], [0.0, 3.0], [0.5, 0.0], [0.0, 7.0]])
    expected = -math.log(math.e**2 / (math.e**2 + 2))
    got = supervised_contrastive_loss(z, torch.tensor([4, 9, 4, 9]), 0.5)
    assert got.item() == pytest.approx(expected, rel=1e-6)


def test_the_contrastive_loss_has_the_sum_of_positives_inside_the_log():
    """One class, unlike projections: the sum over positives is the sum over all, so the loss is 0;
    the mean of logs of Khosla et al. would be above it."""
    got = supervised_contrastive_loss(Z, torch.zeros(8, dtype=torch.int64), 0.1)
    assert got.item() == pytest.approx(0.0, abs=1e-12)


def test_the_prototype_loss_normalises_projections_and_not_prototypes():
    """z = (0, 1) after normalising; logits 0 and 2: log(1 + e^-2) for class 1."""
    z = torch.tensor([[0.0, 5.0]], dtype=torch.float64)
    prototypes = torch.tensor([[3.0, 0.0], [0.0, 2.0]], dtype=torch.float64)
    expected = math.log(1 + math.exp(-2))
    assert prototype_loss(z, torch.tensor([1]), prototypes).item() == pytest.approx(expected)
    doubled = prototype_loss(z, torch.tensor([1]), 2 * prototypes)
    assert doubled.item() == pytest.approx(math.log(1 + math.exp(-4)))


def test_the_uniformity_loss_by_hand():
    """P_0.P_1 = 2, P_0.P_2 = 0, P_1.P_2 = -3, tau = 2: e^1 + e^0 + e^-1.5, twice, over 3."""
    prototypes = torch.tensor([[1.0, 0.0, 1.0], [2.0, 1.0, 0.0], [0.0, -3.0, 0.0]])
    expected = 2 * (math.e + 1 + math.exp(-1.5)) / 3
    assert uniformity_loss(prototypes, 2.0).item() == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("labels", [Y, torch.tensor([0, 1, 2, 3] * 2)])
def test_losses_have_the_gradient_that_differences_show(labels):
    z, prototypes = Z.clone().requires_grad_(), P.clone().requires_grad_()

    def together(z, prototypes):
        return (
            supervised_contrastive_loss(z, labels, 0.5)
            + prototype_loss(z, labels, prototypes)
            + uniformity_loss(prototypes, 0.5)
        )

    assert torch.autograd.gradcheck(together, (z, prototypes), fast_mode=True)


# -- similarity ------------------------------------------------------------------------------------


def test_similarity_is_the_mean_cosine_of_class_vectors():
    """Class 0: the same direction, 1; class 1: at 60 degrees, 1/2; class 2: opposite, -1."""
    first = [[1.0, 0.0], [2.0, 0.0], [0.0, 1.0]]
    second = [[5.0, 0.0], [1.0, 3**0.5], [0.0, -4.0]]
    got = head_similarity(torch.tensor([first, second]))
    assert torch.allclose(got, torch.tensor([[1.0, 1 / 6], [1 / 6, 1.0]]))


def test_similarity_is_the_authors():
    got = head_similarity(heads_of(0))[0]
    wanted = [1.0, -0.537926, -0.105753, 0.910963, 0.791865, -0.643714]
    assert got.tolist() == pytest.approx(wanted, abs=1e-6)


# -- graph -----------------------------------------------------------------------------------------

AUTHORS = {
    1: [
        [0.2666666609628886, 0.06666669187894736, 0.06666670501771228,
         0.2666666609215206, 0.2666665989211893, 0.06666668229774181],
        [0.10000000699795393, 0.2999999579842692, 0.10000000865988508,
         0.10000000374315306, 0.10000004021842548, 0.29999998239631326],
        [0.10000001261465172, 0.10000000555675043, 0.29999998220539226,
         0.29999998906440273, 0.10000000752012322, 0.10000000303867959],
        [0.2666665109833514, 0.06666653721280405, 0.06666793780704007,
         0.2666665109419834, 0.26666597324651714, 0.06666652980830376],
        [0.2666666564215251, 0.06666670991925351, 0.06666667931619905,
         0.26666664881493585, 0.26666661398452185, 0.06666669154356462],
        [0.10000000682796864, 0.2999999593467063, 0.10000001162214225,
         0.10000000449137722, 0.10000003395305515, 0.29999998375875037],
    ],
    4: [
        [0.3333335033025709, 0.0, 0.0, 0.33333350311338394, 0.33333299358404506, 0.0],
        [0.0, 0.4999998953092457, 0.0, 0.0, 0.0, 0.5000001046907544],
        [0.0, 0.0, 0.4999999808681219, 0.5000000191318781, 0.0, 0.0],
        [0.34999990816703064, 0.0, 0.15000075497618032, 0.34999990796924674, 0.14999942888754234,
         0.0],
        [0.33333343941505006, 0.0, 0.0, 0.3333334077549867, 0.3333331528299634, 0.0],
        [0.0, 0.4999998953092454, 0.0, 0.0, 0.0, 0.5000001046907546],
    ],
}  # fmt: skip
"""Rows of the six nodes after so many updates from 1/6."""


@pytest.mark.parametrize("i", range(6))
def test_graph_steps_are_the_authors(i):
    w, confidence = torch.full((6,), 1 / 6, dtype=torch.float64), SIZES / SIZES.sum()
    for step in range(4):
        w = plain_step(w, of_authors(heads_of(step), i), confidence)
        if step + 1 in AUTHORS:
            assert w.tolist() == pytest.approx(AUTHORS[step + 1][i], abs=1e-12)


@pytest.mark.parametrize("i", range(6))
def test_a_nodes_own_row_is_the_authors_too(i):
    """Heads come in any order, the node's own first; its own place is 0."""
    peers = [j for j in range(6) if j != i]
    order = [i, *peers]
    w, confidence = first_weights(6), tuple((SIZES / SIZES.sum())[order].tolist())
    for step in range(4):
        heads = [heads_of(step)[j].flatten() for j in order]
        w = graph_row(w, heads, tuple(range(6)), confidence, 10, Params())
        if step + 1 in AUTHORS:
            wanted = [AUTHORS[step + 1][i][j] for j in order]
            assert w.tolist() == pytest.approx(wanted, abs=1e-12)


def test_a_step_moves_each_weight_by_a_tenth_whatever_the_gradient():
    """N = 4, w = 1/4, ||w|| = 1/2, c = 1/4: -0.5 s / 4 + 0.05 / 2 is below 0, so w rises, where
    s > 0.2. Then w = .35 .35 .15 .15, which sums to 1: the projection leaves it."""
    w = torch.full((4,), 0.25, dtype=torch.float64)
    s = torch.tensor([1.0, 0.21, 0.19, -3.0], dtype=torch.float64)
    got = plain_step(w, s, torch.full_like(w, 0.25))
    assert got.tolist() == pytest.approx([0.35, 0.35, 0.15, 0.15], abs=2e-6)  # epsilon / |g|


def test_weights_outside_the_mask_become_zero_and_the_rest_sums_to_one():
    w = torch.tensor([0.3, 0.3, 0.2, 0.2], dtype=torch.float64)
    s, c = torch.ones(4, dtype=torch.float64), torch.full((4,), 0.25, dtype=torch.float64)
    for mask in (torch.tensor([True, False, True, True]), torch.tensor([1.0, 0.0, 1.0, 1.0])):
        got = graph_step(w, s, c, mask, 0.5, 0.1, 0.5, 0.1)
        assert got[1] == 0
        # all rise by 0.1: 0.4, 0.3, 0.3 at 0, 2, 3, which sums to 1 already
        assert got.tolist() == pytest.approx([0.4, 0.0, 0.3, 0.3], abs=2e-6)


@pytest.mark.parametrize("seed", range(5))
def test_several_steps_are_those_of_torch_optim_with_its_state_kept(seed):
    rng = np.random.default_rng(seed)
    start = torch.from_numpy(rng.dirichlet(np.ones(7)))
    s = torch.from_numpy(rng.uniform(-1, 1, 7))
    c = torch.from_numpy(rng.dirichlet(np.ones(7)))
    w = start.clone().requires_grad_()
    optimizer = torch.optim.Adam([w], lr=0.05, betas=(0.5, 0.999))
    for _ in range(5):
        optimizer.zero_grad()
        loss = -0.7 * (s * w * c).sum() + 0.2 * 0.4 * w.norm()
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            w.copy_(simplex_by_bisection(w))
    got = plain_step(start, s, c, lam=0.7, mu=0.2, beta=0.4, lr=0.05, steps=5)
    assert torch.allclose(got, w, rtol=0, atol=1e-9)


def simplex_by_bisection(v):
    """max(v - theta, 0) with theta such that it sums to 1: what projecting means."""
    low, high = v.min() - 1.0, v.max()
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if (v - middle).clamp(min=0).sum() > 1 else (low, middle)
    return (v - low).clamp(min=0)


def test_an_active_barrier_pins_the_weights_at_uniform():
    """N = 20: -0.1 / (0.95 + 1e-6) outweighs 0.5 s c <= 0.025 and 0.05 / sqrt(20) = 0.011, so all
    but the own weight rise alike. That leaves 1/20 - d for the own one after a step and its fall is
    the others' gain: without the barrier only the ten alike are left."""
    n = 20
    w = torch.full((n,), 1 / n, dtype=torch.float64)
    s = torch.cat([torch.ones(10), -torch.ones(10)]).double()
    free = active = w
    for _ in range(10):
        free = plain_step(free, s, w)
        active = plain_step(active, s, w, barrier_of=0)
    assert free.tolist() == pytest.approx([0.1] * 10 + [0.0] * 10, abs=1e-4)
    assert active[1:].tolist() == pytest.approx([active[1].item()] * 19, abs=1e-4)
    assert active[1] > 0.04


def test_the_barrier_has_the_gradient_of_minus_log_of_the_degree():
    """In one step of Adam only signs show: mu is set where the sign of one entry turns, at
    lam s c = mu (beta w / ||w|| - 1 / (d + delta))."""
    w = torch.tensor([0.4, 0.3, 0.2, 0.1], dtype=torch.float64)
    s = torch.tensor([1.0, -0.5, -0.5, -0.5], dtype=torch.float64)
    c = torch.full_like(w, 0.25)
    degree = 0.6
    turns = 0.5 * -0.5 * 0.25 / (0.5 * 0.3 / w.norm().item() - 1 / (degree + 1e-6))
    assert turns > 0
    # entry 2 and 3 rise earlier, at smaller mu, and the own one always
    below = plain_step(w, s, c, mu=turns * 0.99, barrier_of=0, lr=0.01)
    above = plain_step(w, s, c, mu=turns * 1.01, barrier_of=0, lr=0.01)
    assert (below[1] - below[0]).item() == pytest.approx(-0.1 - 0.02, abs=1e-4)
    assert (above[1] - above[0]).item() == pytest.approx(-0.1, abs=1e-4)


def test_negative_similarities_are_not_divided_into_positive_ones():
    """All peers unlike, largest -0.58: divided by it they would be 1 and more and rise."""
    own = torch.eye(3, dtype=torch.float64)
    peers = [-0.2 * own + 0.1, -own]
    got = graph_row(
        first_weights(3), [h.flatten() for h in (own, *peers)], (0, 1, 2), (1 / 3,) * 3, 3, Params()
    )
    assert head_similarity(torch.stack([own, *peers]))[0, 1:].max() < 0
    # up, down, down: 1/3 + 0.1, 1/3 - 0.1 twice, and 0.1 / 3 for each to sum to 1
    wanted = [1 / 3 + 0.4 / 3, 1 / 3 - 0.2 / 3, 1 / 3 - 0.2 / 3]
    assert got.tolist() == pytest.approx(wanted, abs=1e-5)


def test_a_head_that_has_diverged_is_unlike_all_others():
    head = torch.eye(3, dtype=torch.float64).flatten()
    lost = graph_row(
        first_weights(3), [head, head, head * torch.nan], (0, 1, 2), (1 / 3,) * 3, 3, Params()
    )
    unlike = graph_row(first_weights(3), [head, head, -head], (0, 1, 2), (1 / 3,) * 3, 3, Params())
    assert torch.equal(lost, unlike)
    assert lost[2] < lost[1]


def test_a_peer_without_a_head_keeps_its_weight():
    """0.5 is shared by those heard; the two like each other, so both rise by 0.1 and fall back."""
    w = torch.tensor([0.25, 0.5, 0.25], dtype=torch.float64)
    head = torch.eye(3, dtype=torch.float64).flatten()
    got = graph_row(w, [head, head], (0, 2), (0.4, 0.2, 0.4), 3, Params())
    assert got.tolist() == pytest.approx([0.25, 0.5, 0.25], abs=1e-6)
    got = graph_row(w, [head, -head], (0, 2), (0.4, 0.2, 0.4), 3, Params())
    assert got.tolist() == pytest.approx([0.35, 0.5, 0.15], abs=1e-6)


# -- where it starts -------------------------------------------------------------------------------


def test_prototypes_start_within_one_over_the_root_of_their_width():
    draws = tuple(np.random.default_rng(0).random(16 * 40).tolist())
    got = first_prototypes(torch.empty(0, dtype=torch.float64), draws, (40, 16))
    assert got.shape == (40, 16)
    assert got.dtype == torch.float64
    assert got.flatten()[:2].tolist() == pytest.approx([(2 * u - 1) / 4 for u in draws[:2]])
    assert -0.25 <= got.min() < -0.24
    assert 0.24 < got.max() < 0.25


def test_weights_start_uniform():
    assert first_weights(4).tolist() == [0.25] * 4
    assert first_weights(4).dtype == torch.float64


# -- ablations -------------------------------------------------------------------------------------


def test_parts_of_the_loss_can_be_left_out():
    class Model(torch.nn.Module):
        def features(self, x):
            return x

        def head(self, z):
            return 2.0 * z

    x, y = Z.view(8, 1, 1, 5), Y
    learned = {"P": P[:5]}

    def value(**switches):
        still = Augmentation(crop_min=1.0, flip=0.0, jitter=0.0, grayscale=0.0)
        params = Params(temperature=2.0, augmentation=still, **switches)
        model = Model()
        model.features = lambda views: views.flatten(1)
        draws = torch.full((8, 2 * VIEW_DRAWS), 0.5, dtype=torch.float64)
        return float(pml_loss(model, Batch(x, y, draws), learned, params))

    z, labels = Z.repeat(2, 1), Y.repeat(2)
    contrast = float(supervised_contrastive_loss(z, labels, 2.0))
    uniformity = float(uniformity_loss(P[:5], 2.0))
    whole = value()
    assert value(contrast=False) == pytest.approx(whole - contrast, abs=1e-9)
    assert value(uniformity=False) == pytest.approx(whole - uniformity, abs=1e-9)
    neither = whole - contrast - uniformity
    assert value(contrast=False, uniformity=False) == pytest.approx(neither, abs=1e-9)


def test_without_similarity_like_and_unlike_peers_move_alike():
    """Three peers of equal weight: like, unlike, like; s / max is then (1, -1, 1)."""
    head = torch.arange(1.0, 7.0, dtype=torch.float64)
    heads = [head, head, -head, head]
    w = torch.full((4,), 0.25, dtype=torch.float64)
    given = (w, heads, (0, 1, 2, 3), (0.25,) * 4, 2)
    with_it, without = (graph_row(*given, Params(similarity=on)) for on in (True, False))
    # (1/4 + 0.1, 1/4 + 0.1, 1/4 - 0.1, 1/4 + 0.1) less 0.05 each, on the simplex
    assert with_it.tolist() == pytest.approx([0.3, 0.3, 0.1, 0.3])
    assert without.tolist() == pytest.approx([0.25] * 4)


def test_by_the_l1_norm_the_slope_is_the_same_for_all_weights():
    """A peer with weight 0.6: by l2 the slope is 0.05 * 0.6 / 0.648, under lam s c = 0.04, by l1
    0.05, over it; one with weight 0 has no slope, and its step is up in both.
    """
    w = torch.tensor([0.2, 0.6, 0.2, 0.0], dtype=torch.float64)
    s, c = torch.ones(4, dtype=torch.float64), torch.full((4,), 0.08, dtype=torch.float64)
    l2, l1 = plain_step(w, s, c), plain_step(w, s, c, norm_of="l1")
    # l2: lam s c = 0.04 against 0.05 w / 0.663: +, -, +, +; l1: against 0.05: -, -, -, +
    assert l2.tolist() == pytest.approx([0.25, 0.45, 0.25, 0.05])
    assert l1.tolist() == pytest.approx([0.15, 0.55, 0.15, 0.15])
