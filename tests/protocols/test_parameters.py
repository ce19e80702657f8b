"""Models at other parameters than their own."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from netsim.api import Batch, call_at, gradient_at, parameters_of


@pytest.fixture
def model():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 5), nn.BatchNorm1d(5), nn.ReLU(), nn.Linear(5, 3)).double()


@pytest.fixture
def batch():
    return Batch(torch.randn(6, 4).double(), torch.tensor([0, 1, 2, 0, 1, 2]))


def moved(model, row):
    """The same model with its parameters set to a row."""
    nn.utils.vector_to_parameters(row, model.parameters())
    return model


def test_a_call_elsewhere_is_a_call_of_the_model_moved_there(model, batch):
    own = parameters_of(model).detach().clone()
    there = own + torch.randn(len(own)).double()
    output = call_at(model, there, batch.x).detach()
    assert parameters_of(model).equal(own)
    assert output.equal(moved(model, there)(batch.x))


def test_a_gradient_elsewhere_leaves_the_model_and_its_statistics(model, batch):
    own = parameters_of(model).detach().clone()
    there = own + torch.randn(len(own)).double()
    found = gradient_at(model, there, batch)
    assert parameters_of(model).equal(own)
    assert not model[1].running_mean.any()
    F.cross_entropy(moved(model, there)(batch.x), batch.y).backward()
    expected = torch.cat([p.grad.view(-1) for p in model.parameters()])
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-14)


def test_gradients_go_through_a_call_and_through_a_gradient(model, batch):
    row = parameters_of(model).detach().requires_grad_()
    slope = gradient_at(model, row, batch)
    (second,) = torch.autograd.grad(slope.square().sum(), row)
    direction = torch.randn(len(row)).double()
    up, down = (
        gradient_at(model, row.detach() + d * direction, batch).square().sum()
        for d in (1e-6, -1e-6)
    )
    torch.testing.assert_close(second @ direction, (up - down) / 2e-6, rtol=1e-5, atol=1e-8)
