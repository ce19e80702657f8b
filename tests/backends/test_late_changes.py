"""Models that change in a late pass: played as PyTorch does, or told what has changed."""

import pytest
import torch
from torch import nn

from netsim import api
from netsim.errors import ComputeError


class Late(nn.Module):
    """Layers, of which one changes in the third pass, when a counter of real numbers says so."""

    def __init__(self, change, is_free=True):
        super().__init__()
        torch.manual_seed(1)
        self.features = nn.Sequential(nn.Flatten(), nn.Linear(64, 6))
        self.middle, self.head = nn.Linear(6, 6).requires_grad_(is_free), nn.Linear(6, 10)
        self.register_buffer("count", torch.zeros(()))
        self.register_buffer("nothing", None)
        self.change = change

    def forward(self, x):
        if self.training:
            self.count += 1
            if self.count == 3:
                self.change(self)
        return self.head(self.middle(self.features(x)))


def free(model):
    model.middle.requires_grad_(True)


def freeze(model):
    model.middle.requires_grad_(False)


def replace(model):
    model.middle = nn.Identity()


def fill(model):
    model.nothing = torch.ones(())


def add(model):
    model.middle.register_buffer("more", torch.ones(()))


def drop(model):
    model.middle.bias = None


LATE = {
    free: "requires_grad of middle.weight",
    freeze: "requires_grad of middle.weight",
    replace: "in place of middle",
    fill: "in place of nothing",
    add: "adds middle.more",
    drop: "in place of middle.bias",
}


@pytest.mark.parametrize("change", LATE)
def test_a_late_change_of_a_module_ends_the_run_and_says_which(build, play, change):
    built = build(Late(change, is_free=change is not free))

    def program(node, keep):
        theta = node.initial()
        for _ in range(2):
            theta = (yield node.train(theta, steps=2)).theta
        keep("end", theta)

    with pytest.raises(ComputeError, match=LATE[change]):
        play(built, program, "sequential")


class InTurn(nn.Module):
    """Two experts, each of every other step."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(1)
        self.features = nn.Sequential(nn.Flatten(), nn.Linear(64, 6))
        self.experts = nn.ModuleList([nn.Linear(6, 6), nn.Linear(6, 6)])
        self.head = nn.Linear(6, 10)
        self.register_buffer("count", torch.zeros((), dtype=torch.float64))

    def forward(self, x):
        k = int(self.count) % 2
        if self.training:
            self.count += 1
        return self.head(torch.tanh(self.experts[k](torch.tanh(self.features(x)))))


ADAM = {"optimizer": "adam", "weight_decay": 0.1, "learning_rate": 0.01}


def test_adam_counts_the_steps_of_each_parameter_as_pytorch_does(build, play):
    built = build(InTurn(), training=ADAM)

    def program(node, keep):
        keep("start", node.initial())
        keep("end", (yield node.train(node.initial(), steps=5)).theta)

    played = play(built, program, "sequential")
    shards, model = built.shards, InTurn().double().train()
    size = sum(p.numel() for p in model.parameters())
    nn.utils.vector_to_parameters(played.values[0, "start"][:size].clone(), model.parameters())
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=0.1)
    keys = [api.BatchKey(0, "train", k) for k in range(5)]
    for batch in shards.in_batches_of(built.scenario.training.batch_size).batches(keys, 0):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(batch.x), batch.y).backward()
        optimizer.step()
    wanted = nn.utils.parameters_to_vector(model.parameters()).detach()
    assert torch.allclose(played.values[0, "end"][:size], wanted, rtol=0, atol=1e-12)


def test_a_state_of_adam_that_has_no_count_of_a_parameter_is_not_gone_on_with(build, play):
    built = build(InTurn(), training=ADAM)

    def program(node, keep):
        first = yield node.train(node.initial(), steps=3)
        keep("end", (yield node.train(first.theta, steps=1, optimizer=first.optimizer)).theta)

    with pytest.raises(ComputeError, match="begin each training with a new state"):
        play(built, program, "sequential")
