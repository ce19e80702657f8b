"""Every layer that the kernel knows, against PyTorch in double precision."""

import copy

import numpy as np
import pytest
import torch
from torch import nn
from torch.testing import assert_close

from netsim.backends.native.data import Data, Rows
from netsim.backends.native.kernel import Kernel
from netsim.backends.native.packing import goes_by_tiles
from netsim.backends.native.records import Loss
from netsim.models.alexnet_small import AlexNetSmall
from netsim.models.emnist_cnn import EmnistCnn
from netsim.models.googlenet import GoogLeNet
from netsim.models.iot_mlp import IotMlp
from netsim.models.l2c_cifar_cnn import L2cCifarCnn
from netsim.models.l2c_miniimagenet_cnn import L2cMiniimagenetCnn
from netsim.models.lenet import LeNet
from netsim.models.mapl import Mapl
from netsim.models.mlp import Mlp
from netsim.models.resnet18 import ResNet18
from netsim.models.shufflenet_v2 import ShuffleNetV2


class Sum(nn.Module):
    """Two ways that meet again, of which one is used twice."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Conv2d(2, 4, 1), nn.Conv2d(4, 4, 3, padding=1)
        self.third, self.end = nn.Conv2d(4, 4, 1), nn.Linear(4 * 36, 3)

    def forward(self, x):
        x = self.first(x)
        y = torch.relu(self.second(x) + x)
        return self.end(torch.flatten(y + self.third(y) + x, 1))


class Cat(nn.Module):
    """Channels side by side, in turn, and in halves."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Conv2d(2, 4, 3), nn.Conv2d(2, 2, 3)
        self.c, self.end = nn.Conv2d(3, 3, 1), nn.Linear(9 * 16, 3)

    def forward(self, x):
        x = torch.cat([self.a(x), self.b(x)], dim=1)
        kept, worked = x.chunk(2, dim=1)
        both = torch.stack([kept, self.c(worked)], dim=2).flatten(1, 2)
        return self.end(torch.cat([both, worked], dim=1).flatten(1))


class Side(nn.Module):
    """Some parameters are not used."""

    def __init__(self):
        super().__init__()
        self.used, self.unused = nn.Linear(5, 3), nn.Linear(5, 4)

    def forward(self, x):
        return self.used(x)


def image(*layers, size=None):
    """Layers on images, a linear layer behind them."""
    layers = nn.Sequential(*layers, nn.Flatten())
    with torch.no_grad():
        size = layers.eval()(torch.zeros(2, 2, 6, 6)).shape[1]
    return nn.Sequential(nn.Conv2d(2, 2, 1), layers, nn.Linear(size, 3))


def small(*layers):
    """Layers on images of twenty channels: enough for the form of small maps."""
    return image(nn.Conv2d(2, 20, 1), *layers)


IMAGES = {
    "conv": lambda: image(nn.Conv2d(2, 5, 3)),
    "conv_no_bias": lambda: image(nn.Conv2d(2, 5, (3, 2), bias=False)),
    "conv_padding": lambda: image(
        nn.Conv2d(2, 5, 3, padding=1), nn.Conv2d(5, 2, 5, padding=(0, 2))
    ),
    "conv_stride": lambda: image(nn.Conv2d(2, 5, 3, stride=2)),
    "conv_stride_padding": lambda: image(
        nn.Conv2d(2, 4, 7, stride=2, padding=3), nn.Conv2d(4, 3, 1, stride=(1, 2))
    ),
    "conv_stride_rows": lambda: image(nn.Conv2d(2, 5, 3, stride=(3, 1), padding="valid")),
    "conv_same": lambda: image(nn.Conv2d(2, 5, (3, 5), padding="same")),
    "conv_groups": lambda: image(
        nn.Conv2d(2, 6, 3, groups=2, padding=1), nn.Conv2d(6, 6, 3, groups=6)
    ),
    "conv_wide": lambda: image(nn.Conv2d(2, 37, 2), nn.Conv2d(37, 13, 1)),
    "conv_small_map": lambda: small(nn.Conv2d(20, 7, 3, padding=1), nn.Conv2d(7, 3, 1)),
    "conv_small_map_stride": lambda: small(nn.Conv2d(20, 37, 3, stride=2, padding=1)),
    "conv_small_map_sides": lambda: small(nn.Conv2d(20, 5, (5, 2), (1, 3), (2, 1), bias=False)),
    "conv_small_map_point": lambda: small(nn.Conv2d(20, 33, 1), nn.Conv2d(33, 18, 1, stride=2)),
    "conv_one_pixel": lambda: small(
        nn.AdaptiveAvgPool2d(1), nn.Conv2d(20, 19, 3, padding=1), nn.Conv2d(19, 4, 7, padding=3)
    ),
    "conv_padding_alone": lambda: small(
        nn.AdaptiveAvgPool2d((1, 2)), nn.Conv2d(20, 6, 3, stride=2, padding=2)
    ),
    "conv_tiles": lambda: small(nn.Conv2d(20, 17, 3, padding=1), nn.Conv2d(17, 16, 3)),
    "conv_tiles_sides": lambda: small(
        nn.Conv2d(20, 37, 3, padding=(2, 1), bias=False), nn.Conv2d(37, 20, 3, padding=(0, 2))
    ),
    "conv_tiles_odd": lambda: image(
        nn.Conv2d(2, 16, 2, padding=1), nn.Conv2d(16, 33, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)
    ),
    "max_pool": lambda: image(nn.MaxPool2d(2)),
    "max_pool_overlapping": lambda: image(nn.MaxPool2d(3, stride=1, padding=1)),
    "max_pool_ceil": lambda: image(nn.MaxPool2d(3, stride=2, ceil_mode=True)),
    "max_pool_ties": lambda: image(nn.ReLU(), nn.MaxPool2d(3, stride=2), nn.ReLU()),
    "relu_pool": lambda: image(nn.Conv2d(2, 4, 2), nn.ReLU(), nn.MaxPool2d(2)),
    "average_pool": lambda: image(nn.AvgPool2d(2, stride=1)),
    "average_pool_padding": lambda: image(nn.AvgPool2d(3, stride=2, padding=1, ceil_mode=True)),
    "average_pool_real": lambda: image(nn.AvgPool2d(3, 2, 1, count_include_pad=False)),
    "adaptive_pool": lambda: image(nn.AdaptiveAvgPool2d((4, None))),
    "adaptive_pool_one": lambda: image(nn.AdaptiveAvgPool2d(1)),
    "batch_norm": lambda: image(nn.BatchNorm2d(2), nn.ReLU()),
    "batch_norm_plain": lambda: image(nn.BatchNorm2d(2, affine=False, momentum=0.3)),
    "group_norm": lambda: image(nn.Conv2d(2, 6, 1), nn.GroupNorm(3, 6), nn.ReLU(), nn.MaxPool2d(2)),
    "group_norm_plain": lambda: image(nn.GroupNorm(2, 2, affine=False)),
    "layer_norm": lambda: image(nn.LayerNorm((2, 6, 6))),
    "dropout": lambda: image(nn.Dropout(0.3), nn.Conv2d(2, 3, 3), nn.Dropout(0.5)),
    "sum": Sum,
    "cat": Cat,
    "identity": lambda: image(nn.Identity()),
}

DENSE = {
    "linear": lambda: nn.Linear(5, 3),
    "linear_no_bias": lambda: nn.Sequential(nn.Linear(5, 40, bias=False), nn.Linear(40, 3)),
    "linear_wide": lambda: nn.Sequential(
        nn.Linear(5, 1100), nn.Linear(1100, 700), nn.Linear(700, 3)
    ),
    "batch_norm": lambda: nn.Sequential(nn.BatchNorm1d(5), nn.Linear(5, 20), nn.BatchNorm1d(20)),
    "layer_norm": lambda: nn.Sequential(nn.Linear(5, 20), nn.LayerNorm(20), nn.Linear(20, 3)),
    "group_norm": lambda: nn.Sequential(nn.Linear(5, 20), nn.GroupNorm(4, 20), nn.Linear(20, 3)),
    "group_norm_plain": lambda: nn.Sequential(nn.Linear(5, 6), nn.GroupNorm(2, 6, affine=False)),
    "dropout": lambda: nn.Sequential(nn.Linear(5, 20), nn.Dropout(0.4), nn.Linear(20, 3)),
    "unused": Side,
}

SHIPPED = {
    "mlp": (Mlp(hidden=(30, 20)), (1, 8, 8)),
    "iot_mlp": (IotMlp(), (296,)),
    "lenet": (LeNet(), (3, 32, 32)),
    "l2c_miniimagenet_cnn": (L2cMiniimagenetCnn(), (3, 32, 32)),
    "mapl": (Mapl(backbone=Mlp(), projection=30), (1, 8, 8)),
}

LARGE = {
    "emnist_cnn": (EmnistCnn(), (1, 28, 28)),
    "l2c_cifar_cnn": (L2cCifarCnn(), (3, 32, 32)),
    "l2c_cifar_cnn_smaller": (L2cCifarCnn(padding=False), (3, 32, 32)),
    "alexnet_small": (AlexNetSmall(), (3, 32, 32)),
    "resnet18": (ResNet18(), (3, 32, 32)),
    "shufflenet_v2": (ShuffleNetV2(), (3, 32, 32)),
    "googlenet": (GoogLeNet(), (3, 32, 32)),
}


def assert_trains_alike(case, variant):
    rows, states, sums = case.train(case.kernel(variant))
    expected, velocities = case.train_plain()
    assert_close(rows, expected, rtol=0, atol=1e-12)
    assert_close(states, velocities, rtol=0, atol=1e-12)
    parameters = rows[:, : case.architecture.num_parameters]
    assert_close(torch.from_numpy(sums), parameters.sum(1), rtol=0, atol=1e-9)


@pytest.mark.thinned(84)
@pytest.mark.parametrize("batch", [7, 19])
@pytest.mark.parametrize("name", IMAGES)
def test_layers_of_images(case, variant, name, batch):
    assert_trains_alike(case(IMAGES[name], (2, 6, 6), 3, B=batch), variant)


@pytest.mark.thinned(8)
@pytest.mark.parametrize("name", DENSE)
def test_dense_layers(case, variant, name):
    assert_trains_alike(case(DENSE[name], (5,), 3, B=19), variant)


@pytest.mark.thinned(4)
@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_models(case, variant, name):
    kind, shape = SHIPPED[name]
    assert_trains_alike(case(lambda: kind.build(shape, 10), shape, 10, n=2, S=2, B=6), variant)


@pytest.mark.slow
@pytest.mark.parametrize("name", LARGE)
def test_large_shipped_models(case, variant, name):
    kind, shape = LARGE[name]
    # Small minibatches of maps of one pixel would have next to no variance to divide by.
    assert_trains_alike(case(lambda: kind.build(shape, 10), shape, 10, n=1, S=1, B=12), variant)


def test_embedding(case, variant):
    def make():
        return nn.Sequential(nn.Embedding(11, 6, padding_idx=2), nn.Flatten(), nn.Linear(24, 3))

    words = torch.randint(11, (60, 4))
    assert_trains_alike(case(make, (4,), 3, x=words), variant)


@pytest.mark.thinned(9)
@pytest.mark.parametrize("batch", [1, 2, 16, 33])
def test_minibatches_of_all_sizes(small_lenet, variant, batch):
    assert_trains_alike(small_lenet(B=batch), variant)


@pytest.mark.thinned(2)
@pytest.mark.parametrize("batch", [5, 64])
def test_tiles_of_results_round_no_more_than_pytorch_does(variant, batch):
    """The gradient by weights, and by what lies before, at first hand in double precision."""
    torch.manual_seed(3)
    network = nn.Sequential(
        nn.Conv2d(16, 48, 3, padding=1), nn.Tanh(), nn.Conv2d(48, 32, 3), nn.AdaptiveAvgPool2d(1)
    )
    network.append(nn.Flatten())
    x, wanted = torch.randn(batch, 16, 11, 14), torch.randn(1, batch, 32)
    flat = torch.cat([p.detach().reshape(-1) for p in network.parameters()])[None]

    def found(dtype):
        kernel = Kernel(network, x.shape[1:], dtype, variant=variant)
        assert any(goes_by_tiles(kernel.graph, layer) for layer in kernel.graph.layers)
        out = torch.zeros_like(flat, dtype=dtype)
        rows, data, index = flat.to(dtype), Data(x.to(dtype)), np.arange(batch)[None]
        loss = {"loss": Loss.GIVEN_GRADIENT, "output_gradients": wanted.to(dtype)}
        kernel.gradients(data, Rows(rows), Rows(out), index, training=True, **loss)
        return out[0]

    def plain(dtype):
        module = copy.deepcopy(network).to(dtype)
        module(x.to(dtype)).backward(wanted[0].to(dtype))
        return torch.cat([p.grad.reshape(-1) for p in module.parameters()])

    exact = plain(torch.float64)
    assert_close(found(torch.float64), exact, rtol=0, atol=1e-11)
    errors = [(f(torch.float32) - exact).square().mean().sqrt() for f in (found, plain)]
    assert errors[0] < 2 * errors[1]


@pytest.mark.thinned(2)
def test_single_precision(small_lenet, variant):
    case = small_lenet(dtype=torch.float32, n=9)
    rows, *_ = case.train(case.kernel(variant))
    expected, _ = case.train_plain()
    assert (rows - expected).abs().amax(1).median() < 1e-6
