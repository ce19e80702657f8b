"""Losses that call the model with other parameters: the numbers are those of one after another."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from netsim.api import CROP_FLIP_DRAWS, call_at, crop_and_flip, gradient_at, loss, parameters_of
from netsim.backends.native.library import why_missing
from netsim.backends.native.training import NativeTraining

pytestmark = pytest.mark.skipif(why_missing() is not None, reason=str(why_missing()))


class Normalised(nn.Module):
    """Running statistics, which every call of the model changes, in the order of the calls."""

    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
            nn.Linear(36, 7), nn.BatchNorm1d(7),
        )  # fmt: skip
        self.head = nn.Linear(7, 10)

    def forward(self, x):
        return self.head(self.features(x))


class SmallMaps(nn.Module):
    """Weights that lie as a matrix a tap, some of whose taps meet padding alone."""

    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            *(nn.Conv2d(1, 16, 3, stride=2, padding=1), nn.ReLU()),
            *(nn.Conv2d(16, 17, 3, padding=1), nn.ReLU()),
            *(nn.Conv2d(17, 18, 3, stride=4, padding=1), nn.Flatten()),
        )
        self.head = nn.Linear(18, 10)

    def forward(self, x):
        return self.head(self.features(x))


class Dense(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Flatten(), nn.Linear(64, 9), nn.Tanh())
        self.head = nn.Linear(9, 10)

    def forward(self, x):
        return self.head(self.features(x))


class Dropping(Dense):
    """Draws a mask in every call."""

    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Flatten(), nn.Linear(64, 9), nn.Dropout(0.4))


def at_a_mixture(model, batch, learned, given):
    v = 0.3 * learned["v"] + 0.7 * parameters_of(model)
    return batch.loss(call_at(model, v, batch.x)) + 0.5 * batch.loss(model(batch.x))


def between_own_calls(model, batch, learned, given):
    """The job's own parameters first, then others; statistics of the own call come first."""
    own = batch.loss(model(batch.x))
    v = (learned["v"] + given) / 2
    return own + call_at(model, v, batch.x).square().mean()


def a_step_ahead(model, batch, learned, given):
    theta = parameters_of(model)
    half = len(batch.y) // 2
    slope = F.normalize(gradient_at(model, theta.detach(), batch), dim=0)
    logits = call_at(model, theta - 0.2 * slope + learned["v"], batch.x[half:])
    return F.cross_entropy(logits, batch.y[half:])


def by_differences(model, batch, learned, given):
    """A gradient without one of its own, along which two others are taken."""
    theta = parameters_of(model)
    h = gradient_at(model, theta.detach(), batch)
    ahead, behind = (batch.loss(call_at(model, theta + d * h, batch.x)) for d in (0.1, -0.1))
    return ahead - 0.5 * behind + (learned["v"] * h).sum()


def of_some_samples(model, batch, learned, given):
    """Own parameters on parts of the minibatch that overlap, and on all of it."""
    n = len(batch.y)
    first, second = model(batch.x[: n - 1]), model(batch.x[n // 2 :])
    value = F.cross_entropy(first, batch.y[: n - 1]) + second.square().mean()
    return value + 0.1 * learned["v"].square().sum() + model(batch.x).square().mean() / 9


def without_gradient(model, batch, learned, given):
    with torch.no_grad():
        z = model.features(batch.x)
        soft = model.head(z).softmax(1)
    return F.cross_entropy(model(batch.x), batch.y) + (learned["v"].sum() - soft).square().mean()


def of_parts(model, batch, learned, given):
    """Features at what is given, features at what is learned, and the own head of both."""
    length = sum(p.numel() for p in model.features.parameters())
    fixed = call_at(model.features, given[:length], batch.x)
    moved = call_at(model.features, learned["v"][:length], batch.x)
    return F.cross_entropy(model.head(fixed), batch.y) + model.head(moved).square().mean()


def masked(model, batch, learned, given):
    """Factors that are the same in every step, and a part with parameters of its own."""
    mask = (torch.arange(len(given)) % 3 > 0).to(given)
    z = call_at(model, parameters_of(model) * mask + learned["v"], batch.x)
    return F.cross_entropy(z, batch.y) + (call_at(model.features, given[: _length(model)],
        batch.x) * model.features(batch.x)).mean()  # fmt: skip


def _length(model):
    return sum(p.numel() for p in model.features.parameters())


@loss(uniforms=CROP_FLIP_DRAWS)
def of_changed_samples(model, batch, learned, given):
    x, half = crop_and_flip(batch, 1), len(batch.y) // 2
    theta = parameters_of(model)
    ahead = call_at(model, theta + learned["v"], x[:half])
    return F.cross_entropy(ahead, batch.y[:half]) + model(x[half:]).square().mean()


@loss(uniforms=CROP_FLIP_DRAWS)
def of_brighter_samples(model, batch, learned, given):
    """Samples that PyTorch makes, since the kernel can't."""
    x, half = batch.x * (1 + batch.uniforms[:, :1, None, None]), len(batch.y) // 2
    first, second = x.split([half, len(batch.y) - half])
    value = F.cross_entropy(call_at(model, learned["v"], second), batch.y[half:])
    return value + model(first).square().mean()


LOSSES = [
    at_a_mixture, between_own_calls, a_step_ahead, by_differences, of_some_samples,
    without_gradient, of_parts, masked, of_changed_samples, of_brighter_samples,
]  # fmt: skip


def nudged(theta):
    return theta + 0.1 * torch.linspace(-1, 1, len(theta)).to(theta)


def trainings(node, keep, function, steps=(3, 2)):
    """Steps of several sizes, the state of the optimiser carried on."""
    theta, state = node.initial(), None
    given = node.compute(nudged, theta.part("parameters"))
    learn = {"v": theta.part("parameters")}
    for number in steps:
        found = yield node.train(
            theta, steps=number, loss=function, given=(given,), learn=learn, optimizer=state,
            learning_rate=0.01 * (1 + node.id),
        )  # fmt: skip
        theta, state, learn = found.theta, found.optimizer, found.learned
    keep("theta", theta)
    keep("state", state)
    keep("v", learn["v"])


@pytest.mark.thinned(8)
@pytest.mark.parametrize("module", [Normalised, SmallMaps, Dense])
@pytest.mark.parametrize("function", LOSSES)
def test_losses_that_call_the_model_elsewhere(
    function, module, build, play, assert_equal_values, by_pytorch
):
    def program(node, keep):
        yield from trainings(node, keep, function)

    built = build(module(), training={"momentum": 0.9, "weight_decay": 0.01, "batch_size": 9})
    alone, native = (play(built, program, backend) for backend in ("sequential", "native"))
    assert not native.backend.one_by_one
    assert not by_pytorch, native.simulation.finish(None)["engine"]["ways"]
    assert_equal_values(alone, native, 1e-9)


@pytest.mark.thinned(4)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("function", [at_a_mixture, a_step_ahead, of_changed_samples, of_parts])
def test_bits_depend_neither_on_grouping_nor_on_threads(
    function, dtype, build, assert_bits_are_equal
):
    def program(node, keep):
        yield from trainings(node, keep, function, (1 + node.id % 3, 2))

    built = build(Normalised(), training={"momentum": 0.9, "dtype": dtype, "batch_size": 9})
    found = [
        assert_bits_are_equal(built, program, threads, "native")[0].values for threads in (1, 2, 3)
    ]
    for key, value in found[0].items():
        assert torch.isfinite(value).all()
        assert all(torch.equal(value, other[key]) for other in found)


def twice(model, batch, learned, given):
    """Goes back twice from one call."""
    z = call_at(model, learned["v"], batch.x)
    (g,) = torch.autograd.grad(z.sum(), learned["v"], retain_graph=True)
    return F.cross_entropy(z, batch.y) + (g.detach() * learned["v"]).sum()


def of_a_gradient(model, batch, learned, given):
    g = gradient_at(model, parameters_of(model), batch)
    return g.square().sum() + batch.loss(model(batch.x)) + learned["v"].sum()


def of_two_kinds(model, batch, learned, given):
    z = call_at(model, learned["v"], -batch.x)
    return F.cross_entropy(z, batch.y) + model(batch.x).square().mean()


def of_every_other(model, batch, learned, given):
    """A view of samples that is no run of them."""
    z = call_at(model, learned["v"], batch.x[::2])
    return F.cross_entropy(z, batch.y[::2]) + model(batch.x).square().mean()


def by_turns(model, batch, learned, given):
    """The own calls lie on both sides of another one, of which the statistics come between."""
    value = batch.loss(model(batch.x))
    value = value + batch.loss(call_at(model, learned["v"], batch.x))
    return value + model(batch.x).square().mean()


def of_statistics(model, batch, learned, given):
    """Reads what every call of the model changes."""
    value = batch.loss(model(batch.x)) + learned["v"].square().sum()
    return value * (1 + model.features[1].running_mean.square().sum())


@pytest.mark.slow
@pytest.mark.parametrize(
    "function", [twice, of_a_gradient, of_two_kinds, of_every_other, by_turns, of_statistics]
)
def test_what_is_left_to_pytorch(function, build, play, assert_equal_values, monkeypatch):
    seen = []
    monkeypatch.setattr(NativeTraining, "run", lambda self, *args: seen.append(args))

    def program(node, keep):
        yield from trainings(node, keep, function)

    built = build(Normalised())
    alone, native = (play(built, program, backend) for backend in ("sequential", "native"))
    assert not seen
    assert_equal_values(alone, native, 1e-9)


@pytest.mark.slow
def test_masks_are_drawn_in_the_order_of_calls(build, play, assert_equal_values):
    def program(node, keep):
        yield from trainings(node, keep, at_a_mixture)

    built = build(Dropping())
    alone, native = (play(built, program, backend) for backend in ("sequential", "native"))
    assert_equal_values(alone, native, 1e-9)
    ways = native.simulation.finish(None)["engine"]["ways"]
    assert "calls random layers with other parameters" in str(ways)
