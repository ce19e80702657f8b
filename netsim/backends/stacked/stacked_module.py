"""The stacked form of a model: its own modules, with the layers that have parameters replaced.

Whatever a forward pass does with samples one by one stays as it is written. What can't be stacked
(a layer with parameters that is not known here, or a pass that mixes samples) is found out by
`netsim.backends.stacked.equivalence_check`, which builds a form and runs two lanes against the
model itself.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping

import torch
from torch import Tensor, nn

from netsim.backends.stacked.batchnorm import StackedBatchNorm
from netsim.backends.stacked.chain import Chain
from netsim.backends.stacked.convolution import StackedConv2d
from netsim.backends.stacked.dropout import StackedDropout
from netsim.backends.stacked.lanes import LEAST_LANES, Lanes
from netsim.backends.stacked.layers import (
    StackedEmbedding,
    StackedLayer,
    StackedLinear,
    StackedNorm,
)
from netsim.learning.architecture import Architecture, Slice

LAYERS: tuple[type[StackedLayer], ...] = (
    StackedLinear,
    StackedConv2d,
    StackedBatchNorm,
    StackedNorm,
    StackedEmbedding,
    StackedDropout,
)

LONGEST_TAIL = 64
"""Entries, of vectors that go two at a time; one sample has more than one value of its layer."""

RANDOM = (nn.modules.dropout._DropoutNd, nn.RReLU)
"""Layers that draw; a probe would take one that hardly ever does so for one that does not."""


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
        self._bound: tuple[object, ...] = (None, None, None)
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

    def bind(
        self, rows: Tensor, sinks: Mapping[str, Tensor] | None = None, training: bool = False
    ) -> None:
        """Lay the lanes over rows (W, D); gradients go to sinks (W, *shape), one a parameter."""
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
            # Of a number: told a gradient, torch imports sympy to check its shape, half a second.
            (y * gradient_of(y.detach())).sum().backward()
        with torch.inference_mode():
            if self.chain is not None:
                y, kept = self.chain.outputs(x)
                self.chain.backward(kept, gradient_of(y))
            self.lanes.end_step()


_REPLACED = {kind: form for form in LAYERS for kind in form.replaces}
