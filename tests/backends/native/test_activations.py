"""Every activation that the kernel has, against PyTorch in double precision."""

from operator import methodcaller

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.testing import assert_close

from netsim.backends.native.activations import KNOWN
from netsim.backends.native.data import Data, Rows
from netsim.backends.native.graph import UnsupportedError
from netsim.backends.native.records import Kind
from netsim.backends.native.trace import trace
from netsim.backends.stacked.equivalence_check import build
from netsim.learning.architecture import Architecture

ODD = (torch.nan, torch.inf, -torch.inf, 0.0, 800.0, -800.0)


def made(known):
    """The module that an activation computes, with a number of its own where it takes one."""
    return known.module(**known.settings, **({known.real: 0.3} if known.real else {}))


@pytest.fixture(params=KNOWN, ids=lambda known: known.name)
def known(request):
    return request.param


def maps(layer):
    return nn.Sequential(nn.Conv2d(2, 3, 2), layer, nn.Flatten(), nn.Linear(75, 3))


def values(layer):
    return nn.Sequential(nn.Linear(5, 20), layer, nn.Linear(20, 3))


@pytest.mark.thinned(3)
@pytest.mark.parametrize(("shape", "network"), [((2, 6, 6), maps), ((5,), values)])
def test_training_is_pytorchs(case, variant, known, shape, network):
    models = case(lambda: network(made(known)), shape, 3, B=19)
    rows, states, _ = models.train(models.kernel(variant))
    expected, velocities = models.train_plain()
    assert_close(rows, expected, rtol=0, atol=1e-12)
    assert_close(states, velocities, rtol=0, atol=1e-12)


def test_odd_numbers_become_pytorchs(case, variant, known):
    models = case(lambda: nn.Sequential(made(known), nn.Linear(len(ODD), 3)), (len(ODD),), 3, n=1)
    models.x[:] = torch.diag(torch.tensor(ODD, dtype=torch.float64)).repeat(10, 1)
    index = torch.arange(60).numpy()[None]
    found = models.kernel(variant).outputs(Data(models.x), Rows(models.rows), index)[0]
    expected = models.architecture.bind(models.rows[0])(models.x).detach()
    assert_close(found, expected, rtol=1e-12, atol=1e-12, equal_nan=True)


def test_stacked_models_have_it(known):
    architecture = Architecture("m", values(made(known)), torch.device("cpu"), torch.float64, 3)
    assert build(architecture, torch.randn(16, 5)) is not None


def test_every_setting_is_declared(known):
    settings = {"inplace"} | set(known.settings) | {known.real}
    assert set(getattr(known.module, "__constants__", ())) <= settings


class Function(nn.Module):
    """A linear layer and a function of its results, which may use another layer."""

    def __init__(self, function, other=None):
        super().__init__()
        self.layer, self.function, self.other = nn.Linear(3, 3), function, other

    def forward(self, x):
        x = self.layer(x)
        return self.function(x) if self.other is None else self.function(x, self.other)


def layers(module):
    return [(la.kind, la.sources, la.out, la.settings) for la in trace(module, (3,), True).layers]


@pytest.mark.parametrize("ending", ["", "_"])
def test_functions_are_followed_as_modules(known, ending):
    for function in known.functions(ending):
        if isinstance(function, str):
            if not hasattr(torch.Tensor, function):
                continue
            function = methodcaller(function)
        x = torch.linspace(-3, 3, 7)
        assert_close(function(x.clone()), known.module()(x), rtol=0, atol=0)
        assert layers(Function(function)) == layers(nn.Sequential(nn.Linear(3, 3), known.module()))


def test_settings_of_functions_are_those_of_modules():
    for function, module in (
        (lambda x: F.leaky_relu(x, 0.2), nn.LeakyReLU(0.2)),
        (lambda x: F.gelu(x, approximate="tanh"), nn.GELU(approximate="tanh")),
    ):
        assert layers(Function(function)) == layers(nn.Sequential(nn.Linear(3, 3), module))
    with pytest.raises(UnsupportedError, match="the operation sigmoid"):
        trace(Function(lambda x: torch.sigmoid(x, out=x)), (3,), True)


def added(x, y):
    y += x
    return y


READ_AFTERWARDS = {
    "module": Function(lambda x, other: other(x) + x, nn.ReLU(inplace=True)),
    "function": Function(lambda x: F.leaky_relu(x, inplace=True) + x),
    "method": Function(lambda x: x.tanh_() + x),
    "dropout": Function(lambda x, other: other(x) + x, nn.Dropout(inplace=True)),
    "sum": Function(lambda x: added(torch.tanh(x), x) + x),
    "view": Function(lambda x: torch.relu_(x.chunk(1, 1)[0]) + x),
}


@pytest.mark.parametrize("module", READ_AFTERWARDS.values(), ids=READ_AFTERWARDS)
def test_what_was_overwritten_is_not_read(module):
    with pytest.raises(UnsupportedError, match="after it is overwritten in place"):
        trace(module, (3,), True)


def test_overwriting_what_nobody_reads_again_is_fine():
    network = Function(nn.Sequential(nn.ReLU(inplace=True), nn.Dropout(inplace=True)))
    kinds = [layer.kind for layer in trace(network, (3,), True).layers]
    assert kinds == [Kind.INPUT_DENSE, Kind.LINEAR, Kind.RELU, Kind.DROPOUT]
