"""Jobs of both backends give the same values, in float64 to 1e-12 (Adam: 1e-9)."""

import dataclasses

import numpy as np
import pytest
import torch.nn.functional as F
from torch import nn

from netsim.errors import ComputeError

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


BY_FUNCTION = ("decay", "momentum clipped", "adam all")


@pytest.mark.thinned(42)
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(
    ("optimizer", "loss"), [(o, None) for o in OPTIMIZERS] + [(o, plain_loss) for o in BY_FUNCTION]
)
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


class Dropping(nn.Module):
    """Two layers that draw, behind a convolution."""

    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 3, 3), nn.Dropout(0.3), nn.ReLU(), nn.Flatten(), nn.Linear(108, 7)
        )
        self.dropout, self.head = nn.Dropout(0.5), nn.Linear(7, 10)

    def forward(self, x):
        return self.head(self.dropout(self.features(x)))


@pytest.mark.slow
def test_what_layers_drop_does_not_depend_on_the_company(both, assert_equal_values):
    def program(node, keep):
        a = yield node.train(node.initial(), steps=3 + node.id)
        keep("a", a.theta)
        b = yield node.train(a.theta, epochs=2, stream="other")
        keep("b", b.theta)

    alone, stacked = both(program, Dropping())
    assert not stacked.backend.one_by_one
    assert stacked.width > 1.5
    assert_equal_values(alone, stacked)


@pytest.mark.thinned(4)
@pytest.mark.parametrize("kinds", [2, 3])
def test_anchors_may_be_models_or_parameters_or_values(kinds, both, assert_equal_values):
    """Nodes that differ in what they keep near train in one level; BatchNorm has buffers."""

    def program(node, keep):
        first = (yield node.train(node.initial(), steps=2, stream="other")).theta
        both = [first, node.initial()]
        whole = node.mix(both, [0.5, 0.5])
        value = node.mix([t.part("parameters") for t in both], [0.5, 0.5])
        anchor = (value, whole, whole.part("parameters"))[node.id % kinds]
        trained = yield node.train(node.initial(), steps=4, anchor=(anchor, 0.7))
        keep("theta", trained.theta)

    # Rows longer than `LONG_VALUE` lie in slabs, one for each length.
    alone, stacked = both(program, model={"kind": "iot_mlp", "hidden": 32})
    assert_equal_values(alone, stacked)
    assert not stacked.backend.one_by_one


@pytest.mark.slow
@pytest.mark.parametrize("loss", [None, plain_loss], ids=["default", "given"])
def test_in_float32_the_median_node_stays_within_a_millionth(loss, both):
    """Ten SGD steps. A ReLU whose input is 0 but for rounding may flip: such nodes are counted."""

    def program(node, keep):
        keep("theta", (yield node.train(node.initial(), steps=10, loss=loss)).theta)

    training = {"dtype": "float32", "momentum": 0.9, "learning_rate": 0.1}
    alone, stacked = both(program, training=training, nodes={"count": 40})
    differences = [
        float((value - stacked.values[key]).abs().max()) for key, value in alone.values.items()
    ]
    assert len(differences) == 40
    assert np.median(differences) <= 1e-6
    flipped = sum(d > 1e-5 for d in differences)
    assert flipped <= 2, f"{flipped} nodes differ by more than rounding"


def test_a_node_may_train_two_models_at_once(both, assert_equal_values):
    def program(node, keep):
        first = node.train(node.initial(), steps=3)
        second = node.train(node.initial(), steps=2, stream="other", learning_rate=0.01)
        keep("first", (yield first).theta)
        keep("second", (yield second).theta)

    alone, stacked = both(program)
    assert stacked.width >= 12
    assert_equal_values(alone, stacked)


def test_models_of_several_kinds_train_side_by_side(both, assert_equal_values):
    def program(node, keep):
        trained = yield node.train(node.initial(), steps=3)
        keep("theta", trained.theta)
        keep("loss", node.loss(trained.theta))

    kinds = [{"kind": "mlp", "hidden": [9]}, {"kind": "iot_mlp", "hidden": 5}]
    alone, stacked = both(program, model=kinds)
    assert len({len(v) for k, v in alone.values.items() if k[1] == "theta"}) == 2
    assert stacked.width > 2
    assert_equal_values(alone, stacked)


@pytest.mark.parametrize("loss", [None, plain_loss], ids=["default", "given"])
def test_a_minibatch_of_one_sample_is_refused_by_batch_normalisation(loss, build, play):
    """As by torch: one sample has no variance. It is the node's fault who has no more."""

    def program(node, keep):
        keep("theta", (yield node.train(node.initial(), steps=2, loss=loss)).theta)

    built = build(model={"kind": "iot_mlp", "hidden": 5}, training={"batch_size": 7})
    rows = list(built.shards.rows)
    rows[4] = dataclasses.replace(rows[4], train=rows[4].train[:1])
    built.shards.rows = rows
    for backend in ("sequential", "stacked"):
        with pytest.raises(ComputeError, match=r"node 4 .*training of 2.*more than 1 value"):
            play(built, program, backend)
