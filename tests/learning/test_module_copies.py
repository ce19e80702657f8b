"""Copies of modules, and memory that several of their tensors have in common."""

import copy
import types

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from netsim.errors import ScenarioError
from netsim.learning.module_copies import left_behind, shared_memory
from netsim.python_api.own_models import model_kind


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(6, 6), nn.Linear(6, 6)

    def forward(self, x):
        return self.second(torch.relu(self.first(x)))


def by_hook():
    net = Net()
    net.first.register_forward_hook(lambda layer, given, out: out + net.second(out))
    return net


def by_a_hook_before():
    net, weight = Net(), None
    weight = net.second.weight
    net.register_forward_pre_hook(lambda layer, given: (given[0] @ weight,))
    return net


def by_a_hook_backwards():
    net = Net()
    net.second.register_full_backward_hook(
        lambda layer, into, out: (into[0] * net.first.bias.mean(),)
    )
    return net


def by_a_forward_of_its_own():
    net = Net()
    net.first.forward = lambda x: F.linear(x, net.first.weight)
    return net


def by_an_attribute():
    net = Net()
    weight = net.first.weight
    net.scaled = lambda x: x @ weight
    return net


def by_a_default():
    net = Net()
    net.scaled = lambda x, layer=net.second: layer(x)
    return net


def by_a_view():
    net = Net()
    data = net.first.weight.data
    net.scaled = lambda x: x @ data
    return net


class Whole(Net):
    """Copies of it are itself."""

    def __deepcopy__(self, memo):
        return self


class Lent(Net):
    """Copies of it have its layers."""

    def __deepcopy__(self, memo):
        made = Lent()
        made.first = self.first
        return made


CAPTURED = [
    by_hook,
    by_a_hook_before,
    by_a_hook_backwards,
    by_a_forward_of_its_own,
    by_an_attribute,
    by_a_default,
    by_a_view,
    Whole,
    Lent,
]


@pytest.mark.parametrize("make", CAPTURED)
def test_a_copy_that_goes_on_with_the_first_module_is_told(make):
    net = make()
    assert left_behind(net, copy.deepcopy(net)) is not None
    with pytest.raises(ScenarioError, match=r"function that makes it|memory in common"):
        model_kind(net, "net")


def with_a_method():
    net = Net()
    net.forward = types.MethodType(Net.forward, net)
    net.also = net.first.forward
    return net


def with_layers_in_a_list():
    net = Net()
    net.layers = [net.first, {"second": net.second}]
    return net


def with_a_constant():
    net, mask = Net(), torch.ones(6)
    net.first.register_forward_hook(lambda layer, given, out: out * mask)
    return net


def with_an_alias():
    net = Net()
    object.__setattr__(net, "tied", net.first.weight)
    return net


@pytest.mark.parametrize(
    "make",
    [
        *(Net, with_a_method, with_layers_in_a_list, with_a_constant, with_an_alias),
        lambda: nn.LSTM(3, 4, 2),
        lambda: nn.utils.parametrizations.weight_norm(nn.Linear(3, 4)),
    ],
)
def test_a_copy_with_all_of_its_own_is_one(make):
    net = make()
    assert left_behind(net, copy.deepcopy(net)) is None
    assert shared_memory(net) is None
    model_kind(net, "net")


def sharing(how):
    net = Net()
    weight = net.first.weight
    if how == "a transpose":
        net.second.weight = nn.Parameter(weight.data.t())
    elif how == "some rows":
        net.third = nn.Parameter(weight.data[2:4])
    elif how == "a column":
        net.third = nn.Parameter(weight.data[:, 1])
    elif how == "a buffer":
        net.register_buffer("kept", weight.data)
    elif how == "a frozen copy":
        net.third = nn.Parameter(weight.data, requires_grad=False)
    elif how == "an attribute":
        net.kept = weight.detach()
    elif how == "an attribute in a list":
        net.kept = [weight.data.view(-1)]
    elif how == "one number for all":
        net.third = nn.Parameter(torch.ones(1, 1).expand(4, 3))
    return net


@pytest.mark.parametrize(
    "how",
    [
        *("a transpose", "some rows", "a column", "a buffer", "a frozen copy", "an attribute"),
        *("an attribute in a list", "one number for all"),
    ],
)
def test_memory_in_common_is_told(how):
    net = sharing(how)
    assert "memory" in shared_memory(net)
    with pytest.raises(ScenarioError, match="memory"):
        model_kind(net, "net")


def test_tensors_beside_each_other_have_nothing_in_common():
    net, flat = Net(), torch.randn(6, 20)
    net.first.weight, net.second.weight = nn.Parameter(flat[:, :6]), nn.Parameter(flat[:, 6:12])
    net.first.bias = net.second.bias
    net.table = flat[:, 12:]
    net.register_buffer("angles", torch.zeros(4, 4))
    net.cosines = net.angles[:2]
    assert shared_memory(net) is None
