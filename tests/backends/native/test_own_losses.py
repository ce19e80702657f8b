"""Losses of an algorithm's own, and dropout: the numbers are those of one after another."""

import importlib.util
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from netsim.api import CROP_FLIP_DRAWS, crop_and_flip, loss
from netsim.backends.native.kernel import Kernel
from netsim.backends.native.library import why_missing
from netsim.backends.native.portions import Portions
from netsim.errors import ComputeError

pytestmark = pytest.mark.skipif(why_missing() is not None, reason=str(why_missing()))

OPTIMIZERS = {
    "sgd": {"optimizer": "sgd", "momentum": 0.9, "weight_decay": 0.01},
    "clipped": {"optimizer": "sgd", "momentum": 0.5, "clip_norm": 0.3},
    "adam": {"optimizer": "adam", "learning_rate": 0.01, "weight_decay": 0.01, "clip_norm": 0.5},
}


def tolerance(optimizer):
    return 1e-9 if optimizer == "adam" else 1e-12


def ones(theta, count):
    return torch.linspace(0.5, 1.5, count).to(theta)


@loss(uniforms=CROP_FLIP_DRAWS)
def augmented(model, batch, learned):
    return F.cross_entropy(model(crop_and_flip(batch, 1)), batch.y)


@loss(uniforms=CROP_FLIP_DRAWS)
def augmented_with_terms(model, batch, learned, direction, strength):
    theta = torch.cat([p.reshape(-1) for p in model.parameters()])
    value = F.cross_entropy(model(crop_and_flip(batch, 1)), batch.y)
    return value + strength * torch.dot(theta, direction) / torch.linalg.vector_norm(theta)


def of_features(model, batch, learned, direction, strength):
    features = model.features(batch.x)
    twice = model(2 * batch.x)
    theta = torch.cat([p.reshape(-1) for p in model.features.parameters()])
    rest = strength * torch.dot(theta, direction[: len(theta)]) + features.square().mean()
    return F.cross_entropy(model.head(features), batch.y) + twice.square().mean() + rest


def of_learned(model, batch, learned, direction, strength):
    value = F.cross_entropy(model(batch.x) * learned["scale"], batch.y)
    return value + strength * learned["scale"].square().sum()


def given_of(node):
    return (node.compute(F.normalize, node.initial().part("parameters"), 2.0, 0), 0.3)


def trainings(node, keep, function, given, learn):
    """Steps of many numbers, states carried on, anchors, rates of their own."""
    theta, state = node.initial(), None
    for i in range(2):
        trained = yield node.train(
            theta,
            steps=1 + (2 * node.id + i) % 5,
            loss=function,
            given=given,
            learn=learn,
            optimizer=state,
            anchor=(node.initial(), 0.1 * i) if i else None,
            learning_rate=0.01 * (1 + node.id),
        )
        theta, learn = trained.theta, trained.learned
        state = trained.optimizer
    keep("theta", theta)
    keep("state", state)
    for name, value in learn.items():
        keep(name, value)


def plain(node, keep):
    yield from trainings(node, keep, augmented, (), {})


def terms(node, keep):
    yield from trainings(node, keep, augmented_with_terms, given_of(node), {})


def features(node, keep):
    yield from trainings(node, keep, of_features, given_of(node), {})


def learning(node, keep):
    learn = {"scale": node.compute(ones, node.initial(), 10)}
    yield from trainings(node, keep, of_learned, given_of(node), learn)


def default(node, keep):
    yield from trainings(node, keep, None, (), {})


class Normalised(nn.Module):
    """BatchNorm behind a convolution, and a head that runs by itself."""

    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten()
        )
        self.head = nn.Linear(4 * 3 * 3, 10)

    def forward(self, x):
        return self.head(self.features(x))


class Dropping(nn.Module):
    """Dropout on maps and on dense values."""

    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 3, 3), nn.Dropout(0.2), nn.ReLU(), nn.Flatten(),
            nn.Linear(108, 9), nn.Dropout(0.4),
        )  # fmt: skip
        self.head = nn.Linear(9, 10)

    def forward(self, x):
        return self.head(self.features(x))


PROGRAMS = [plain, terms, features, learning]


@pytest.mark.thinned(54)
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("module", [None, Normalised])
def test_own_losses(optimizer, program, module, build, play, assert_equal_values):
    training = {"learning_rate": 0.1, **OPTIMIZERS[optimizer]}
    built = build(module and module(), training=training)
    alone, native = (play(built, program, backend) for backend in ("sequential", "native"))
    assert not native.backend.one_by_one
    assert native.width > 1.2
    assert_equal_values(alone, native, tolerance(optimizer))


@pytest.mark.thinned(16)
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("program", [default, plain, terms, features, learning])
def test_dropout(optimizer, program, build, play, assert_equal_values):
    built = build(Dropping(), training=OPTIMIZERS[optimizer])
    alone, native = (play(built, program, backend) for backend in ("sequential", "native"))
    assert not native.backend.one_by_one
    assert native.width > 1.2
    assert_equal_values(alone, native, tolerance(optimizer))


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("program", [default, *PROGRAMS])
def test_bits_depend_neither_on_grouping_nor_on_threads(
    program, dtype, build, assert_bits_are_equal
):
    module = Dropping() if program is default else Normalised()
    built = build(module, training={"momentum": 0.9, "dtype": dtype})
    found = [
        assert_bits_are_equal(built, program, threads, "native")[0].values for threads in (1, 2, 3)
    ]
    for key, value in found[0].items():
        assert torch.isfinite(value).all()
        assert all(torch.equal(value, other[key]) for other in found)


@pytest.mark.parametrize("program", [plain, terms])
def test_the_kernel_moves_images_itself(program, build, play, monkeypatch):
    """With the bits that it has of images moved before; a model of dense values is given those."""
    built = build(Normalised(), training={"dtype": "float32", "momentum": 0.9})
    found = play(built, program, "native").values
    refuse = lambda *args: pytest.fail("images are moved before the kernel reads them")  # noqa: E731
    with monkeypatch.context() as patch:
        patch.setattr(Portions, "_changed_samples", refuse)
        again = play(built, program, "native").values
    monkeypatch.setattr(Kernel, "moves_images", False)
    before = play(built, program, "native").values
    assert found.keys() == again.keys() == before.keys()
    for key, value in found.items():
        assert torch.equal(value, again[key])
        assert torch.equal(value, before[key])


def by_value(model, batch, learned, direction, strength):
    """Another loss where a value is small: no single job tells what the others do."""
    value = F.cross_entropy(model(batch.x), batch.y)
    return value if float(direction.sum()) < 1.5 else 2 * value


def filled(theta, value):
    return torch.full((2,), value).to(theta)


def by_node(node, keep):
    given = (node.compute(filled, node.initial(), float(node.id)), 0.3)
    keep("theta", (yield node.train(node.initial(), steps=2, loss=by_value, given=given)).theta)


def test_a_loss_that_takes_values_is_no_cross_entropy(build, play, assert_equal_values):
    built = build()
    alone, native = (play(built, by_node, backend) for backend in ("sequential", "native"))
    assert_equal_values(alone, native)


def writes_samples(model, batch, learned):
    batch.x.masked_fill_((batch.y == 3).view(-1, 1, 1, 1), 0)
    return F.cross_entropy(model(batch.x), batch.y)


def writes_samples_and_reads_more(model, batch, learned):
    batch.x[batch.y == 3] = 0
    return F.cross_entropy(model(batch.x), batch.y) + model.features(batch.x).square().mean()


def writes_labels(model, batch, learned):
    labels = batch.y.view(-1)
    labels[labels == 3] = 4
    return F.cross_entropy(model(batch.x), batch.y)


@pytest.mark.parametrize("function", [writes_samples, writes_samples_and_reads_more, writes_labels])
def test_what_a_loss_writes_to_its_minibatch_counts(function, build, play, assert_equal_values):
    """The minibatch by which the backends are compared has none of the samples that change."""

    def program(node, keep):
        keep("theta", (yield node.train(node.initial(), steps=6, loss=function)).theta)

    few = {"kind": "dirichlet", "alpha": 0.1, "min_samples": 40}
    built = build(data={"kind": "digits", "partition": few})
    alone, native = (play(built, program, backend) for backend in ("sequential", "native"))
    assert_equal_values(alone, native)


SHIPPED = Path(__file__).parents[1] / "stacked" / "test_shipped_losses.py"
spec = importlib.util.spec_from_file_location("shipped_losses", SHIPPED)
shipped = importlib.util.module_from_spec(spec)
spec.loader.exec_module(shipped)
TWICE = "per_fedavg, exact and augmented"
"""Differentiates a gradient of the model, which the kernel does not."""


@pytest.mark.thinned(48)
@pytest.mark.parametrize("name", shipped.LOSSES)
def test_shipped_losses(name, build, play, assert_equal_values, by_pytorch):
    model, how = shipped.LOSSES[name]

    losses = set()

    def program(node, keep):
        theta, keys = node.initial(), how(node)
        losses.add(f"{keys['loss'].__module__}.{keys['loss'].__qualname__} with")
        for i in range(2):
            trained = yield node.train(theta, steps=2, **keys)
            theta = trained.theta
            keys |= {"learn": trained.learned} if trained.learned else {}
            keep(f"theta {i}", theta)
        for key, value in trained.learned.items():
            keep(key, value)

    built = build(model=model, training={"batch_size": 16, "learning_rate": 0.05})
    alone, native = (play(built, program, backend) for backend in ("sequential", "native"))
    assert_equal_values(alone, native)
    assert not native.backend.one_by_one
    assert not by_pytorch
    ways = native.simulation.finish(None)["engine"]["ways"]
    (loss_name,) = losses
    told = [way for subject, way in ways.items() if loss_name in subject and "PyTorch" in way]
    assert bool(told) == (name == TWICE)
    assert all(way.partition(": ")[2] for way in told), ways
    assert ways, "no job is told of"


def squared(model, batch, learned):
    return F.cross_entropy(model(batch.x), batch.y) ** 2


def smoothed(model, batch, learned):
    return F.cross_entropy(model(batch.x), batch.y, label_smoothing=0.1)


def of_other_labels(model, batch, learned):
    return F.cross_entropy(model(batch.x), batch.y.flip(0))


def changed_in_place(model, batch, learned):
    outputs = model(batch.x)
    outputs.mul_(2)
    return F.cross_entropy(outputs, batch.y)


def half(model, batch, learned):
    value = F.cross_entropy(model(batch.x), batch.y)
    return value + 0 * value


def of_its_own_samples(model, batch, learned):
    """Samples that depend on a parameter."""
    bias = model.head.bias
    return F.cross_entropy(model(batch.x * (1 + bias.sum())), batch.y)


OTHERS = [squared, smoothed, of_other_labels, changed_in_place, half, of_its_own_samples]


@pytest.mark.thinned(6)
@pytest.mark.parametrize("function", OTHERS)
def test_what_only_looks_like_a_cross_entropy(function, build, play, assert_equal_values):
    def program(node, keep):
        keep("theta", (yield node.train(node.initial(), steps=2, loss=function)).theta)

    built = build()
    alone, native = (play(built, program, backend) for backend in ("sequential", "native"))
    assert_equal_values(alone, native)
    refused = native.backend.one_by_one
    if function is of_its_own_samples:
        assert "learns what the features take" in next(iter(refused.values()))
    else:
        assert not refused


class Late(Dropping):
    """Draws behind its features."""

    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Flatten(), nn.Linear(64, 9), nn.ReLU())
        self.head = nn.Sequential(nn.Dropout(0.5), nn.Linear(9, 10))


def test_what_can_not_be_done_is_named(build, play, assert_equal_values):
    built = build(Late())
    alone, native = (play(built, features, backend) for backend in ("sequential", "native"))
    assert_equal_values(alone, native)
    (reason,) = native.backend.one_by_one.values()
    assert "draw in PyTorch" in reason


class Squared(nn.Module):
    """A parameter outside of layers, which the kernel does not know."""

    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(64))
        self.head = nn.Linear(64, 10)

    def forward(self, x):
        return self.head(self.scale * x.flatten(1))


def in_parts(node, keep):
    keep("theta", (yield node.train(node.initial(), steps=1, part="head")).theta)


def alone_default(node, keep):
    keep("theta", (yield node.train(node.initial(), steps=1)).theta)


@pytest.mark.thinned(3)
@pytest.mark.parametrize(
    ("module", "program", "backend", "reason"),
    [
        (Squared, alone_default, "native", "a parameter outside of layers"),
        (Squared, alone_default, "auto", "a parameter outside of layers"),
        (None, in_parts, "native", "the kernel trains whole models"),
        (None, alone_default, "stacked", ""),
        (None, alone_default, "sequential", ""),
    ],
)
def test_a_run_says_why_pytorch_computes_its_jobs(module, program, backend, reason, build, play):
    played = play(build(module and module()), program, backend)
    (way,) = played.simulation.finish(None)["engine"]["ways"].values()
    assert way.startswith("PyTorch, ")
    assert way.partition(": ")[2].startswith(reason)
    assert bool(way.partition(": ")[2]) == bool(reason)


def test_parts_are_told_of_beside_whole_models(build, play):
    """The kernel trains whole models: what it does of them hides nothing that it does not do."""

    def both(node, keep):
        head = (yield node.train(node.initial(), steps=1, part="head")).theta
        keep("theta", (yield node.train(head, steps=1)).theta)

    ways = play(build(), both, "native").simulation.finish(None)["engine"]["ways"]
    ((part, by_pytorch), (whole, by_kernel)) = sorted(ways.items(), reverse=True)
    assert part == f"{whole}, of its part head"
    assert by_pytorch.endswith(": the kernel trains whole models")
    assert by_kernel.startswith("native/")


def number(value):
    return torch.tensor(float(value), dtype=torch.float64)


def choosy(model, batch, learned, value):
    """Can't be trained with the value of one node."""
    if value.item() == 4.0:
        raise ArithmeticError("four is too many")
    return value * F.cross_entropy(model(batch.x), batch.y)


def test_an_error_names_the_node_whose_values_are_to_blame(build, play):
    def program(node, keep):
        yield node.sleep(0.5 * node.id)
        value = node.compute(number, node.id)
        trained = yield node.train(node.initial(), steps=3, loss=choosy, given=(value,))
        keep("theta", trained.theta)

    message = r"node 4 at 2 s: training of 3 steps with loss choosy.*four is too many"
    with pytest.raises(ComputeError, match=message):
        play(build(), program, "native")
