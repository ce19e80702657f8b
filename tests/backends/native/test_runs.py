"""Jobs of the native backend: the numbers of one node after another, whatever the grouping."""

import json

import pytest
import torch
from torch import nn

from netsim import engine, world
from netsim.backends.native.library import load_library, why_missing
from netsim.backends.route import Route
from netsim.scenario import from_dict

pytestmark = pytest.mark.skipif(why_missing() is not None, reason=str(why_missing()))

OPTIMIZERS = {
    "sgd": {"optimizer": "sgd"},
    "momentum": {"optimizer": "sgd", "momentum": 0.9, "weight_decay": 0.01},
    "clipped": {"momentum": 0.9, "weight_decay": 0.01, "clip_norm": 0.3},
    "adam": {"optimizer": "adam", "learning_rate": 0.01, "clip_norm": 0.5},
}


class Convolutions(nn.Module):
    """BatchNorm behind a padded convolution."""

    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 5, 3), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(5, 7, 2, padding=1, bias=False), nn.BatchNorm2d(7), nn.ReLU(), nn.Flatten(),
        )  # fmt: skip
        self.head = nn.Linear(7 * 4 * 4, 10)

    def forward(self, x):
        return self.head(self.features(x))


def program(node, keep):
    """Steps of many numbers, states carried on, anchors, and all that only looks."""
    mine = yield node.train(node.initial(), steps=1 + 2 * node.id)
    keep("trained", mine.theta)
    keep("state", mine.optimizer)
    after = yield node.train(
        mine.theta, epochs=1, learning_rate=0.01 * (1 + node.id), optimizer=mine.optimizer
    )
    whole = yield node.train(node.initial(), steps=3, anchor=(mine.theta, 0.7), stream="other")
    part = mine.theta.part("parameters")
    near = yield node.train(whole.theta, steps=2, anchor=(part, 0.2), optimizer=whole.optimizer)
    mixed = node.mix([after.theta, near.theta], [0.3, 0.7])
    once = yield node.train(mixed, steps=2)
    for name, ref in (("after", after.theta), ("near", near.theta), ("mixed", once.theta)):
        keep(name, ref)
    keep("outputs", node.outputs([mine.theta, once.theta], node.batch()))
    keep("loss", node.loss(once.theta))
    keep("gradient", node.gradient(once.theta))
    others = [after.theta, near.theta]
    weights, left = node.select([once.theta, *others], [5.0] * 3, [0.5] * 2, None)
    keep("weights", weights)
    keep("selection", left)


@pytest.mark.slow
@pytest.mark.parametrize("module", [None, Convolutions])
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_jobs_are_those_of_one_node_after_another(
    optimizer, module, build, play, assert_equal_values
):
    training = {"learning_rate": 0.1, **OPTIMIZERS[optimizer]}
    built = build(module and module(), training=training)
    alone, native = (play(built, program, backend) for backend in ("sequential", "native"))
    assert native.backend.name == "native"
    assert not native.backend.one_by_one
    assert native.width > 1.5
    assert_equal_values(alone, native, 1e-8 if optimizer == "adam" else 1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("module", [None, Convolutions])
def test_bits_depend_neither_on_grouping_nor_on_threads(
    module, dtype, build, assert_bits_are_equal
):
    built = build(module and module(), training={"momentum": 0.9, "dtype": dtype})
    first, *others = [
        assert_bits_are_equal(built, program, threads, "native")[0].values for threads in (1, 2, 3)
    ]
    assert all(torch.isfinite(value).all() for value in first.values())
    for other in others:
        assert all(torch.equal(value, other[key]) for key, value in first.items())


class Unknown(nn.Module):
    """Model with a layer that the kernel does not know."""

    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Flatten(), nn.Linear(64, 9), nn.PReLU())
        self.head = nn.Linear(9, 10)

    def forward(self, x):
        return self.head(self.features(x))


@pytest.mark.slow
def test_what_the_kernel_does_not_know_runs_as_without_it(build, play, assert_equal_values):
    built = build(Unknown())
    alone, native = (play(built, program, backend) for backend in ("sequential", "native"))
    assert native.backend.name != "native"
    assert_equal_values(alone, native, 1e-12)


@pytest.mark.slow
def test_the_instruction_set_is_pinned_and_another_is_told_where_it_is_missing(tmp_path):
    asked = from_dict(tables())
    summary = engine.play(world.build(asked), asked.algorithm[0], tmp_path / "run")
    assert summary["engine"]["backend"] == "native"
    text = (tmp_path / "run" / "scenario.toml").read_text()
    assert f'train = "native/{load_library().variant().name}"' in text
    strange = next(
        n for n in ("neon", "avx512") if n not in {v.name for v in load_library().variants}
    )
    name = next(line for line in text.splitlines() if "[run.routes." in line).split('"')[1]
    route = Route(train=f"native/{strange}").model_dump(exclude_none=True)
    again = from_dict({**tables(), "run": {"routes": {name: route}}})
    other = engine.play(world.build(again), again.algorithm[0], tmp_path / "other")
    assert other["parameters_sha256"] == summary["parameters_sha256"]  # of the best one here
    environment = json.loads((tmp_path / "other" / "environment.json").read_text())
    [told] = environment["routes"].values()
    assert told["train"] == f"native/{load_library().variant().name}"
    assert f'train = "native/{strange}": it does not run on this machine' in told["advice"]
    assert "numbers may differ" in told["advice"]


def tables():
    return {
        "horizon_s": 3.0,
        "nodes": {"count": 3},
        "exchange": {"schedule": "poisson", "rate_hz": 1.0},
        "data": {"kind": "digits", "partition": {"kind": "iid"}},
        "model": {"kind": "mlp", "hidden": [8]},
        "compute": {"kind": "fixed", "step_s": 0.1},
        "algorithm": {"kind": "local", "pace": "rounds", "local_steps": 2},
    }


def test_a_few_jobs_of_a_large_model_ask_for_memory_of_their_own(build, play, monkeypatch):
    """Rows at hand for later jobs are bounded in bytes, not in rows alone."""
    from netsim.backends.native import training

    asked, allocate = [], training.allocate
    monkeypatch.setattr(
        training, "allocate", lambda shape, *of: asked.append(shape) or allocate(shape, *of)
    )

    def mixed(node, keep):
        theta = node.mix([node.initial(), node.initial()], [0.5, 0.5])
        keep("once", node.compute(twice, (yield node.train(theta, steps=2)).theta))

    model = Convolutions()
    model.features.append(nn.Dropout(0.5))  # whose masks are made a few steps at a time
    built = build(model)
    plain = play(built, mixed, "native")
    rows = max(shape[0] for shape in asked)
    monkeypatch.setattr(training, "STARTS_AT_HAND_BYTES", 1)
    asked.clear()
    bounded = play(built, mixed, "native")
    assert max(shape[0] for shape in asked) <= len(built.roles) < rows
    for key, value in plain.values.items():
        assert torch.equal(value, bounded.values[key])


def twice(row):
    return 2.0 * row
