"""The stacked form of a model: a copy of its module with stacked layers in it.

Layers with parameters are replaced by their stacked forms; all that a forward pass does with each
sample by itself stays as it is. Whether the result is right (a pass may mix samples) is checked by
`netsim.backends.stacked.equivalence_check`, which builds stacked modules.
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
from netsim.backends.stacked.embedding import StackedEmbedding
from netsim.backends.stacked.lanes import LEAST_LANES, Lanes
from netsim.backends.stacked.layers import (
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

TAIL_ENTRIES = 64
"""Most entries at the end of a tensor that a CPU may compute by scalar code; see `has_tails`."""

RANDOM = (nn.modules.dropout._DropoutNd, nn.RReLU)
"""Layers that draw: refused by type, since a check would miss one that hardly ever draws."""


class UnstackableError(Exception):
    """A model has no stacked form; says why."""


class StackedModule:
    """The models of many lanes, of one architecture, as one module.

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
        From samples (W x B, ...) to outputs (W x B, L).
    chain : Chain or None
        The same without autograd, if its layers are a chain.
    has_tails : bool
        Whether a function in it is computed by vectors but for the last entries of a tensor, which
        then have other bits; spare lanes at the end keep those entries out of the results.
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
        if architecture.frozen_names:
            raise UnstackableError(
                f"no stacked form of a frozen parameter ({architecture.frozen_names[0]})"
            )
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
        stacked = _REPLACED[type(layer)]
        reason = stacked.refuses(layer)
        if reason is not None:
            raise UnstackableError(f"no stacked form of {reason} ({name})")
        prefix = f"{name}." if name else ""
        own = {n.removeprefix(prefix): s for n, s in slices.items() if n.startswith(prefix)}
        if any(n not in own for n, _ in layer.named_parameters()):
            raise UnstackableError(f"layers share parameters ({name} and another)")
        taken.update(prefix + n for n in own)
        parent_name, _, child = name.rpartition(".")
        setattr(self.module.get_submodule(parent_name), child, stacked(layer, own, self.lanes))

    def bind(
        self, rows: Tensor, sinks: Mapping[str, Tensor] | None = None, training: bool = False
    ) -> None:
        """Make the parameters of all lanes views of rows.

        Parameters
        ----------
        rows : torch.Tensor
            (W, D) parameters, then buffers.
        sinks : mapping of str to torch.Tensor or None
            (W, *shape) for the gradient of each parameter; None for forward passes only.
        training : bool
            Whether the module is in training mode.
        """
        bound = (rows, sinks, training)
        if all(a is b for a, b in zip(bound, self._bound, strict=True)):
            return
        self._bound = bound
        if self.module.training != training:
            self.module.train(training)
        self.lanes.bind(rows, sinks, training)

    def width_for(self, models: int, samples: int) -> int:
        """Lanes of a pass over `models` models with `samples` samples each, spare ones included."""
        spare = -(-TAIL_ENTRIES // samples) if self.has_tails else 0
        return max(models + spare, LEAST_LANES)

    @torch.no_grad()
    def outputs(self, x: Tensor) -> Tensor:
        """Outputs (W x B, L) of samples (W x B, ...)."""
        result: Tensor = self.module(x) if self.chain is None else self.chain.outputs(x)[0]
        return result

    def differentiate(self, x: Tensor, gradient_of: Callable[[Tensor], Tensor]) -> None:
        """Add the gradients of all lanes' parameters to their sinks.

        Parameters
        ----------
        x : torch.Tensor
            (W x B, ...) samples.
        gradient_of : callable
            From outputs (W x B, L) to the gradient of the loss by these outputs.
        """
        self.lanes.begin_step()
        if self.chain is None:
            y = self.module(x)
            # `y.backward(gradient)` would import sympy to check shapes, which takes half a second.
            (y * gradient_of(y.detach())).sum().backward()
        with torch.inference_mode():
            if self.chain is not None:
                y, saved = self.chain.outputs(x)
                self.chain.backward(saved, gradient_of(y))
            self.lanes.end_step()


_REPLACED = {kind: stacked for stacked in LAYERS for kind in stacked.replaces}
