"""State that passes of a module keep in Python is found wherever they can reach it."""

import itertools
import random
from collections import deque
from functools import partial

import numpy as np
import pytest
import torch
from torch import nn

from netsim.learning.hidden_state import changed_names, hidden_state

TOTAL = [0]
SHARED = {"deep": {"passes": 0}}


class Box:
    __slots__ = ("passes",)

    def __init__(self):
        self.passes = 0


class Counts(nn.Module):
    """Each subclass counts elsewhere."""

    calls = 0

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 2)
        self.made()

    def made(self):
        pass

    def forward(self, x):
        self.count()
        return self.layer(x)

    def count(self):
        pass


def counting(make, count):
    """A class that makes a value and counts in it."""

    def made(self):
        self.kept = make()

    return type("Kept", (Counts,), {"made": made, "count": lambda self: count(self.kept)})


def closure():
    passes = 0

    def count():
        nonlocal passes
        passes += 1

    return count


def defaulted():
    def count(into=[0]):  # noqa: B006 - it is what is tested
        into[0] += 1

    return count


def generator():
    n = 0
    while True:
        n += 1
        yield n


class InItsClass(Counts):
    def count(self):
        type(self).calls += 1


class InAGlobal(Counts):
    def count(self):
        TOTAL[0] += 1


class InAGlobalFarDown(Counts):
    def count(self):
        (lambda: SHARED["deep"].update(passes=SHARED["deep"]["passes"] + 1))()


class InAHelper(Counts):
    def count(self):
        helper()


def helper():
    TOTAL[0] += 1


def add(box):
    box.passes += 1


KINDS = {
    "class": InItsClass,
    "global": InAGlobal,
    "dict of a global": InAGlobalFarDown,
    "helper": InAHelper,
    "slots": counting(Box, add),
    "deque": counting(partial(deque, [0]), lambda d: d.append(d.pop() + 1)),
    "set": counting(set, lambda s: s.add(len(s))),
    "closure": counting(closure, lambda f: f()),
    "default": counting(defaulted, lambda f: f()),
    "count": counting(itertools.count, next),
    "cycle": counting(lambda: itertools.cycle([1, 2, 3]), next),
    "iterator": counting(lambda: iter(range(99)), next),
    "generator": counting(generator, next),
    "Random": counting(lambda: random.Random(1), lambda r: r.random()),
    "NumPy's generator": counting(lambda: np.random.default_rng(1), lambda r: r.random()),
    "torch's generator": counting(torch.Generator, lambda g: torch.rand(1, generator=g)),
    "array": counting(lambda: np.zeros(3, int), lambda a: a.__iadd__(1)),
    "tensor": counting(lambda: torch.zeros(3, dtype=torch.int64), lambda t: t.add_(1)),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_counter_is_found(kind):
    module = nn.Sequential(KINDS[kind](), nn.ReLU())
    x = torch.ones(2, 2)
    module(x)
    before = hidden_state(module)
    assert not changed_names(before, hidden_state(module))
    module(x)
    assert changed_names(before, hidden_state(module))


def test_what_is_written_before_it_is_read_is_no_state():
    class Remembers(Counts):
        def forward(self, x):
            self.last = self.layer(x)
            self.largest = self.last.argmax(1)
            return self.last

    module = Remembers()
    module(torch.ones(2, 2))
    before = hidden_state(module)
    module(-torch.ones(2, 2))
    assert not changed_names(before, hidden_state(module))


def test_ours_and_circles_have_none():
    circle = counting(list, lambda one: None)()
    circle.kept.append(circle.kept)
    assert not changed_names(hidden_state(circle), hidden_state(circle))
