"""The stacked form of a model: its own modules, with the layers that have parameters replaced.

Whatever a forward pass does with samples one by one stays as it is written. What can't be stacked
(a layer with parameters that is not known here, or a pass that mixes samples) is found out when
the form is built, by running two lanes against the model itself.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

from netsim.compute.architecture import Architecture, Slice
from netsim.compute.masks import generator, seeded
from netsim.compute.stacked.batchnorm import StackedBatchNorm
from netsim.compute.stacked.chain import Chain, chain_of
from netsim.compute.stacked.convolution import StackedConv2d
from netsim.compute.stacked.dropout import StackedDropout
from netsim.compute.stacked.lanes import LEAST_LANES, Lanes
from netsim.compute.stacked.layers import (
    StackedEmbedding,
    StackedLayer,
    StackedLinear,
    StackedNorm,
)

LAYERS: tuple[type[StackedLayer], ...] = (
    StackedLinear,
    StackedConv2d,
    StackedBatchNorm,
    StackedNorm,
    StackedEmbedding,
    StackedDropout,
)

TAILS = {
    *("sigmoid", "silu", "softplus", "elu", "celu", "gelu", "mish", "log_sigmoid_forward"),
    *("log_sigmoid", "pow", "log1p", "expm1", "erf", "erfc", "sin", "cos", "tan", "atan", "asin"),
    *("acos", "sinh", "cosh", "logit", "selu", "softplus_backward", "gelu_backward"),
}
"""Functions whose last entries of a tensor a CPU computes in another way, with other bits."""

LONGEST_TAIL = 64
"""Entries, of vectors that go two at a time; one sample has more than one value of its layer."""

RANDOM = (nn.modules.dropout._DropoutNd, nn.RReLU)
"""Layers that draw; a probe would take one that hardly ever does so for one that does not."""

PROBE_LANES, PROBE_SAMPLES = 2, 3

LARGEST_VALUE = 10.0
"""Of a parameter in a probe."""

LARGEST_DIFFERENCE = 1e-5
"""Relative, in float64: three samples of a deep normalised network reach 1e-9 by rounding."""


class UnstackableError(Exception):
    """A model has no stacked form; says why."""


class Form:
    """An architecture over many lanes.

    Parameters
    ----------
    architecture : Architecture

    Raises
    ------
    UnstackableError
        If a layer has no stacked form.

    Attributes
    ----------
    lanes : Lanes
    module : torch.nn.Module
        Takes samples (W x B, ...) and gives outputs (W x B, L).
    """

    def __init__(self, architecture: Architecture) -> None:
        self.architecture = architecture
        self.lanes = Lanes(architecture.device, architecture.dtype)
        self.module = copy.deepcopy(architecture.module)
        self.chain: Chain | None = None
        self.has_tails = False
        self._bound: tuple[Tensor | None, Tensor | None, bool | None] = (None, None, None)
        slices = {s.name: s for s in architecture.slices}
        taken: set[str] = set()
        for name, layer in list(self.module.named_modules()):
            if type(layer) in _REPLACED:
                self._replace(name, layer, slices, taken)
        left = [n for n in slices if n not in taken]
        if left:
            raise UnstackableError(f"no stacked form of the layer that holds {left[0]}")
        for name, layer in self.module.named_modules():
            if isinstance(layer, RANDOM):
                raise UnstackableError(f"no stacked form of {type(layer).__name__} ({name})")

    def _replace(
        self, name: str, layer: nn.Module, slices: dict[str, Slice], taken: set[str]
    ) -> None:
        form = _REPLACED[type(layer)]
        reason = form.refuses(layer)
        if reason is not None:
            raise UnstackableError(f"no stacked form of {reason} ({name})")
        prefix = f"{name}." if name else ""
        own = {n.removeprefix(prefix): s for n, s in slices.items() if n.startswith(prefix)}
        if any(n not in own for n, _ in layer.named_parameters()):
            raise UnstackableError(f"layers share parameters ({name} and another)")
        taken.update(prefix + n for n in own)
        parent_name, _, child = name.rpartition(".")
        setattr(self.module.get_submodule(parent_name), child, form(layer, own, self.lanes))

    def bind(self, rows: Tensor, sinks: Tensor | None = None, training: bool = False) -> None:
        """Lay the lanes over rows (W, D); gradients go to sinks (W, P)."""
        bound = (rows, sinks, training)
        if all(a is b for a, b in zip(bound, self._bound, strict=True)):
            return
        self._bound = bound
        if self.module.training != training:
            self.module.train(training)
        self.lanes.bind(rows, sinks, training)

    def width_for(self, models: int, samples: int) -> int:
        """How many lanes a pass over so many models takes, of so many samples each."""
        spare = -(-LONGEST_TAIL // samples) if self.has_tails else 0
        return max(models + spare, LEAST_LANES)

    @torch.no_grad()
    def outputs(self, x: Tensor) -> Tensor:
        """Outputs (W x B, L) of samples (W x B, ...) of the lanes bound."""
        result: Tensor = self.module(x) if self.chain is None else self.chain.outputs(x)[0]
        return result

    def differentiate(self, x: Tensor, gradient_of: Callable[[Tensor], Tensor]) -> None:
        """Fill the sinks.

        Parameters
        ----------
        x : torch.Tensor
            (W x B, ...) samples.
        gradient_of : callable
            From outputs (W x B, L) to the gradient of whatever is to become small by them.
        """
        self.lanes.begin_step()
        if self.chain is None:
            y = self.module(x)
            y.backward(gradient_of(y.detach()))
        with torch.no_grad():
            if self.chain is not None:
                y, kept = self.chain.outputs(x)
                self.chain.backward(kept, gradient_of(y))
            self.lanes.end_step()

    def differs(self, x: Tensor) -> str | None:
        """Whether lanes differ from the models that they stand for, and how; None if they agree.

        Parameters
        ----------
        x : torch.Tensor
            (lanes x samples, ...) inputs to try.
        """
        size = len(x) // PROBE_LANES
        for training, counts in ((False, None), (True, None), (True, [size, size - 1])):
            worst = max(self._differences(x, training, counts), default=0.0)
            if not worst < LARGEST_DIFFERENCE:
                mode = "training" if training else "evaluation"
                return f"lanes differ from single models by {worst:.1e} in {mode}"
        return None

    def _differences(self, x: Tensor, training: bool, counts: list[int] | None) -> Iterator[float]:
        """Relative differences of outputs, gradients and buffers, lane by lane."""
        architecture, size = self.architecture, len(x) // PROBE_LANES
        row = architecture.row()
        scale = 1 + torch.arange(PROBE_LANES, device=row.device, dtype=row.dtype).unsqueeze(1) / 8
        # Whatever it holds now: a model that diverged must not decide what is a difference.
        rows = row.nan_to_num(0.5, 0.5, 0.5).clamp(-LARGEST_VALUE, LARGEST_VALUE) * scale
        alone = rows.clone()
        kept = torch.ones(PROBE_LANES, size, device=row.device, dtype=row.dtype)
        self.lanes.mask = self.lanes.counts = None
        self.lanes.sizes = counts or ()
        if counts is not None:
            self.lanes.counts = torch.tensor(counts).to(row)
            kept = (torch.arange(size).to(row) < self.lanes.counts.unsqueeze(1)).to(row)
            self.lanes.mask = kept
        sinks = torch.zeros_like(rows[:, : architecture.num_parameters])
        self.lanes.generators = [generator(row.device, i) for i in range(PROBE_LANES)]
        self.bind(rows, sinks, training)
        self.lanes.decay = 0.0
        given: list[Tensor] = []

        def itself(outputs: Tensor) -> Tensor:
            given.append(outputs.clone())
            return outputs * kept.view(-1, *[1] * (outputs.dim() - 1))

        self.differentiate(x, itself)
        (y,) = given
        for i in range(PROBE_LANES):
            gradient = torch.zeros_like(sinks[i])
            model = architecture.bind(alone[i], gradient, training)
            part = slice(i * size, i * size + (size if counts is None else counts[i]))
            with seeded(row.device, i):
                y_alone = model(x[part])
            torch.autograd.backward(y_alone, y_alone.detach())
            for ours, theirs in ((y[part], y_alone), (sinks[i], gradient), (rows[i], alone[i])):
                size_of = theirs.abs().max().clamp(min=1e-6)
                yield float(((ours - theirs).abs().max() / size_of).detach())


def build(architecture: Architecture, samples: Tensor) -> Form:
    """The stacked form of an architecture, tried out.

    Parameters
    ----------
    samples : torch.Tensor
        (n, ...) some inputs.

    Raises
    ------
    UnstackableError
        If it has none.
    """
    if architecture not in _TRIED:
        count = PROBE_LANES * PROBE_SAMPLES
        _TRIED[architecture] = _tried(
            architecture, samples[torch.arange(count, device=samples.device) % len(samples)]
        )
    reason, is_chain, has_tails = _TRIED[architecture]
    if reason is not None:
        raise UnstackableError(reason)
    form = Form(architecture)
    form.chain = chain_of(form.module) if is_chain else None
    form.has_tails = has_tails
    return form


_TRIED: WeakKeyDictionary[Architecture, tuple[str | None, bool, bool]] = WeakKeyDictionary()
"""Why a model has no stacked form; whether it is a chain, and has tails.

Trying takes a tenth of a second.
"""


class _Seen(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Notes whether an operation was among those of `TAILS`."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.tails = False

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        self.tails |= func.overloadpacket.__name__.rstrip("_") in TAILS
        return func(*args, **(kwargs or {}))


def _tried(a: Architecture, x: Tensor) -> tuple[str | None, bool, bool]:
    # In float64, where a difference can only be a mistake and never the order of a sum.
    double = Architecture(a.name, copy.deepcopy(a.module), a.device, torch.float64, a.num_outputs)
    x = x.double() if x.is_floating_point() else x
    try:
        trial = Form(double)
        with _Seen() as seen:
            reason = trial.differs(x)
    except UnstackableError as error:
        return str(error), False, False
    except Exception as error:  # whatever a forward pass may raise
        what = f"{type(error).__name__}: {error}"
        return f"its forward pass needs one model's samples: {what}", False, False
    trial.chain = chain_of(trial.module)
    is_chain = trial.chain is not None and _agrees(trial, x)
    return reason, is_chain, seen.tails and a.device.type == "cpu"


def _agrees(trial: Form, x: Tensor) -> bool:
    """Whether the chain of a form is what its module runs."""
    try:
        return trial.differs(x) is None
    except Exception:  # its module runs, so the chain is to blame
        return False


@lru_cache(maxsize=64)
def _activations(architecture: Architecture, shape: tuple[int, ...], kind: torch.dtype) -> int:
    counted = 0

    def count(module: nn.Module, inputs: tuple[Tensor, ...], output: Any) -> None:
        nonlocal counted
        counted += _values_in(output)
        if isinstance(module, nn.Conv2d):  # patches are the larger part of a stacked one
            counted += output[:, 0].numel() * module.weight[0].numel()

    leaves = [m for m in architecture.module.modules() if not list(m.children())]
    handles = [m.register_forward_hook(count) for m in leaves]
    try:
        sample = torch.zeros(shape, device=architecture.device, dtype=kind)
        architecture.bind(architecture.row())(sample)
    finally:
        for handle in handles:
            handle.remove()
    return counted


def _values_in(output: Any) -> int:
    """What a layer gives need not be one tensor."""
    if isinstance(output, Tensor):
        return output.numel()
    several = output if isinstance(output, tuple | list) else ()
    return sum(_values_in(one) for one in several)


def activations_per_sample(architecture: Architecture, sample: Tensor) -> int:
    """Values that a forward pass of one sample (1, ...) leaves for the backward pass."""
    with torch.no_grad():
        return _activations(architecture, tuple(sample.shape), sample.dtype)


_REPLACED = {kind: form for form in LAYERS for kind in form.replaces}
