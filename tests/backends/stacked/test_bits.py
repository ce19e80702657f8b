"""On a CPU no bit of a result depends on the company in which it was computed.

Not on how many jobs run at once, on their order, nor on whether a job is alone in its call. How
many threads do the tensor work is part of a run's settings and stays the same.
"""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from netsim.api import batched
from netsim.learning.refs import Ref


def plain_loss(model, batch, learned):
    return F.cross_entropy(model(batch.x), batch.y)


def rated(model, batch, theta):
    """A measurement, by products of odd sizes."""
    y = model(batch.x)
    return F.cross_entropy(y @ (y.T @ y), batch.y) + theta.square().mean()


@batched
def likeness(a, b):
    """Of two models, cut into odd pieces."""
    x, y = a[:510].view(34, 15), b[:510].view(34, 15)
    return torch.softmax((x @ y.T) / a.norm(), dim=1).mean(0)


def gossip(loss=None):
    """Nodes that wake at different times and mix what they find; what they have at the end."""
    seen = {}

    def program(node, keep):
        if node.id == 0:
            seen.clear()
        theta, state = node.initial(), None
        for k in range(3):
            yield node.sleep(0.3 + 0.37 * ((node.id * 7 + k) % 5))
            trained = yield node.train(
                theta,
                steps=1 + (node.id + k) % 3,
                optimizer=state,
                learning_rate=0.02 * (1 + node.id % 4),
                loss=loss,
            )
            theta, state = trained.theta, trained.optimizer
            seen[node.id] = theta
            others = [seen[j].owned_by(node.id) for j in list(seen)[:3]]
            theta = node.mix([theta, *others], [0.4] + [0.6 / len(others)] * len(others))
            keep(f"loss {k}", node.loss(theta, "train"))
        keep("theta", theta)
        keep("state", state)
        keep("gradient", node.gradient(theta))
        keep("outputs", node.outputs([theta, *others], node.batch()))
        keep("rated", node.measure(rated, theta, "train", given=(others[0],)))
        keep("likeness", node.compute(likeness, theta, others[0]))
        weights, after = node.select(
            [theta, *others], [5.0] * (1 + len(others)), [0.5] * len(others), None
        )
        keep("weights", weights)
        keep("selection", after)

    return program


class Convolutions(nn.Module):
    """Sizes that are no multiples of what a vector instruction takes."""

    def __init__(self, shape=(1, 8, 8), channels=(5, 7), kernel=3):
        super().__init__()
        a, b = channels
        self.features = nn.Sequential(
            nn.Conv2d(shape[0], a, kernel),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(a, b, 2, padding=1),
            nn.BatchNorm2d(b),
            nn.ReLU(),
            nn.Flatten(),
        )
        side = (shape[1] - kernel + 1) // 2 + 1
        self.head = nn.Linear(b * side * side, 10)

    def forward(self, x):
        return self.head(self.features(x))


class Smooth(nn.Module):
    """Functions whose last entries a CPU may compute in another way than the others."""

    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Flatten(),
            nn.Linear(64, 19),
            nn.GELU(),
            nn.LayerNorm(19),
            nn.Linear(19, 13),
            nn.Tanh(),
            nn.Linear(13, 11),
            nn.Sigmoid(),
            nn.GroupNorm(1, 11),
            nn.Dropout(0.3),
        )
        self.head = nn.Linear(11, 10)

    def forward(self, x):
        return self.head(self.features(x))


MODELS = {
    "mlp": {"kind": "mlp", "hidden": [33, 17]},
    "mlp of powers of two": {"kind": "mlp", "hidden": [64]},
    "normalised": {"kind": "iot_mlp", "hidden": 30},
    "linear": {"kind": "mlp", "hidden": []},
}
MODULES = {"convolutions": Convolutions, "smooth": Smooth}

CASES = [
    (name, dtype, 1 + (i + j) % 2)
    for i, name in enumerate([*MODELS, *MODULES])
    for j, dtype in enumerate(("float32", "float64"))
]
"""Every two of model, type and number of threads meet."""


@pytest.mark.slow
@pytest.mark.parametrize(("name", "dtype", "threads"), CASES)
def test_bits_do_not_depend_on_what_runs_together(
    name, dtype, threads, build, assert_bits_are_equal
):
    module = MODULES[name]() if name in MODULES else None
    built = build(
        module,
        model=MODELS.get(name, MODELS["mlp"]),
        training={"dtype": dtype, "momentum": 0.9, "batch_size": 7},
        nodes={"count": 10},
    )
    assert_bits_are_equal(built, gossip(), threads)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", [*MODELS, *MODULES])
def test_bits_of_training_by_a_loss_of_ones_own(name, dtype, build, assert_bits_are_equal):
    module = MODULES[name]() if name in MODULES else None
    built = build(
        module,
        model=MODELS.get(name, MODELS["mlp"]),
        training={"dtype": dtype, "momentum": 0.9, "batch_size": 7},
        nodes={"count": 7},
    )
    assert_bits_are_equal(built, gossip(plain_loss))


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", [*MODELS, *MODULES])
def test_bits_of_predictions(name, dtype, build, play):
    """One model at a time, all at once, and in another order."""
    module = MODULES[name]() if name in MODULES else None
    built = build(
        module,
        model=MODELS.get(name, MODELS["mlp"]),
        training={"dtype": dtype},
        nodes={"count": 9},
    )
    run = play(built, gossip())
    shards = run.simulation.learning.shards
    cells = run.simulation.learning.initial
    asked = [
        (Ref(i, cells[i]), shards.split_rows(i, s)) for i in range(9) for s in ("train", "test")
    ]
    together = run.backend.predictions(asked)
    alone = [run.backend.predictions([one])[0] for one in asked]
    backwards = run.backend.predictions(asked[::-1])[::-1]
    for a, b, c in zip(together, alone, backwards, strict=True):
        assert torch.equal(a, b)
        assert torch.equal(a, c)
