"""Refusals of the kernel: unknown layers and wrong inputs are named; NaN stays NaN."""

import numpy as np
import pytest
import torch
from torch import nn
from torch.testing import assert_close

from netsim.backends.native import library as native_library
from netsim.backends.native.data import Data, Rows
from netsim.backends.native.graph import UnsupportedError
from netsim.backends.native.trace import trace


class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(3))

    def forward(self, x):
        return x * self.scale


class Branching(nn.Module):
    def forward(self, x):
        return x if x.sum() > 0 else -x


class Twice(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)

    def forward(self, x):
        return self.layer(self.layer(x))


def hooked():
    layer = nn.Linear(3, 3)
    layer.register_forward_hook(lambda *_: None)
    return layer


def frozen():
    layer = nn.Linear(3, 3)
    layer.bias.requires_grad_(False)
    return layer


REFUSED = {
    "a parameter outside of layers": (Scaled, (3,)),
    "a forward pass that can't be followed": (Branching, (3,)),
    "a layer that runs twice": (Twice, (3,)),
    "hooks": (hooked, (3,)),
    "does not learn": (frozen, (3,)),
    "ConvTranspose2d": (lambda: nn.ConvTranspose2d(1, 1, 2), (1, 4, 4)),
    "dilation": (lambda: nn.Conv2d(1, 1, 2, dilation=2), (1, 4, 4)),
    "reflect padding": (lambda: nn.Conv2d(1, 1, 3, padding=1, padding_mode="reflect"), (1, 4, 4)),
    "cumulative mean": (lambda: nn.BatchNorm1d(3, momentum=None), (3,)),
    "RReLU": (nn.RReLU, (3,)),
    "the output on values of shape": (lambda: nn.Conv2d(1, 1, 2), (1, 4, 4)),
    "LSTM": (lambda: nn.LSTM(3, 3), (3,)),
    "Linear (0) on values of shape": (lambda: nn.Sequential(nn.Linear(4, 2)), (1, 4, 4)),
}


@pytest.mark.parametrize("words", REFUSED)
def test_unknown_modules_are_named(words):
    make, shape = REFUSED[words]
    with pytest.raises(UnsupportedError) as error:
        trace(make(), shape, training=True)
    assert words in str(error.value)


def test_without_a_library_it_says_why(monkeypatch, tmp_path):
    monkeypatch.setenv(native_library.PATH_VARIABLE, str(tmp_path / "none.so"))
    with pytest.raises(native_library.LibraryMissingError, match=r"none\.so: build it with"):
        native_library.load_library()
    (tmp_path / "none.so").write_text("no library")
    assert "can't be loaded" in native_library.why_missing()


def test_instruction_sets_by_name(library, monkeypatch):
    assert library.variant("plain").vector_bytes == 16
    monkeypatch.setenv(native_library.VARIANT_VARIABLE, "plain")
    assert library.variant().name == "plain"
    with pytest.raises(ValueError, match="this machine runs"):
        library.variant("avx1024")


def test_labels_and_samples_out_of_range(small_lenet):
    made = small_lenet()
    kernel, data = made.kernel(), Data(made.x, made.y)
    with pytest.raises(IndexError, match="job 1: the number of a sample"):
        kernel.losses(data, Rows(made.rows), np.array([[0], [60], [1]]))
    wrong = Data(made.x, made.y + 1)
    with pytest.raises(ValueError, match="a label is not a class"):
        kernel.losses(wrong, Rows(made.rows), np.arange(60)[None])


def test_wrong_shapes_and_types(small_lenet):
    made = small_lenet()
    kernel, data = made.kernel(), Data(made.x, made.y)
    index = np.arange(5)[None]
    with pytest.raises(ValueError, match="rows of at least"):
        kernel.losses(data, Rows(made.rows[:, :-1]), index)
    with pytest.raises(ValueError, match="float64 on the CPU"):
        kernel.losses(data, Rows(made.rows.float()), index)
    with pytest.raises(ValueError, match="a row of the tensor for each"):
        kernel.losses(data, Rows(made.rows, np.array([3])), index)
    with pytest.raises(ValueError, match="samples of shape"):
        kernel.losses(Data(made.x[:, 0], made.y), Rows(made.rows), index)
    with pytest.raises(ValueError, match="needs labels"):
        kernel.losses(Data(made.x), Rows(made.rows), index)


def test_batch_norm_of_a_single_sample(case):
    made = case(lambda: nn.Sequential(nn.BatchNorm1d(4), nn.Linear(4, 2)), (4,), 2, B=1)
    with pytest.raises(ValueError, match="more than 1 value per channel"):
        made.train(made.kernel())


@pytest.mark.thinned(4)
@pytest.mark.parametrize(
    "layers",
    [
        (nn.ReLU(), nn.MaxPool2d(2)),
        (nn.MaxPool2d(2, stride=1), nn.ReLU()),
        (nn.LeakyReLU(), nn.AvgPool2d(2)),
        (nn.Sigmoid(), nn.Tanh(), nn.GELU()),
    ],
    ids=["relu, pool", "pool, relu", "leaky relu, mean", "smooth"],
)
@pytest.mark.parametrize("odd", [torch.nan, torch.inf, -torch.inf])
def test_numbers_that_are_not_finite(case, variant, layers, odd):
    with torch.no_grad():
        size = nn.Sequential(*layers, nn.Flatten())(torch.zeros(1, 2, 4, 4)).shape[1]
    network = nn.Sequential(*layers, nn.Flatten(), nn.Linear(size, 3))
    made = case(lambda: network, (2, 4, 4), 3, n=1)
    made.x[5, 1, 2, 1] = odd
    index = np.arange(60)[None]
    found = made.kernel(variant).outputs(Data(made.x), Rows(made.rows), index)[0]
    expected = made.architecture.bind(made.rows[0])(made.x).detach()
    assert_close(found, expected, rtol=0, atol=1e-12, equal_nan=True)
