"""Jobs of both backends give the same values, in float64 to 1e-12 (Adam: 1e-9)."""

import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

OPTIMIZERS = {
    "sgd": {"optimizer": "sgd"},
    "decay": {"optimizer": "sgd", "weight_decay": 0.01},
    "momentum": {"optimizer": "sgd", "momentum": 0.9, "weight_decay": 0.01},
    "clipped": {"optimizer": "sgd", "clip_norm": 0.3},
    "momentum clipped": {"momentum": 0.9, "weight_decay": 0.01, "clip_norm": 0.3},
    "adam": {"optimizer": "adam", "learning_rate": 0.01},
    "adam all": {"optimizer": "adam", "weight_decay": 0.05, "clip_norm": 0.5, "beta1": 0.8},
}


class Normalised(nn.Module):
    """BatchNorm behind a bend: what only shifts its input would have a true gradient of 0.

    Rounding then decides what sign that gradient has, and Adam makes a step of it.
    """

    def __init__(self):
        super().__init__()
        layers = nn.Flatten(), nn.Linear(64, 12), nn.Tanh(), nn.BatchNorm1d(12)
        self.features, self.head = nn.Sequential(*layers), nn.Linear(12, 10)

    def forward(self, x):
        return self.head(self.features(x))


MODELS = {"mlp": None, "normalised": Normalised}


def tolerance(optimizer):
    return 1e-9 if OPTIMIZERS[optimizer].get("optimizer") == "adam" else 1e-12


def plain_loss(model, batch, learned):
    return F.cross_entropy(model(batch.x), batch.y)


def steps_of_many_numbers(node, keep, loss=None):
    """Different numbers of steps and rates, an epoch, and the state of each optimiser."""
    a = yield node.train(node.initial(), steps=1 + 2 * node.id, loss=loss)
    b = yield node.train(a.theta, epochs=1, learning_rate=0.01 * (1 + node.id), loss=loss)
    for name, trained in (("a", a), ("b", b)):
        keep(name, trained.theta)
        keep(name + " state", trained.optimizer)


def state_carried_on(node, keep, loss=None):
    state = None
    theta = node.initial()
    for _ in range(3):
        trained = yield node.train(theta, steps=2 + node.id % 2, optimizer=state, loss=loss)
        theta, state = trained.theta, trained.optimizer
    keep("theta", theta)
    keep("state", state)


def anchored(node, keep, loss=None):
    first = (yield node.train(node.initial(), steps=2, stream="other")).theta
    whole = yield node.train(node.initial(), steps=4, anchor=(first, 0.7), loss=loss)
    part = first.part("parameters")
    again = yield node.train(
        whole.theta, steps=3, anchor=(part, 0.2), optimizer=whole.optimizer, loss=loss
    )
    keep("whole", whole.theta)
    keep("part", again.theta)
    keep("state", again.optimizer)


@pytest.mark.parametrize("loss", [None, plain_loss], ids=["default", "given"])
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_local_training_is_that_of_one_node_after_another(
    optimizer, model, loss, both, assert_equal_values
):
    def program(node, keep):
        for part in (steps_of_many_numbers, state_carried_on, anchored):
            yield from part(node, lambda name, ref, p=part: keep(f"{p.__name__} {name}", ref), loss)

    module = MODELS[model] and MODELS[model]()
    training = {"learning_rate": 0.1, **OPTIMIZERS[optimizer]}
    alone, stacked = both(program, module, training=training)
    assert not stacked.backend.one_by_one
    assert stacked.width > 1.5
    assert_equal_values(alone, stacked, tolerance(optimizer))
