"""A model that is a chain of known layers, run without autograd.

Most small models are one layer after another. Their backward pass needs no graph: each layer's own
`back` in turn. That saves autograd's bookkeeping, which for a small model on a CPU costs as much
as its arithmetic, and lets activations be overwritten.
"""

from __future__ import annotations

from typing import Any, Protocol

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from netsim.backends.stacked.layers import StackedLayer


class Link(Protocol):
    """One layer of a chain: `StackedLayer`, or one of those below."""

    def run(self, ctx: Any, x: Tensor) -> Tensor:
        """The forward pass; what the backward pass needs is left in `ctx`."""

    def back(self, ctx: Any, gradient: Tensor, wants_input: bool) -> Tensor | None:
        """Fill the sinks, if there are any; the gradient of the input if it is wanted."""


class Kept:
    """What one layer's forward pass leaves for its backward pass."""


class Flat:
    """`torch.nn.Flatten` from the first dimension of a sample on."""

    def run(self, ctx: Any, x: Tensor) -> Tensor:
        ctx.shape = x.shape
        return x.flatten(1)

    def back(self, ctx: Any, gradient: Tensor, wants_input: bool) -> Tensor | None:
        shape: torch.Size = ctx.shape
        return gradient.view(shape) if gradient.is_contiguous() else gradient.reshape(shape)


class Rectified:
    """`torch.nn.ReLU`; in place where no other layer keeps what it overwrites."""

    def __init__(self, in_place: bool) -> None:
        self._in_place = in_place

    def run(self, ctx: Any, x: Tensor) -> Tensor:
        y = x.relu_() if self._in_place else x.relu()
        ctx.y = y
        return y

    def back(self, ctx: Any, gradient: Tensor, wants_input: bool) -> Tensor | None:
        # In place: nobody else reads what a layer has handed down.
        result: Tensor = torch.ops.aten.threshold_backward.grad_input(
            gradient, ctx.y, 0, grad_input=gradient
        )
        return result


class Pooled:
    """`torch.nn.MaxPool2d`."""

    def __init__(self, layer: Any) -> None:
        self._how = (layer.kernel_size, layer.stride, layer.padding, layer.dilation)
        self._ceil = layer.ceil_mode

    def run(self, ctx: Any, x: Tensor) -> Tensor:
        ctx.x = x
        y, ctx.where = F.max_pool2d_with_indices(x, *self._how, ceil_mode=self._ceil)
        return y

    def back(self, ctx: Any, gradient: Tensor, wants_input: bool) -> Tensor | None:
        result: Tensor = torch.ops.aten.max_pool2d_with_indices_backward(
            gradient, ctx.x, *map(_pair, self._how), self._ceil, ctx.where
        )
        return result


class Chain:
    """The layers of a model in their order; to be run where autograd does not record.

    Parameters
    ----------
    links : list of Link
    """

    def __init__(self, links: list[Link]) -> None:
        self._links = links
        self._first = next(i for i, link in enumerate(links) if isinstance(link, StackedLayer))

    def outputs(self, x: Tensor) -> tuple[Tensor, list[Kept]]:
        """Outputs (W x B, L), and what `backward` needs."""
        kept = []
        for link in self._links:
            ctx = Kept()
            x = link.run(ctx, x)
            kept.append(ctx)
        return x, kept

    def backward(self, kept: list[Kept], gradient: Tensor) -> None:
        """Fill the sinks from the gradient of the outputs."""
        for i in range(len(self._links) - 1, self._first - 1, -1):
            found = self._links[i].back(kept[i], gradient, i > self._first)
            if found is not None:
                gradient = found


def chain_of(module: nn.Module) -> Chain | None:
    """The layers of a stacked module in the order in which they are listed.

    None if one of them is not known here. Whether the module does run them in this order, each
    once, is for the caller to try.
    """
    layers = [m for m in module.modules() if isinstance(m, StackedLayer) or not list(m.children())]
    links: list[Link] = []
    for before, layer in zip([None, *layers], layers, strict=False):
        link = _link(layer, before)
        if link is None:
            return None
        links.append(link)
    return Chain(links) if any(isinstance(link, StackedLayer) for link in links) else None


def _link(layer: nn.Module, before: nn.Module | None) -> Link | None:
    if isinstance(layer, StackedLayer):
        return layer if layer.links else None
    if type(layer) is nn.Flatten:
        return Flat() if (layer.start_dim, layer.end_dim) == (1, -1) else None
    if type(layer) is nn.ReLU:
        return Rectified(isinstance(before, StackedLayer) and before.gives_new)
    if type(layer) is nn.MaxPool2d:
        return Pooled(layer)
    return None


def _pair(value: Any) -> Any:
    return value if isinstance(value, tuple | list) else (value, value)
