"""Odd models, as people bring them: each is played right on every backend, or refused in words.

`ZOO` holds them by name. A model takes inputs (n, 16) or, where its name begins with `image`,
(n, 1, 4, 4), and gives four logits.
"""

import re
import threading
import warnings
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils import parametrizations, parametrize
from torch.utils.checkpoint import checkpoint

WIDTH, CLASSES = 16, 4
ZOO: dict[str, "Entry"] = {}


@dataclass(frozen=True)
class Entry:
    """One model, and what is to become of it.

    Attributes
    ----------
    make : callable
        () -> the module, or what stands for one.
    refused : str
        Words that its refusal holds; empty: it is played.
    is_random : bool
        Whether its plain loop has to be seeded as the engine does.
    """

    make: Any
    refused: str = ""
    is_random: bool = False

    def module(self) -> nn.Module:
        """The module, with the same initial values each time."""
        torch.manual_seed(5)
        return self.make()


def animal(refused="", is_random=False):
    """Put a class or function into the zoo; in its name capitals become words."""

    def put(make):
        snake = re.sub(r"(?<!^)(?=[A-Z])", "_", make.__name__).lower()
        ZOO[snake] = Entry(make, refused, is_random)
        return make

    return put


class Two(nn.Module):
    """Two layers, of which subclasses make something odd."""

    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = nn.Linear(WIDTH, 8), nn.Linear(8, 8), nn.Linear(8, CLASSES)
        self.odd()

    def odd(self):
        """Oddity, in one line."""

    def middle(self, h):
        return torch.tanh(self.b(h))

    def forward(self, x):
        return self.c(self.middle(torch.tanh(self.a(x))))


@animal()
class Plain(Two):
    pass


# -- shared tensors --------------------------------------------------------------------------------


@animal()
class TiedWeight(Two):
    def odd(self):
        self.d = nn.Linear(8, 8)
        self.d.weight = self.b.weight

    def middle(self, h):
        return torch.tanh(self.d(torch.tanh(self.b(h))))


@animal()
class TiedBias(Two):
    def odd(self):
        self.b.bias = self.a.bias


@animal()
class TiedTransposed(Two):
    def odd(self):
        self.d = nn.Linear(8, 8)
        self.d.weight = self.b.weight

    def middle(self, h):
        return torch.tanh(F.linear(self.b(h), self.d.weight.t()))


@animal()
class TiedHead(Two):
    """Words and their logits have one table."""

    def odd(self):
        self.table, self.out = nn.Embedding(CLASSES, 8), nn.Linear(8, CLASSES, bias=False)
        self.out.weight = self.table.weight

    def forward(self, x):
        return self.out(self.middle(self.table((x > 0).long()).mean(1) + torch.tanh(self.a(x))))


@animal()
class TiedNorms(Two):
    def odd(self):
        self.n, self.m = nn.LayerNorm(8), nn.LayerNorm(8)
        self.m.weight, self.m.bias = self.n.weight, self.n.bias

    def middle(self, h):
        return self.m(self.b(self.n(h)))


@animal()
class TiedStatistics(Two):
    def odd(self):
        self.n, self.m = nn.BatchNorm1d(8), nn.BatchNorm1d(8)
        self.m.running_mean = self.n.running_mean

    def middle(self, h):
        return self.m(self.b(self.n(h)))


@animal()
class TiedBatchNorm(Two):
    def odd(self):
        self.n, self.m = nn.BatchNorm1d(8), nn.BatchNorm1d(8)
        self.m.weight = self.n.weight

    def middle(self, h):
        return self.m(self.b(self.n(h)))


@animal()
class TiedRecurrent(Two):
    def odd(self):
        self.r, self.s = nn.GRUCell(8, 8), nn.GRUCell(8, 8)
        self.s.weight_hh = self.r.weight_hh

    def middle(self, h):
        return self.s(h, self.r(h))


class ImageNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Conv2d(1, 4, 3, padding=1), nn.Conv2d(4, 4, 3, padding=1)
        self.flat, self.c = nn.Flatten(), nn.Linear(64, CLASSES)
        self.odd()

    def odd(self):
        pass

    def middle(self, h):
        return torch.tanh(self.b(h))

    def forward(self, x):
        return self.c(self.flat(self.middle(torch.tanh(self.a(x)))))


ZOO["image_plain"] = Entry(ImageNet)


@animal()
class ImageTiedConvolutions(ImageNet):
    def odd(self):
        self.d = nn.Conv2d(4, 4, 3, padding=1)
        self.d.weight = self.b.weight

    def middle(self, h):
        return torch.tanh(self.d(torch.tanh(self.b(h))))


@animal()
class ImageTiedConvBias(ImageNet):
    def odd(self):
        self.b.bias = self.a.bias


@animal()
class LayerTwice(Two):
    def middle(self, h):
        return torch.tanh(self.b(torch.tanh(self.b(h))))


@animal()
def layer_twice_in_a_sequence():
    layer = nn.Linear(WIDTH, WIDTH)
    return nn.Sequential(layer, nn.Tanh(), layer, nn.Tanh(), nn.Linear(WIDTH, CLASSES))


@animal()
class TwoNames(Two):
    """One layer under two names, both called."""

    def odd(self):
        self.again = self.b

    def middle(self, h):
        return torch.tanh(self.again(torch.tanh(self.b(h))))


@animal()
class ListedAgain(Two):
    """The layers once more in a list, as many write it."""

    def odd(self):
        self.all = nn.ModuleList([self.a, self.b, self.c])

    def forward(self, x):
        for layer in self.all[:-1]:
            x = torch.tanh(layer(x))
        return self.all[-1](x)


@animal(refused="have their memory in common")
class OneMemory(Two):
    """Two parameters, one memory: what one learns the other has."""

    def odd(self):
        self.d = nn.Linear(8, 8)
        self.d.weight = nn.Parameter(self.b.weight.data)

    def middle(self, h):
        return torch.tanh(self.d(torch.tanh(self.b(h))))


@animal()
class CapturedByAHook(Two):
    """A hook that goes by another layer: a copy of the module would go by the first one's."""

    def odd(self):
        self.a.register_forward_hook(lambda layer, given, out: out + torch.tanh(self.b(out)))


@animal()
class CapturedByAForward(Two):
    def odd(self):
        self.b.forward = lambda h: F.linear(h, self.b.weight) * self.b.bias


# -- frozen parameters -----------------------------------------------------------------------------


@animal()
class FrozenLayer(Two):
    def odd(self):
        self.a.requires_grad_(False)


@animal()
class FrozenMiddle(Two):
    def odd(self):
        self.b.requires_grad_(False)


@animal()
class FrozenHead(Two):
    def odd(self):
        self.c.requires_grad_(False)


@animal()
class FrozenBias(Two):
    def odd(self):
        self.b.bias.requires_grad_(False)


@animal()
class FrozenAndTied(Two):
    def odd(self):
        self.d = nn.Linear(8, 8)
        self.d.weight = self.b.weight
        self.b.weight.requires_grad_(False)

    def middle(self, h):
        return torch.tanh(self.d(torch.tanh(self.b(h))))


@animal()
class FrozenNorm(Two):
    def odd(self):
        self.n = nn.BatchNorm1d(8).requires_grad_(False)

    def middle(self, h):
        return torch.tanh(self.b(self.n(h)))


@animal()
class ImageFrozen(ImageNet):
    def odd(self):
        self.a.requires_grad_(False)


@animal()
class MovedInItsPasses(Two):
    """A frozen layer follows another one, as the teacher of a momentum encoder does."""

    def odd(self):
        self.slow = nn.Linear(8, 8).requires_grad_(False)

    def middle(self, h):
        if self.training:
            with torch.no_grad():
                self.slow.weight.mul_(0.9).add_(self.b.weight, alpha=0.1)
        return super().middle(h) + self.slow(h)


@animal()
class SetsData(Two):
    """It clips weights, and a layer follows another one, by new data of parameters."""

    def odd(self):
        self.slow = nn.Linear(8, 8).requires_grad_(False)
        self.register_buffer("count", torch.zeros(()))

    def middle(self, h):
        if self.training:
            self.count += 1
            self.slow.weight.data = 0.9 * self.slow.weight.data + 0.1 * self.b.weight.data
            if self.count > 2:
                self.b.weight.data = self.b.weight.data.clamp(-0.2, 0.2)
        return super().middle(h) + self.slow(h)


@animal()
class ExpertsInTurn(Two):
    """Layers without a gradient in every other step."""

    def odd(self):
        self.d = nn.Linear(8, 8)
        self.register_buffer("count", torch.zeros(()))

    def middle(self, h):
        if self.training:
            self.count += 1
        return torch.tanh(self.b(h) if int(self.count) % 2 else self.d(h))


@animal(refused="frozen")
class AllFrozen(Two):
    def odd(self):
        self.requires_grad_(False)


@animal()
class FrozenByAHook(Two):
    """A part of one tensor, by a hook that zeroes its gradient."""

    def odd(self):
        self.b.weight.register_hook(_upper_half)


def _upper_half(gradient):
    return torch.cat([gradient[:4], torch.zeros_like(gradient[4:])])


@animal()
class Detached(Two):
    def middle(self, h):
        return torch.tanh(self.b(h)).detach() + h


@animal()
class WithoutGradient(Two):
    def middle(self, h):
        with torch.no_grad():
            return torch.tanh(self.b(h))


@animal()
class Unused(Two):
    def odd(self):
        self.never = nn.Linear(3, 3)


# -- buffers ---------------------------------------------------------------------------------------


@animal()
class CumulativeNorm(Two):
    def odd(self):
        self.n = nn.BatchNorm1d(8, momentum=None)

    def middle(self, h):
        return torch.tanh(self.b(self.n(h)))


class Counting(Two):
    """Layer that counts the passes in training; its output depends on the count."""

    first: torch.Tensor = torch.tensor(0)

    def odd(self):
        self.register_buffer("count", self.first.clone())

    def middle(self, h):
        if self.training:
            self.count += 1
        return torch.tanh(self.b(h)) * (1 + self.count.to(h.dtype) - self.first.to(h.dtype))


for _name, _first in {
    "counter_int64": torch.tensor(2**40 + 3),
    "counter_int32": torch.tensor(-(2**30), dtype=torch.int32),
    "counter_int16": torch.tensor(-5, dtype=torch.int16),
    "counter_uint8": torch.tensor(250, dtype=torch.uint8),
    "counter_int8": torch.tensor(-128, dtype=torch.int8),
}.items():
    ZOO[_name] = Entry(type(_name, (Counting,), {"first": _first}))


@animal()
class TruthValues(Two):
    """A mask that turns over in every pass."""

    def odd(self):
        self.register_buffer("mask", torch.arange(8) % 3 == 0)

    def middle(self, h):
        if self.training:
            self.mask.logical_not_()
        return torch.tanh(self.b(h)) * self.mask


@animal()
class CounterSetAnew(Two):
    def odd(self):
        self.register_buffer("count", torch.tensor(0))

    def middle(self, h):
        if self.training:
            self.count = self.count + 1
        return torch.tanh(self.b(h)) / (1 + self.count)


@animal()
class MeanInPlace(Two):
    def odd(self):
        self.register_buffer("mean", torch.zeros(8), persistent=False)

    def middle(self, h):
        if self.training:
            with torch.no_grad():
                self.mean.mul_(0.9).add_(h.mean(0), alpha=0.1)
        return torch.tanh(self.b(h - self.mean))


@animal()
class MeanSetAnew(Two):
    def odd(self):
        self.register_buffer("mean", torch.zeros(8))

    def middle(self, h):
        if self.training:
            self.mean = 0.9 * self.mean + 0.1 * h.detach().mean(0)
        return torch.tanh(self.b(h - self.mean))


@animal()
class WritesWhenLookedAt(Two):
    """Evaluations write to it, which is no part of a node's model."""

    def odd(self):
        self.register_buffer("seen", torch.zeros(()))

    def middle(self, h):
        if not self.training:
            self.seen += 1.0
        return torch.tanh(self.b(h)) * (1 + self.seen)


@animal()
class ConstantNumbers(Two):
    def odd(self):
        self.register_buffer("order", torch.arange(7, -1, -1))
        self.register_buffer("mask", torch.arange(8) < 6)

    def middle(self, h):
        return torch.tanh(self.b(h[:, self.order])) * self.mask


@animal(refused="float16")
class HalfBuffer(Two):
    def odd(self):
        self.register_buffer("scale", torch.ones(8, dtype=torch.float16))

    def middle(self, h):
        return h * self.scale


@animal(refused="complex")
class ComplexBuffer(Two):
    def odd(self):
        self.register_buffer("phase", torch.ones(8, dtype=torch.complex64))

    def middle(self, h):
        return (h * self.phase).real


@animal(refused="complex")
class ComplexParameter(Two):
    def odd(self):
        self.phase = nn.Parameter(torch.ones(8, dtype=torch.complex64))

    def middle(self, h):
        return (h * self.phase).real


@animal()
class OneMemoryForEntries(Two):
    def odd(self):
        self.register_buffer("scale", torch.full((1,), 0.5).expand(8))

    def middle(self, h):
        return self.b(h) * self.scale


@animal(refused="order is a parameter of int64.*register_buffer")
class WholeParameter(Two):
    def odd(self):
        self.order = nn.Parameter(torch.arange(7, -1, -1), requires_grad=False)

    def middle(self, h):
        return self.b(h[:, self.order])


@animal()
class WritesParametersWhenLookedAt(Two):
    """Rows of a table that are too long are shortened in each pass, in a look, too."""

    def odd(self):
        self.table = nn.Embedding(4, 8, max_norm=0.5)

    def middle(self, h):
        return self.b(h) + self.table((h > 0).long()).mean(1)


@animal()
class NoBuffer(Two):
    def odd(self):
        self.register_buffer("nothing", None)
        self.n = nn.BatchNorm1d(8, track_running_stats=False)

    def middle(self, h):
        return torch.tanh(self.b(self.n(h)))


# -- random numbers --------------------------------------------------------------------------------


@animal(is_random=True)
class FunctionalDropout(Two):
    def middle(self, h):
        return self.b(F.dropout(h, 0.5, self.training))


@animal(is_random=True)
class DropoutAlways(Two):
    def middle(self, h):
        return self.b(F.dropout(h, 0.5, True))


@animal(is_random=True)
class Noise(Two):
    def middle(self, h):
        return self.b(h + 0.1 * torch.randn_like(h) if self.training else h)


@animal(is_random=True)
class SkippedAtRandom(Two):
    """Stochastic depth, one draw a pass."""

    def middle(self, h):
        return h + self.b(h) if not self.training or torch.rand(()) < 0.5 else h


@animal(is_random=True)
class RecurrentDropout(Two):
    def odd(self):
        self.r = nn.LSTM(4, 8, num_layers=2, dropout=0.5, batch_first=True)

    def forward(self, x):
        return self.c(self.middle(self.r(x.unflatten(1, (4, 4)))[0][:, -1]))


@animal(is_random=True)
class AttentionDropout(Two):
    def odd(self):
        self.attention = nn.MultiheadAttention(4, 2, dropout=0.5, batch_first=True)

    def forward(self, x):
        x = x.unflatten(1, (4, 4))
        return super().forward(self.attention(x, x, x, need_weights=False)[0].flatten(1))


@animal(is_random=True)
class RandomSlopes(Two):
    def odd(self):
        self.f = nn.RReLU()

    def middle(self, h):
        return self.f(self.b(h))


@animal(is_random=True)
class DropoutLayer(Two):
    def odd(self):
        self.drop = nn.Dropout(0.5)

    def middle(self, h):
        return self.drop(torch.relu(self.b(h)))


@animal(is_random=True)
class BothDropouts(Two):
    def odd(self):
        self.drop = nn.Dropout(0.5)

    def middle(self, h):
        return F.dropout(self.drop(self.b(h)), 0.2, self.training)


@animal(is_random=True)
class DrawsLate(Two):
    """Draws from its third pass on, when a counter of real numbers says so."""

    def odd(self):
        self.register_buffer("count", torch.zeros(()))

    def middle(self, h):
        if self.training:
            self.count += 1
        return F.dropout(self.b(h), 0.5, self.training and bool(self.count > 2))


@animal(refused="NumPy")
class NumpyNoise(Two):
    def middle(self, h):
        return self.b(h) * float(np.random.rand())  # noqa: NPY002 - it is what is tested


@animal(refused="otherwise here than in a PyTorch loop|changes")
class OwnGenerator(Two):
    def odd(self):
        self.source = [torch.Generator().manual_seed(3)]

    def middle(self, h):
        return self.b(h) * torch.rand((), generator=self.source[0], dtype=h.dtype)


# -- parametrisations and hooks --------------------------------------------------------------------


@animal()
class WeightNorm(Two):
    def odd(self):
        parametrizations.weight_norm(self.b)


@animal()
class SpectralNorm(Two):
    def odd(self):
        parametrizations.spectral_norm(self.b)


@animal()
class Orthogonal(Two):
    def odd(self):
        parametrizations.orthogonal(self.b)


@animal()
class OldSpectralNorm(Two):
    def odd(self):
        torch.nn.utils.spectral_norm(self.b)


class _Symmetric(nn.Module):
    def forward(self, w):
        return w + w.t()


@animal()
def old_weight_norm():
    made = Two()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it is deprecated, and still brought
        torch.nn.utils.weight_norm(made.b)
    return made


@animal()
class Symmetric(Two):
    def odd(self):
        parametrize.register_parametrization(self.b, "weight", _Symmetric())


@animal()
class ScalingHook(Two):
    def odd(self):
        self.b.register_forward_hook(lambda module, args, out: 2 * out)


@animal()
class HookBefore(Two):
    def odd(self):
        self.b.register_forward_pre_hook(lambda module, args: (args[0] * 3,))


@animal()
class HookOnTheWayBack(Two):
    def odd(self):
        self.b.register_full_backward_hook(lambda m, into, out: (into[0] * 2,))


@animal()
class ImageHook(ImageNet):
    def odd(self):
        self.b.register_forward_hook(lambda module, args, out: 2 * out)


@animal()
def sequence_with_a_hook():
    made = nn.Sequential(nn.Linear(WIDTH, 8), nn.Tanh(), nn.Linear(8, CLASSES))
    made.register_forward_hook(lambda module, args, out: 2 * out)
    return made


@animal()
class SequenceOfItsOwn(nn.Sequential):
    """A sequence that does more than call one layer after another."""

    def __init__(self):
        super().__init__(nn.Linear(WIDTH, 8), nn.Tanh(), nn.Linear(8, CLASSES))

    def forward(self, x):
        return 2 * super().forward(x)


# -- control flow and shapes -----------------------------------------------------------------------


@animal()
class Branches(Two):
    def middle(self, h):
        return torch.tanh(self.b(h)) if float(h.detach().mean()) > 0 else self.b(h)


@animal()
class BranchesOnItsStatistics(nn.Module):
    """Model that branches from its third step on; all its layers are known to every backend."""

    def __init__(self):
        super().__init__()
        self.a, self.n, self.c = nn.Linear(WIDTH, 8), nn.BatchNorm1d(8), nn.Linear(8, CLASSES)

    def forward(self, x):
        h = torch.relu(self.n(self.a(x)))
        return self.c(h + h if self.n.running_mean.abs().sum() > 0.45 else h)


@animal()
class Loops(Two):
    def middle(self, h):
        for _ in range(1 + int(h.detach().abs().sum()) % 3):
            h = torch.tanh(self.b(h))
        return h


@animal()
class ShapesByValues(Two):
    def middle(self, h):
        chosen = h[h > 0]
        return self.b(h) + chosen.sum() / (1 + len(chosen))


@animal()
class EmptyBatches(Two):
    """A layer is called with the samples of a sort, of which there may be none."""

    def middle(self, h):
        some = h[h[:, 0] > 10]
        return torch.tanh(self.b(h)) + self.b(some).sum()


@animal()
class MixesSamples(Two):
    def middle(self, h):
        return torch.tanh(self.b(h - h.mean(0)))


@animal()
class CountsSamples(Two):
    def middle(self, h):
        return self.b(h) / len(h)


@animal()
class ImageChannelsLast(ImageNet):
    def odd(self):
        self.to(memory_format=torch.channels_last)

    def forward(self, x):
        return super().forward(x.contiguous(memory_format=torch.channels_last))


@animal()
class Expands(Two):
    def odd(self):
        self.scale = nn.Parameter(torch.ones(1))

    def middle(self, h):
        return self.b(h) * self.scale.expand(8)


@animal()
class Scalar(Two):
    def odd(self):
        self.scale = nn.Parameter(torch.tensor(1.5))

    def middle(self, h):
        return self.b(h) * self.scale


@animal()
class NothingInIt(Two):
    def odd(self):
        self.none = nn.Parameter(torch.zeros(0, 3))


@animal()
class InPlace(Two):
    def middle(self, h):
        h = self.b(h)
        return h.mul_(2.0).tanh_()


@animal()
class InPlaceOnInputs(Two):
    """Layer that writes over its samples, which other nodes read, too."""

    def forward(self, x):
        return super().forward(x.mul_(2.0).add_(0.1))


# -- kinds of layers -------------------------------------------------------------------------------


@animal()
class ListedParameters(Two):
    def odd(self):
        self.list = nn.ParameterList([nn.Parameter(torch.full((8,), k + 1.0)) for k in range(3)])

    def middle(self, h):
        return self.b(h * self.list[0]) + self.list[2]


@animal()
class NamedParametersInADict(Two):
    def odd(self):
        self.dict = nn.ParameterDict({"w": torch.eye(8), "b": torch.zeros(8)})

    def middle(self, h):
        return torch.tanh(h @ self.dict["w"] + self.dict["b"])


@animal()
class Recurrent(Two):
    def odd(self):
        self.r = nn.LSTM(4, 8, batch_first=True)

    def forward(self, x):
        return self.c(self.middle(self.r(x.unflatten(1, (4, 4)))[0][:, -1]))


@animal()
class Gated(Two):
    def odd(self):
        self.r = nn.GRU(4, 4, bidirectional=True, batch_first=True)

    def forward(self, x):
        return self.c(self.middle(self.r(x.unflatten(1, (4, 4)))[0][:, -1]))


@animal()
class Transformer(Two):
    def odd(self):
        self.t = nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0, batch_first=True)

    def forward(self, x):
        return super().forward(self.t(x.unflatten(1, (4, 4))).flatten(1))


@animal()
class ImageInstanceNorm(ImageNet):
    def odd(self):
        self.n = nn.InstanceNorm2d(4, affine=True, track_running_stats=True)

    def middle(self, h):
        return torch.tanh(self.n(self.b(h)))


@animal()
class ImageGroupNorm(ImageNet):
    def odd(self):
        self.n = nn.GroupNorm(2, 4)

    def middle(self, h):
        return torch.tanh(self.n(self.b(h)))


@animal()
class ImageTransposedConvolution(ImageNet):
    def odd(self):
        self.b = nn.ConvTranspose2d(4, 4, 3, padding=1)


@animal()
class ImageDilated(ImageNet):
    def odd(self):
        self.b = nn.Conv2d(4, 4, 3, padding=2, dilation=2, padding_mode="circular")


@animal()
class OneDimension(Two):
    def odd(self):
        self.v = nn.Conv1d(1, 1, 3, padding=1)

    def forward(self, x):
        return super().forward(self.v(x.unsqueeze(1)).squeeze(1))


@animal()
class Bilinear(Two):
    def odd(self):
        self.pair = nn.Bilinear(8, 8, 8)

    def middle(self, h):
        return torch.tanh(self.pair(h, self.b(h)))


@animal()
class Bags(Two):
    def odd(self):
        self.bag = nn.EmbeddingBag(5, 8)

    def middle(self, h):
        return self.b(h) + self.bag((h > 0).long() + 1)


@animal()
class LearnedSlope(Two):
    def odd(self):
        self.f = nn.PReLU()

    def middle(self, h):
        return self.f(self.b(h))


class _Doubled(torch.autograd.Function):
    """Its gradient is not that of its values."""

    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, gradient):
        return gradient * 5


@animal()
class OwnGradient(Two):
    def middle(self, h):
        return _Doubled.apply(torch.tanh(self.b(h)))


@animal()
class ComputedTwice(Two):
    def middle(self, h):
        return checkpoint(lambda h: torch.tanh(self.b(h)), h, use_reentrant=False)


@animal()
class EvaluationInTraining(Two):
    """Model that keeps its normalisation in evaluation mode, as fine-tuning often does."""

    def odd(self):
        self.n = nn.BatchNorm1d(8)
        self.n.running_mean.fill_(0.3)

    def train(self, mode=True):
        super().train(mode)
        self.n.eval()
        return self

    def middle(self, h):
        return torch.tanh(self.b(self.n(h)))


@animal()
class PutIntoEvaluationOnce(Two):
    """`train()` puts it back, in a loop as here."""

    def odd(self):
        self.n = nn.BatchNorm1d(8).eval()

    def middle(self, h):
        return torch.tanh(self.b(self.n(h)))


class Compiled(Two):
    """A part of it is a script."""

    def odd(self):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.b = torch.jit.script(self.b)


ZOO["compiled"] = Entry(Compiled, refused="TorchScript")


@animal()
class Keywords(Two):
    def forward(self, x, scale=2.0, *, shift=0.5):
        return super().forward(x * scale + shift)


# -- what is refused -------------------------------------------------------------------------------


@animal(refused="no parameters")
class NoParameters(nn.Module):
    def forward(self, x):
        return x[:, :CLASSES]


@animal(refused="tuple")
class GivesATuple(Two):
    def forward(self, x):
        return super().forward(x), x


@animal(refused="dict")
class GivesADict(Two):
    def forward(self, x):
        return {"logits": super().forward(x)}


@animal(refused="lazy")
class Lazy(Two):
    def odd(self):
        self.b = nn.LazyLinear(8)


@animal(refused="bfloat16")
def brain_float():
    return Two().to(torch.bfloat16)


@animal(refused="forward pass fails")
class TwoArguments(Two):
    def forward(self, x, y):
        return super().forward(x + y)


@animal(refused="changes .*calls")
class CountsInPython(Two):
    def odd(self):
        self.calls = 0

    def middle(self, h):
        self.calls += 1
        return torch.tanh(self.b(h)) if self.calls < 1000 else h


@animal(refused="changes .*hidden")
class CountsInAList(Two):
    """Its count shows later than in the steps that are compared."""

    def odd(self):
        self.hidden = [0]

    def middle(self, h):
        self.hidden[0] += 1
        return super().middle(h) * (2 if self.hidden[0] > 60 else 1)


class _Box:
    passes = 0


@animal(refused="changes box.passes")
class CountsInAnObject(Two):
    def odd(self):
        self.box = _Box()

    def middle(self, h):
        self.box.passes += 1
        return super().middle(h) * (2 if self.box.passes > 60 else 1)


@animal(refused="changes tau")
class AnnealsInATensor(Two):
    """Each pass changes it by less than rounding may in two steps."""

    def odd(self):
        self.tau = torch.tensor(1.0)

    def middle(self, h):
        if self.training:
            self.tau = self.tau * 0.9999
        return self.b(h) * self.tau


@animal(refused="changes t,")
class CountsInATensor(Two):
    def odd(self):
        self.t = torch.zeros(())

    def middle(self, h):
        self.t += 1
        return super().middle(h) * (2 if self.t > 60 else 1)


@animal(refused=r"changes box\.t,")
class CountsInAnArray(Two):
    def odd(self):
        self.box = _Box()
        self.box.t = np.zeros(1)

    def middle(self, h):
        self.box.t[0] += 1
        return super().middle(h) * (2 if self.box.t[0] > 60 else 1)


@animal()
class AddsUpInATensor(Two):
    """Something to look at, which no pass reads."""

    def odd(self):
        self.norms = torch.zeros(())

    def middle(self, h):
        self.norms += h.detach().norm().cpu().float()
        return super().middle(h)


@animal(refused="in place of b.weight")
class ReplacesAParameter(Two):
    def middle(self, h):
        if self.training:
            self.b.weight = nn.Parameter(self.b.weight.detach().clamp(-0.2, 0.2))
        return super().middle(h)


@animal(refused="adds mean")
class RegistersInAPass(Two):
    def middle(self, h):
        if not hasattr(self, "mean"):
            self.register_buffer("mean", torch.zeros_like(h[0]))
        self.mean = 0.9 * self.mean + 0.1 * h.detach().mean(0)
        return super().middle(h - self.mean)


@animal(refused="another shape")
class Grows(Two):
    def odd(self):
        self.register_buffer("queue", torch.zeros(1, 8))

    def middle(self, h):
        if self.training:
            self.queue = torch.cat([self.queue, h.detach().mean(0, keepdim=True)])
        return super().middle(h) + self.queue.sum(0)


@animal(refused="can't be copied")
class HoldsALock(Two):
    def odd(self):
        self.lock = threading.Lock()


@animal(refused="otherwise here than in a PyTorch loop")
class KeepsInPython(Two):
    """An average in an attribute, which nodes would have in common."""

    def odd(self):
        self.mean = [torch.zeros(8)]

    def middle(self, h):
        if self.training:
            self.mean[0] = 0.5 * self.mean[0].to(h) + h.detach().mean(0)
        return torch.tanh(self.b(h - self.mean[0].to(h)))


@animal()
class RemembersItsLastPass(Two):
    """An attribute that is written before it is read harms nobody."""

    def middle(self, h):
        self.last = torch.tanh(self.b(h))
        return self.last


@animal(refused="is none of the task|task needs")
class WrongWidth(Two):
    def odd(self):
        self.c = nn.Linear(8, CLASSES + 1)


@animal(refused="task needs")
class OneRowForAll(Two):
    def forward(self, x):
        return super().forward(x).mean(0, keepdim=True)


@cache
def samples(is_image):
    """Inputs, labels and who has them: three nodes with 12, 9 and 14 samples each, and tests."""
    draws = np.random.default_rng(2)
    users = np.repeat([0, 1, 2], [16, 12, 18])
    y = draws.integers(0, CLASSES, len(users))
    x = draws.normal(size=(len(users), WIDTH)) + 2 * np.eye(CLASSES, WIDTH)[y]
    return x.reshape(-1, 1, 4, 4) if is_image else x, y, users
