"""Optimisers, losses, and models that are only looked at, against PyTorch in double precision."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.testing import assert_close

from netsim.backends.native.data import Data, Rows
from netsim.backends.native.records import Loss
from netsim.learning.jobs import Optimizer
from netsim.models.iot_mlp import IotMlp
from netsim.models.lenet import LeNet

OPTIMIZERS = {
    "sgd": Optimizer("sgd", 0.0),
    "momentum": Optimizer("sgd", 0.0, 0.9),
    "weight_decay": Optimizer("sgd", 0.0, 0.9, weight_decay=0.1),
    "weight_decay_alone": Optimizer("sgd", 0.0, weight_decay=0.1),
    "clipped": Optimizer("sgd", 0.0, 0.9, clip_norm=0.2),
    "clipped_decay": Optimizer("sgd", 0.0, 0.5, weight_decay=0.1, clip_norm=0.2),
    "adam": Optimizer("adam", 0.0),
    "adam_all": Optimizer("adam", 0.0, weight_decay=0.1, beta1=0.8, beta2=0.99, clip_norm=0.2),
}


def tolerance(optimizer):
    return 1e-9 if optimizer.kind == "adam" else 1e-12


@pytest.mark.thinned(48)
@pytest.mark.parametrize("name", OPTIMIZERS)
@pytest.mark.parametrize("goes_on", [False, True])
@pytest.mark.parametrize("is_anchored", [False, True])
def test_optimizers(small_lenet, variant, name, goes_on, is_anchored):
    optimizer, case = OPTIMIZERS[name], small_lenet()
    given, plain = {}, {}
    if goes_on:
        _, states = case.train_plain(optimizer)
        given["states"], plain["states"] = Rows(states), states
    if is_anchored:
        anchors = torch.randn(case.n, case.architecture.num_parameters, dtype=torch.float64)
        given |= {"anchors": Rows(anchors), "anchor_strength": 0.3}
        plain |= {"anchors": anchors, "strength": 0.3}
    rows, states, _ = case.train(case.kernel(variant), optimizer, **given)
    expected, after = case.train_plain(optimizer, **plain)
    assert_close(rows, expected, rtol=0, atol=tolerance(optimizer))
    assert_close(states, after, rtol=0, atol=tolerance(optimizer))


def one_pixel():
    """Most weights of its convolutions meet nothing but padding."""
    return nn.Sequential(
        nn.Conv2d(3, 20, 2, stride=2),
        nn.Conv2d(20, 18, 3, padding=1),
        nn.AdaptiveAvgPool2d(1),
        nn.Conv2d(18, 21, 3, padding=1),
        nn.Flatten(),
        nn.Linear(21, 4),
    )


@pytest.mark.thinned(48)
@pytest.mark.parametrize("name", OPTIMIZERS)
@pytest.mark.parametrize("goes_on", [False, True])
@pytest.mark.parametrize("is_anchored", [False, True])
def test_weights_that_only_meet_padding(case, variant, name, goes_on, is_anchored):
    made = case(one_pixel, (3, 6, 6), 4)
    test_optimizers(lambda: made, variant, name, goes_on, is_anchored)


def test_adam_with_batch_norm(case, variant):
    made = case(lambda: IotMlp().build((20,), 4), (20,), 4)
    rows, states, _ = made.train(made.kernel(variant), OPTIMIZERS["adam"])
    expected, after = made.train_plain(OPTIMIZERS["adam"])
    assert_close(rows, expected, rtol=0, atol=1e-9)
    assert_close(states, after, rtol=0, atol=1e-9)


def test_mean_squared_error(case, variant):
    made = case(lambda: nn.Sequential(nn.Linear(5, 9), nn.Tanh(), nn.Linear(9, 3)), (5,), 3)
    wanted = torch.randn(len(made.x), 3, dtype=torch.float64)
    rows, _, _ = made.train(made.kernel(variant), loss=Loss.MEAN_SQUARED, y=wanted)
    expected, _ = made.train_plain(loss=lambda m, x, y: F.mse_loss(m(x), y), y=wanted)
    assert_close(rows, expected, rtol=0, atol=1e-12)


def test_a_loss_of_ones_own(case, variant):
    """Of features and outputs: torch gives its gradient by both, the kernel the rest."""
    made = case(lambda: LeNet().build((3, 16, 16), 4), (3, 16, 16), 4, S=1)

    def both(module, x):
        features = module.features(x)
        return features, module.head(features)

    def loss(features, logits, y):
        return F.cross_entropy(logits / 2, y) + features.square().mean()

    kernel = made.kernel(variant, entry=both)
    data, index, sizes = Data(made.x, made.y), made.index[:, 0], made.sizes[:, 0]
    outputs = kernel.outputs(data, Rows(made.rows), index, sizes, training=True)
    assert outputs.shape == (made.n, 7, 84 + 4)
    given = torch.zeros_like(outputs)
    for i in range(made.n):
        mine = outputs[i, : sizes[i]].clone().requires_grad_()
        y = made.y[torch.from_numpy(index[i, : sizes[i]])]
        loss(mine[:, :84], mine[:, 84:], y).backward()
        given[i, : sizes[i]] = mine.grad
    rows, _, _ = made.train(kernel, loss=Loss.GIVEN_GRADIENT, output_gradients=given.unsqueeze(1))
    expected, _ = made.train_plain(loss=lambda m, x, y: loss(*both(m, x), y))
    assert_close(rows, expected, rtol=0, atol=1e-12)


def looked_at(made):
    """More samples than go through at once, other numbers of them for each model."""
    rng = np.random.default_rng(2)
    return rng.integers(60, size=(made.n, 150)), np.array([150, 64, 1])


@pytest.mark.thinned(4)
@pytest.mark.parametrize("kind", ["lenet", "iot_mlp"])
def test_outputs_losses_and_gradients(case, variant, kind):
    if kind == "lenet":
        made = case(lambda: LeNet().build((3, 16, 16), 4), (3, 16, 16), 4)
    else:
        made = case(lambda: IotMlp().build((20,), 4), (20,), 4)
    kernel, data = made.kernel(variant), Data(made.x, made.y)
    index, sizes = looked_at(made)
    models, gradients = Rows(made.rows), torch.full_like(made.rows, 7.0)
    outputs = kernel.outputs(data, models, index, sizes)
    losses = kernel.losses(data, models, index, sizes)
    kernel.gradients(data, models, Rows(gradients), index, sizes)
    size = made.architecture.num_parameters
    for i in range(made.n):
        rows = torch.from_numpy(index[i, : sizes[i]])
        expected = torch.zeros(made.architecture.num_values, dtype=torch.float64)
        model = made.architecture.bind(made.rows[i].clone(), expected[:size])
        z = model(made.x[rows])
        loss = F.cross_entropy(z, made.y[rows])
        loss.backward()
        assert_close(outputs[i, : sizes[i]], z.detach(), rtol=0, atol=1e-12)
        assert not outputs[i, sizes[i] :].any()
        assert losses[i] == pytest.approx(loss.item(), abs=1e-12)
        assert_close(gradients[i], expected, rtol=0, atol=1e-12)


def test_samples_that_all_models_share(small_lenet, variant):
    made = small_lenet()
    kernel, data, models = made.kernel(variant), Data(made.x, made.y), Rows(made.rows)
    shared = np.arange(50)[None]
    apart = np.repeat(shared, made.n, 0)
    assert torch.equal(kernel.outputs(data, models, shared), kernel.outputs(data, models, apart))
    assert np.array_equal(kernel.losses(data, models, shared), kernel.losses(data, models, apart))


def test_looking_in_training_mode_keeps_running_statistics(case, variant):
    made = case(lambda: IotMlp().build((20,), 4), (20,), 4)
    before = made.rows.clone()
    kernel = made.kernel(variant)
    index = made.index[:, 0]
    found = kernel.outputs(Data(made.x), Rows(made.rows), index, training=True)
    assert torch.equal(made.rows, before)
    for i in range(made.n):
        model = made.architecture.bind(made.rows[i].clone(), training=True)
        expected = model(made.x[torch.from_numpy(index[i])]).detach()
        assert_close(found[i], expected, rtol=0, atol=1e-12)


def test_powers_of_e_at_their_ends(case, variant):
    """Cross-entropy of logits from where powers vanish to where they would be infinite."""
    made = case(lambda: nn.Linear(4, 4), (4,), 4)
    made.x *= 10.0 ** torch.arange(60).remainder(5).unsqueeze(1)
    index = np.arange(60)[None]
    losses = made.kernel(variant).losses(Data(made.x, made.y), Rows(made.rows), index)
    for i in range(made.n):
        expected = F.cross_entropy(made.architecture.bind(made.rows[i])(made.x), made.y)
        assert losses[i] == pytest.approx(expected.item(), rel=1e-12)
