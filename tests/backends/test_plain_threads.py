"""Trainings in plain PyTorch give equal bits whatever number of threads takes them."""

import threading

import pytest
import torch
from torch import nn

from netsim.backends import plain_threads
from netsim.backends.sharing import Sharing
from netsim.errors import ComputeError


class Net(nn.Module):
    """Dropout twice, running statistics, and a layer that is used twice."""

    def __init__(self):
        super().__init__()
        self.first, self.norm = nn.Linear(64, 12), nn.BatchNorm1d(12)
        self.twice, self.head = nn.Linear(12, 12), nn.Linear(12, 10)
        self.some, self.more = nn.Dropout(0.3), nn.Dropout(0.5)

    def forward(self, x):
        x = self.some(torch.relu(self.norm(self.first(x.flatten(1)))))
        return self.head(self.more(torch.tanh(self.twice(self.twice(x)))))


def own_loss(model, batch, learned, near):
    away = (model.head.weight - near[: 12 * 10].view(10, 12)).square().sum()
    return batch.loss(model(batch.x)) + 0.1 * away + learned["shift"].square().sum()


def failing(model, batch, learned, number):
    raise ZeroDivisionError(f"node {number}")


def program(node, keep):
    theta, shift = node.initial(), node.compute(ones, like=(2,))
    first = yield node.train(theta, steps=3)
    own = yield node.train(
        first.theta, steps=2, loss=own_loss, given=(theta,), learn={"shift": shift}
    )
    on = yield node.train(own.theta, steps=2, optimizer=first.optimizer, anchor=(theta, 0.3))
    for name, ref in {"first": first.theta, "own": own.theta, "on": on.theta}.items():
        keep(name, ref)
    keep("state", on.optimizer)


def ones():
    return torch.ones(2)


@pytest.fixture
def at_work(monkeypatch):
    """Names of the threads that ran jobs; several are tried however busy the machine is."""
    names = []
    run = plain_threads.ThreadPlain.run

    def noted(self, job):
        names.append(threading.current_thread().name)
        return run(self, job)

    monkeypatch.setattr(Sharing, "is_worthwhile", lambda self: True)
    monkeypatch.setattr(plain_threads.ThreadPlain, "run", noted)
    return names


@pytest.mark.thinned(2)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_one_two_and_three_threads_give_equal_bits(build, play, at_work, dtype):
    built = build(Net(), training={"dtype": dtype, "momentum": 0.5})
    alone, *others = (play(built, program, "sequential", threads=n) for n in (1, 2, 3))
    assert len(at_work) == 2 * 6 * 3  # all trainings of six nodes, with two and with three
    assert alone.values
    for other in others:
        for key, value in alone.values.items():
            assert torch.equal(other.values[key], value), key


def test_the_first_job_that_fails_is_named_whoever_ran_it(build, play, at_work):
    built = build(training={"dtype": "float32"})

    def fails(node, keep):
        trained = yield node.train(node.initial(), steps=1, loss=failing, given=(node.id,))
        keep("end", trained.theta)

    for threads in (1, 3):
        with pytest.raises(ComputeError, match=r"node 0 at .*ZeroDivisionError: node 0"):
            play(built, fails, "sequential", threads=threads)
    assert len(at_work) == 6


class Drawn(nn.Module):
    """Random otherwise than by dropout: nodes run one after another."""

    def __init__(self):
        super().__init__()
        self.head = nn.Linear(64, 10)

    def forward(self, x):
        return self.head(x.flatten(1) + 0.1 * torch.randn(()) * self.training)


class Inplace(nn.Module):
    """Dropout that PyTorch does in place, of which threads have no form."""

    def __init__(self):
        super().__init__()
        self.some, self.head = nn.Dropout(0.3, inplace=True), nn.Linear(64, 10)

    def forward(self, x):
        return self.some(self.head(x.flatten(1)))


@pytest.mark.parametrize("make", [Drawn, Inplace])
def test_what_threads_have_no_form_of_stays_with_one(build, play, at_work, make):
    def trains(node, keep):
        keep("end", (yield node.train(node.initial(), steps=2)).theta)

    built = build(make(), training={"dtype": "float32"})
    one, two = (play(built, trains, "sequential", threads=n) for n in (1, 2))
    assert not at_work
    assert all(torch.equal(two.values[key], value) for key, value in one.values.items())


def hooked():
    """A layer that takes another one's outputs, too: copies of the module keep the first one's."""
    net = Net()
    net.first.register_forward_hook(lambda layer, given, out: out + torch.tanh(net.twice(out)))
    return net


def test_a_module_whose_copies_are_not_its_own_stays_with_one_thread(build, play, at_work):
    def trains(node, keep):
        keep("end", (yield node.train(node.initial(), steps=2)).theta)

    built = build(hooked(), training={"dtype": "float32"})
    one, two = (play(built, trains, "sequential", threads=n) for n in (1, 2))
    assert not at_work
    assert one.values
    assert all(torch.equal(two.values[key], value) for key, value in one.values.items())
