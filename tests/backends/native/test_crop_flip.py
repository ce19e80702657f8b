"""Images moved by the library are those that PyTorch moves, bit by bit."""

import numpy as np
import pytest
import torch
from torch import nn
from torch.func import grad, vmap

from netsim.api import Batch, crop_and_flip
from netsim.backends.native import crop_flip as native
from netsim.backends.native.data import Data, Moves, Rows, Steps
from netsim.backends.native.library import why_missing
from netsim.learning.jobs import Optimizer

pytestmark = pytest.mark.skipif(why_missing() is not None, reason=str(why_missing()))

SCALE = ((0.49, 0.48, 0.45), (0.25, 0.24, 0.26))


def images(dtype, n=40, height=7, width=5):
    random = torch.Generator().manual_seed(3)
    x = torch.randn(n, 3, height, width, generator=random, dtype=dtype)
    x[0, 0, 0] = torch.tensor([0.0, -0.0, float("nan"), float("inf"), 1e30], dtype=dtype)
    draws = torch.rand(n, 3, generator=random, dtype=dtype)
    draws[:4, :2] = torch.tensor([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]) * (1 - 1e-7)
    return x, draws


def moved(x, draws, pad, scale=SCALE):
    return crop_and_flip(Batch(x, torch.zeros(len(x)), draws, scale), pad)


def bits(x):
    return x.contiguous().view(torch.int32 if x.dtype == torch.float32 else torch.int64)


@pytest.fixture
def by_torch(monkeypatch):
    """Moves images without the library."""

    def move(*args):
        with monkeypatch.context() as patch:
            patch.setattr(native, "is_possible", lambda *args: False)
            return moved(*args)

    return move


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("scale", [None, SCALE], ids=["as it is", "standardised"])
@pytest.mark.parametrize("pad", [0, 4, 9])
def test_the_same_bits(dtype, scale, pad, by_torch):
    """Up to crops of which no part is in the image; zeros keep their sign, NaN stays."""
    x, draws = images(dtype)
    assert native.is_possible(x, draws)
    assert torch.equal(bits(moved(x, draws, pad, scale)), bits(by_torch(x, draws, pad, scale)))


def test_the_same_bits_in_lanes(by_torch):
    """Also where all lanes have the same images."""
    x, draws = images(torch.float32)
    draws = draws.view(5, 8, 3)
    for dims, samples in ((0, 0), x.view(5, 8, *x.shape[1:])), ((None, 0), x[:8]):
        found = vmap(lambda x, d: moved(x, d, 4), in_dims=dims)(samples, draws)
        expected = vmap(lambda x, d: by_torch(x, d, 4), in_dims=dims)(samples, draws)
        assert torch.equal(bits(found), bits(expected))


def test_gradients_go_back_to_the_pixels_that_were_taken(by_torch):
    x, draws = images(torch.float64)
    weights = torch.randn(x.shape, dtype=x.dtype)
    found = grad(lambda x: (moved(x, draws, 4) * weights).sum())(x)
    assert torch.equal(found, grad(lambda x: (by_torch(x, draws, 4) * weights).sum())(x))
    x.requires_grad_()
    (moved(x, draws, 4) * weights).sum().backward()
    assert torch.equal(x.grad, found)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(("size", "width", "pad"), [(7, 5, 4), (20, 21, 30), (40, 33, 1)])
def test_images_moved_as_the_kernel_reads_them(case, variant, dtype, size, width, pad):
    """The models have the bits of those that learn from images moved before."""

    def make():
        return nn.Sequential(
            nn.Conv2d(3, 2, 3), nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(8, 4)
        )

    made = case(make, (3, 6, width), 4, n=2, S=2, B=size, dtype=dtype)
    draws = torch.rand(*made.index.shape, 3, dtype=dtype)
    black = native.black_of(made.x, 3, SCALE)
    kernel, optimizer = made.kernel(variant), Optimizer("sgd", 0.0, 0.9)
    assert kernel.moves_images
    found = torch.zeros_like(made.rows)
    steps = Steps(made.index, made.sizes, made.counts)
    kernel.train(
        Data(made.x, made.y), Rows(made.rows), Rows(found), steps, optimizer, made.rates,
        moves=Moves(draws, black, pad),
    )  # fmt: skip
    taken = torch.from_numpy(made.index.reshape(-1))
    before = Data(moved(made.x[taken], draws.view(-1, 3), pad), made.y[taken])
    places = Steps(np.arange(len(taken)).reshape(made.index.shape), made.sizes, made.counts)
    expected = torch.zeros_like(made.rows)
    kernel.train(before, Rows(made.rows), Rows(expected), places, optimizer, made.rates)
    assert torch.equal(found, expected)
    assert not torch.equal(found, made.rows)
