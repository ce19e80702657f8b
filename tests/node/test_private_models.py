"""Models of one's own in private training: as sample after sample, or refused in words."""

import pytest
import torch
from torch import nn

from netsim.api import Privacy
from netsim.errors import ComputeError


class Own(nn.Module):
    """Layers with something in between."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(1)
        self.features = nn.Sequential(nn.Flatten(), nn.Linear(64, 6))
        self.head = nn.Linear(6, 10)
        self.odd()

    def odd(self):
        """Tensors of its own."""

    def forward(self, x):
        return self.head(self.middle(torch.tanh(self.features(x))))


class Centred(Own):
    def middle(self, h):
        return h - h.mean(0)


class Counts(Own):
    def middle(self, h):
        return h / len(h)


class Remembers(Own):
    def odd(self):
        self.register_buffer("mean", torch.zeros(6, dtype=torch.float64))

    def middle(self, h):
        if self.training:
            self.mean = 0.9 * self.mean + 0.1 * h.detach().mean(0)
        return h - self.mean


class RemembersInPlace(Own):
    def odd(self):
        self.register_buffer("mean", torch.zeros(6, dtype=torch.float64))

    def middle(self, h):
        if self.training:
            with torch.no_grad():
                self.mean.mul_(0.9).add_(h.mean(0), alpha=0.1)
        return h - self.mean


class OfInstances(Own):
    def odd(self):
        self.norm = nn.InstanceNorm1d(2, track_running_stats=True)

    def middle(self, h):
        return self.norm(h.unflatten(1, (2, 3))).flatten(1)


REFUSED = {
    Centred: "depends on the others of its minibatch",
    Counts: "depends on the others of its minibatch",
    Remembers: "changes its buffer mean",
    RemembersInPlace: "changes its buffer mean",
    OfInstances: "changes its buffer norm.running_mean",
}


@pytest.mark.parametrize("kind", REFUSED)
def test_a_model_without_gradients_of_single_samples_is_refused(kind, learn):
    def process(node, found):
        found.theta = (yield node.train(node.initial(), steps=2, privacy=Privacy(1.0, 1.0))).theta

    with pytest.raises(ComputeError, match=f"private training takes .* {REFUSED[kind]}"):
        learn(process, module=kind())
