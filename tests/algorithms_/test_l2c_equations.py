"""Equations of L2C and meta-L2C against numbers worked out by hand and against autograd."""

import math
from types import SimpleNamespace

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from algorithms._encoder import Form, Layer, drawn_encoder, embed, encoder_size, layers_of
from algorithms.l2c import aggregate, logit_gradient, mixing_weights
from algorithms.meta_l2c import attention_weights, encoder_step, joined_mean, split, weights_of
from netsim.api import adam_step
from netsim.learning.architecture import build_architecture
from netsim.models.l2c_cifar_cnn import L2cCifarCnn
from netsim.models.l2c_miniimagenet_cnn import L2cMiniimagenetCnn

# A model row with a layer of 3 filters of 4 weights, 3 biases, a layer of 2 filters of 3 weights.
FORM = Form((Layer(0, 12, 4), Layer(15, 21, 3)), "relu", normalise=False)
ROW = 21


def draw(seed, *shape):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=generator, dtype=torch.float64)


def test_mixing_weights_are_a_softmax():
    """alpha = (ln 1, ln 2, ln 5): shares of 8."""
    logits = torch.tensor([0.0, math.log(2), math.log(5)], dtype=torch.float64)
    assert mixing_weights(logits).tolist() == pytest.approx([1 / 8, 2 / 8, 5 / 8], abs=1e-15)
    assert mixing_weights(torch.zeros(100)).tolist() == pytest.approx([0.01] * 100)


def test_aggregate_subtracts_every_update_by_its_weight_the_own_one_too():
    """(1, 2) - 0.5 (1, 0) - 0.25 (0, 4) - 0.25 (2, 2) = (0, 0.5)."""
    theta = torch.tensor([1.0, 2.0])
    deltas = torch.tensor([[1.0, 0.0], [0.0, 4.0], [2.0, 2.0]])
    assert aggregate(theta, deltas, torch.tensor([0.5, 0.25, 0.25])).tolist() == [0.0, 0.5]


def test_logit_gradient_of_a_linear_loss():
    """L(theta) = <g, theta>, g = (1, -1), Delta as above: q = -<g, Delta_j> = (-1, 4, 0).

    With w = (0.5, 0.25, 0.25) the mean is 0.5, so w_m (q_m - 0.5) = (-0.75, 0.875, -0.125).
    """
    deltas = torch.tensor([[1.0, 0.0], [0.0, 4.0], [2.0, 2.0]])
    found = logit_gradient(torch.tensor([0.5, 0.25, 0.25]), torch.tensor([1.0, -1.0]), deltas)
    assert found.tolist() == [-0.75, 0.875, -0.125]


def test_logit_gradient_is_autograds():
    theta, deltas, x = draw(0, 12), draw(1, 7, 12), draw(2, 20, 4)
    y = torch.arange(20) % 3
    logits = draw(3, 7).requires_grad_()

    def loss(row):
        return F.cross_entropy(x @ row.view(3, 4).T.tanh(), y)

    mixed = aggregate(theta, deltas, mixing_weights(logits))
    (expected,) = torch.autograd.grad(loss(mixed), logits)
    at = mixed.detach().requires_grad_()
    (g,) = torch.autograd.grad(loss(at), at)
    found = logit_gradient(mixing_weights(logits.detach()), g, deltas)
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-14)
    assert float(found.sum()) == pytest.approx(0, abs=1e-15)  # softmax only moves mass


def test_adam_is_torchs_entry_by_entry():
    """An entry that joins late goes on as one that has just started."""
    values = torch.tensor([1.0, -2.0, 0.5], dtype=torch.float64)
    gradients = draw(1, 6, 3)
    state = torch.zeros(3, 3, dtype=torch.float64)
    expected = values.clone().requires_grad_()
    adam = torch.optim.Adam([expected], lr=0.1, weight_decay=0.01)
    for g in gradients:
        values, state = adam_step(values, g, state, 0.1, 0.01)
        expected.grad = g.clone()
        adam.step()
    torch.testing.assert_close(values, expected.detach(), rtol=0, atol=1e-14)


def test_attention_weights_are_row_softmaxes_of_inner_products():
    """e = (1, 0), (0, 2), (1, 1): inner products ((1, 0, 1), (0, 4, 2), (1, 2, 2))."""
    e = torch.tensor([[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]], dtype=torch.float64)
    exponentials = [
        [math.e, 1, math.e],
        [1, math.e**4, math.e**2],
        [math.e, math.e**2, math.e**2],
    ]
    expected = [[value / sum(row) for value in row] for row in exponentials]
    assert attention_weights(e).tolist() == [pytest.approx(row, abs=1e-15) for row in expected]


def test_a_node_takes_its_own_row_of_the_attention():
    phi, changes = draw(0, encoder_size(FORM.layers)), draw(1, 4, ROW)
    e = torch.stack([embed(phi, change, FORM) for change in changes])
    found = weights_of(phi, list(changes), FORM)
    torch.testing.assert_close(found, attention_weights(e)[0], rtol=0, atol=0)


@pytest.mark.parametrize(
    ("model", "shape", "classes", "parameters", "embedded"),
    [
        # Filters of 75, 800, 4096 and 512 weights: 10 * 5483 + 4 * 65; 618 filters give 5 each.
        (L2cCifarCnn(), (3, 32, 32), 10, 55_090, 3090),
        # More classes are more filters of the same size: the same encoder fits.
        (L2cCifarCnn(), (3, 32, 32), 100, 55_090, 3540),
        # 27, three times 288 and 800 weights: 10 * 1691 + 5 * 65.
        (L2cMiniimagenetCnn(), (3, 84, 84), 100, 17_235, 1140),
    ],
)
def test_encoders_have_the_papers_sizes(model, shape, classes, parameters, embedded):
    network = model.build(shape, classes)
    cpu = torch.device("cpu")
    architecture = build_architecture("model", network, cpu, torch.float32, classes)
    theta = SimpleNamespace(architecture=architecture)
    form = Form(layers_of(theta), "relu", normalise=False)
    assert encoder_size(form.layers) == parameters
    phi = drawn_encoder(architecture.row(), form, seed=1)
    assert phi.shape == (parameters,)
    assert embed(phi, architecture.row(), form).shape == (embedded,)


def modules(phi, activation=None):
    """The encoder as torch modules, one a layer of the model, and phi in them."""
    middle = activation or nn.ReLU
    made = nn.ModuleList(
        nn.Sequential(nn.Linear(size, 10), middle(), nn.Linear(10, 5)).double() for size in (4, 3)
    )
    nn.utils.vector_to_parameters(phi.clone(), made.parameters())
    return made


def encoded(made, change):
    filters = change[:12].view(3, 4), change[15:].view(2, 3)
    return torch.cat([part(f).flatten() for part, f in zip(made, filters, strict=True)])


@pytest.mark.parametrize(("activation", "middle"), [("relu", nn.ReLU), ("none", nn.Identity)])
def test_filters_of_a_layer_share_its_network_and_biases_are_left_out(activation, middle):
    form = Form(FORM.layers, activation, normalise=False)
    phi, change = draw(0, encoder_size(form.layers)), draw(1, ROW)
    expected = encoded(modules(phi, middle), change).detach()
    torch.testing.assert_close(embed(phi, change, form), expected, rtol=0, atol=1e-14)
    other = change.clone()
    other[12:15] += 1.0
    assert torch.equal(embed(phi, other, form), embed(phi, change, form))


def test_normalised_embeddings_have_length_one():
    form = Form(FORM.layers, "relu", normalise=True)
    e = embed(draw(0, encoder_size(form.layers)), draw(1, ROW), form)
    assert float(e.norm()) == pytest.approx(1.0, abs=1e-15)


def test_encoders_start_as_linear_layers_do():
    """Uniform in +- 1 / sqrt(inputs): 4 and 3 inputs, then 10; variance is a third of its square.

    50 encoders of 50 + 55 + 40 + 55 values: the variance estimate of n uniform values has a
    relative deviation of sqrt(0.8 / n), at most 2 % for n = 50 * 40; 10 % is five of them.
    """
    theta = torch.zeros(1, dtype=torch.float64)
    drawn = torch.stack([drawn_encoder(theta, FORM, seed) for seed in range(50)])
    parts = torch.split(drawn, [50, 55, 40, 55], dim=1)
    for part, inputs in zip(parts, (4, 10, 3, 10), strict=True):
        assert part.abs().max() <= 1 / math.sqrt(inputs)
        assert float(part.var()) == pytest.approx(1 / (3 * inputs), rel=0.1)


@pytest.mark.parametrize("normalise", [False, True])
def test_encoder_step_is_autograd_and_torchs_adam(normalise):
    """Two steps on L(theta - sum_j softmax_j(<e_0, e_j>) Delta_j) for a quadratic L."""
    form = Form(FORM.layers, "relu", normalise)
    theta, target, deltas, changes = draw(0, ROW), draw(1, ROW), draw(2, 4, ROW), draw(3, 4, ROW)
    phi = 0.3 * draw(4, encoder_size(form.layers))
    made = modules(phi)
    adam = torch.optim.Adam(made.parameters(), lr=0.1, weight_decay=0.01)
    state = torch.zeros(3, len(phi), dtype=torch.float64)
    for _ in range(2):
        e = torch.stack([encoded(made, change) for change in changes])
        if normalise:
            e = e / e.norm(dim=1, keepdim=True)
        expected = torch.softmax(e @ e[0], 0)
        loss = (theta - expected @ deltas - target).square().sum()
        adam.zero_grad()
        loss.backward()
        adam.step()

        w = weights_of(phi, list(changes), form)
        torch.testing.assert_close(w, expected.detach(), rtol=0, atol=1e-13)
        g = 2 * (aggregate(theta, deltas, w) - target)
        everybody = (True,) * 4
        phi, state = encoder_step(
            phi, state, w, g, list(deltas), list(changes), everybody, form, 0.1, 0.01
        )
        mine = nn.utils.parameters_to_vector(made.parameters()).detach()
        torch.testing.assert_close(phi, mine, rtol=0, atol=1e-9)


def test_pieces_of_an_encoder_are_it_again():
    phi = draw(0, 55_090)
    pieces = split(phi, 15)
    assert {len(piece) for piece in pieces} == {3672, 3673}
    torch.testing.assert_close(joined_mean([15 * p for p in pieces]), phi, rtol=1e-15, atol=0)
