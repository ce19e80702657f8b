"""Losses written down for the kernel: numbers are PyTorch's, and what can't be is left to it."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from netsim.api import VIEW_DRAWS, Augmentation, loss, supervised_contrastive_loss, two_views
from netsim.backends.native.library import load_library, why_missing
from netsim.backends.native.training import NativeTraining
from netsim.backends.native.views import use_variant
from netsim.protocols.augmentation import view

pytestmark = pytest.mark.skipif(why_missing() is not None, reason=str(why_missing()))


class Small(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 3, 3), nn.ReLU(), nn.Flatten(), nn.Linear(108, 9)
        )
        self.head = nn.Linear(9, 10)

    def forward(self, x):
        return self.head(self.features(x))


class SmallMaps(nn.Module):
    """Convolutions whose weights lie as a matrix a tap.

    The second one goes by tiles, and the last one has taps that meet padding.
    """

    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            *(nn.Conv2d(1, 16, 3, stride=2, padding=1), nn.ReLU()),
            *(nn.Conv2d(16, 16, 3, padding=1), nn.ReLU()),
            *(nn.Conv2d(16, 17, 3, stride=2, padding=1), nn.ReLU()),
            *(nn.Conv2d(17, 18, 3, stride=2, padding=1), nn.ReLU()),
            *(nn.Conv2d(18, 9, 3, padding=1), nn.Flatten()),
        )
        self.head = nn.Linear(9, 10)

    def forward(self, x):
        return self.head(self.features(x))


def table_of(like):
    draws = torch.Generator().manual_seed(3)
    return torch.randn(10, 9, generator=draws, dtype=torch.float64).to(like)


def elementwise(z, y, table, model):
    u, v = z.tanh(), z.sigmoid()
    w = torch.where(u > 0.1, u, v.square()) + F.relu(z - 0.2) + z.clamp(-0.5, 0.4) + z.abs()
    r = (2 - 0.5 * z).exp().sqrt() + (1 + z.square()).rsqrt() + (1.5 + v).log() + (1 + v) ** 1.7
    s = torch.maximum(u, v) * torch.minimum(z, u) - z.sign() * v / (1 + v) + 1 / (2 + v)
    return (w + r + s + torch.rsub(z, 3, alpha=2)).mean()


def reductions(z, y, table, model):
    a = z.sum(0).square().mean() + z.mean(1, keepdim=True).square().sum()
    b = z.logsumexp(1).mean() + z.amax(1).sum() + torch.linalg.vector_norm(z, dim=1).sum()
    return a + b + z.view(len(z), 3, 3).sum(2).square().mean() + z.norm() + z.abs().sum()


def shapes(z, y, table, model):
    twice = torch.cat([z, 2 * z]).repeat(1, 2)
    parts = torch.stack([z[:, 0], z[:, 3], z[:, -1]], dim=1)
    first, second = z.split([4, 5], dim=1)
    apart = parts.t().square().sum() + (first[:, 1:].T @ second).square().sum()
    return twice.square().mean() + apart + z[::2].sum() ** 2


def products(z, y, table, model):
    s = F.normalize(z, dim=-1)
    similarity = s @ s.T / 0.7 + torch.bmm(z[None], table.T[None])[0].sum()
    mask = ~torch.eye(len(z), dtype=torch.bool) & (y[:, None] == y)
    return (
        similarity.masked_fill(~mask, 0.0).exp().mean()
        + torch.dot(z[0], z[1])
        + (z @ table[0]).sum()
    )


def by_label(z, y, table, model):
    pulled = F.mse_loss(z, table[y]) + (z - torch.index_select(table, 0, y)).square().mean()
    logits = model.head(z)
    chosen = logits.gather(1, y[:, None]).square().mean() + F.embedding(y, table).mul(z).sum() / 7
    weight = model.head.weight
    return pulled + chosen + weight[y].square().mean() + F.nll_loss(logits.log_softmax(1), y)


def distilled(z, y, table, model):
    logits, soft = model.head(z), torch.softmax(z @ table.T, dim=1).detach()
    near = F.kl_div(F.log_softmax(logits / 3, dim=1), soft, reduction="batchmean")
    smooth = F.cross_entropy(logits, y, label_smoothing=0.1, reduction="sum")
    return near + smooth + F.mse_loss(logits.softmax(1), soft, reduction="sum")


def of_parameters(z, y, table, model):
    theta = torch.cat([p.reshape(-1) for p in model.parameters()])
    rest = sum(p.square().sum() for p in model.features.parameters())
    cosine = F.cosine_similarity(theta[:90], table.reshape(-1)[:90], dim=0)
    return F.cross_entropy(model.head(z), y) + 0.1 * cosine + 0.01 * rest + theta.norm()


def held_back(z, y, table, model):
    """Parts without a gradient, by `detach`."""
    fixed = torch.func.functional_call(
        model.head, {n: p.detach() for n, p in model.head.named_parameters()}, (z,)
    )
    return F.cross_entropy(fixed, y) + F.cross_entropy(model.head(z.detach()), y)


def in_place(z, y, table, model):
    total = torch.zeros_like(z)
    total.add_(z).mul_(2)
    return (total.square() + z.clone().add_(1)).mean()


def long_values(z, y, table, model):
    """More values than one chunk, read as they are written, moved, and together with their sum."""
    theta = torch.cat([p.reshape(-1) for p in model.parameters()])
    u = (2 * theta).tanh()
    v = u.square() + theta / 3
    twice = torch.cat([u, v * u.sum()])
    moved = twice[7 : 7 + len(u)] * u + v
    near = (moved[1:] * u.clone()[:-1]).sum() + torch.dot(u, v) + (u * table.sum()).abs().mean()
    return F.cross_entropy(model.head(z), y) + 1e-3 * near + 1e-3 * moved.norm()


def of_some_labels(z, y, table, model):
    """A class that does not count, rows from the end, truth values: only some labels show them."""
    logits = model.head(z)
    ignored = F.cross_entropy(logits, y, ignore_index=7, reduction="sum")
    smooth = F.cross_entropy(logits, y, ignore_index=3, label_smoothing=0.1, reduction="sum")
    before = (z * table[y - 1]).mean() + model.head.weight[y - 4].square().mean()
    either = (z > 0) + (z > 0.2)  # one truth value, not a count
    copied = torch.zeros(len(y), dtype=torch.bool).copy_(y)
    truths = y.bool().to(z.dtype) + copied + either.sum(1)
    return ignored + smooth + before + (z.mean(1) * truths).mean()


KINDS = [
    elementwise, reductions, shapes, products, by_label, distilled,
    of_parameters, held_back, in_place, long_values, of_some_labels,
]  # fmt: skip


def whole(model, batch, learned, table, kind):
    return KINDS[kind](model.features(batch.x), batch.y, table, model)


def trained(node, keep, function, *given, steps=3, **keys):
    table = node.compute(table_of, node.initial(), like=(10, 9))
    found = yield node.train(
        node.initial(), steps=steps, loss=function, given=(table, *given), **keys
    )
    keep("theta", found.theta)
    for name, value in found.learned.items():
        keep(name, value)


@pytest.mark.thinned(11)
@pytest.mark.parametrize("kind", range(len(KINDS)), ids=[f.__name__ for f in KINDS])
def test_operations(kind, build, play, assert_equal_values, by_pytorch):
    def program(node, keep):
        yield from trained(node, keep, whole, kind)

    built = build(Small(), training={"learning_rate": 0.01})
    alone, native = (play(built, program, backend) for backend in ("sequential", "native"))
    assert not native.backend.one_by_one
    assert not by_pytorch
    assert_equal_values(alone, native, 1e-9)


@pytest.mark.thinned(3)
@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
@pytest.mark.parametrize("kind", [of_parameters, held_back, distilled])
def test_losses_read_parameters_wherever_they_lie(
    kind, optimizer, build, play, assert_equal_values, by_pytorch
):
    def program(node, keep):
        yield from trained(node, keep, whole, KINDS.index(kind))

    built = build(SmallMaps(), training={"optimizer": optimizer, "learning_rate": 0.01})
    alone, native = (play(built, program, backend) for backend in ("sequential", "native"))
    assert not native.backend.one_by_one
    assert not by_pytorch
    assert_equal_values(alone, native, 1e-7 if optimizer == "adam" else 1e-9)


def reads(model, batch, learned, table):
    z = model.features(batch.x)
    return F.cross_entropy(model.head(z), batch.y) * (2 if float(z.detach().sum()) > 0 else 1)


def evaluated(model, batch, learned, table):
    value = F.cross_entropy(model(batch.x), batch.y)
    return value + model.features(-batch.x).square().mean()


def of_samples(model, batch, learned, table):
    """Reads samples beside the model."""
    return F.cross_entropy(model(batch.x), batch.y) * batch.x.mean()


def of_detached(model, batch, learned, table):
    """Samples that depend on a parameter whose gradient is not wanted."""
    x = batch.x * (1 + model.head.bias.detach().sum())
    return F.cross_entropy(model(x), batch.y)


def views_of_one(model, batch, learned, table):
    """Writes through one view what another reads."""
    z = model.features(batch.x)
    room = torch.zeros(len(z), 9, dtype=z.dtype)
    room[:, :4].copy_(z[:, :4])
    return F.cross_entropy(model.head(z), batch.y) + (room * z).mean()


def rounds(model, batch, learned, table):
    """A number cut to a whole one, which shows only where it is at least 1."""
    z = model(batch.x)
    return F.cross_entropy(z, batch.y) + (z * (3 * z.detach()).to(torch.int64)).mean()


OTHERS = [reads, evaluated, of_samples, of_detached, views_of_one, rounds]


@pytest.mark.slow
@pytest.mark.parametrize("function", OTHERS)
def test_what_is_left_to_pytorch(function, build, play, assert_equal_values, monkeypatch):
    """Losses of which a program could only be a wrong one."""
    seen = []
    monkeypatch.setattr(NativeTraining, "run", lambda self, *args: seen.append(args))

    def program(node, keep):
        yield from trained(node, keep, function)

    built = build(Small())
    alone, native = (play(built, program, backend) for backend in ("sequential", "native"))
    assert not seen
    assert_equal_values(alone, native, 1e-9)


@loss(uniforms=2 * VIEW_DRAWS)
def contrast(model, batch, learned, table):
    z, y = model.features(two_views(batch, Augmentation())), batch.y.repeat(2)
    value = supervised_contrastive_loss(z, y, 0.5) + F.mse_loss(z, (table + learned["P"])[y])
    return value + F.cross_entropy(model.head(z[: len(batch.y)]), batch.y)


def contrasted(node, keep):
    learn = {"P": node.compute(table_of, node.initial(), like=(10, 9))}
    for _ in range(3):
        yield from trained(node, keep, contrast, steps=3, learn=learn)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_bits_depend_neither_on_grouping_nor_on_threads(dtype, build, assert_bits_are_equal):
    built = build(Small(), training={"optimizer": "adam", "learning_rate": 1e-3, "dtype": dtype})
    found = [
        assert_bits_are_equal(built, contrasted, threads, "native")[0].values
        for threads in (1, 2, 3)
    ]
    for key, value in found[0].items():
        assert torch.isfinite(value).all()
        assert all(torch.equal(value, other[key]) for other in found)


@pytest.mark.slow
def test_two_views_and_what_is_learned(build, play, assert_equal_values, by_pytorch):
    built = build(Small(), training={"optimizer": "adam", "learning_rate": 1e-3})
    alone, native = (play(built, contrasted, backend) for backend in ("sequential", "native"))
    assert not native.backend.one_by_one
    assert not by_pytorch
    assert_equal_values(alone, native, 1e-9)


@pytest.mark.parametrize("shape", [(40, 3, 32, 32), (9, 1, 28, 28), (20, 3, 17, 23), (5, 2, 4, 5)])
def test_views_are_those_of_pytorch(shape):
    draws = torch.Generator().manual_seed(5)
    x = torch.randn(shape, generator=draws, dtype=torch.float64)
    uniforms = torch.rand(len(x), VIEW_DRAWS, generator=draws, dtype=torch.float64)
    scale = (
        tuple(0.4 + 0.1 * k for k in range(shape[1])),
        tuple(0.2 + 0.1 * k for k in range(shape[1])),
    )
    how = Augmentation(hue=1.0)
    wanted = view(x, uniforms, how, scale)
    for variant in load_library().variants:
        with use_variant(variant):
            found = view(x, uniforms, how, scale)
        assert (found - wanted).abs().max() < 1e-12
