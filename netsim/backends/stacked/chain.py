"""Models that are a sequence of known layers, run without autograd.

The backward pass of such a model calls each layer's `backward` in reverse order. That saves
autograd's bookkeeping, which for a small model on a CPU costs as much as its arithmetic, and
activations can be overwritten.
"""

from __future__ import annotations

from typing import Any, Protocol

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from netsim.backends.stacked.layers import StackedLayer


class Link(Protocol):
    """One layer of a chain: a `StackedLayer`, or one of the classes below."""

    def run(self, ctx: Any, x: Tensor) -> Tensor:
        """Run the forward pass; see `StackedLayer.run`."""

    def backward(self, ctx: Any, gradient: Tensor, wants_input: bool) -> Tensor | None:
        """Run the backward pass; see `StackedLayer.backward`.

        Parameters
        ----------
        ctx : object
            What the forward pass saved.
        gradient : torch.Tensor
            By the outputs, in their shape.
        wants_input : bool
            Whether the gradient by the inputs is asked for.

        Returns
        -------
        torch.Tensor or None
            By the inputs, in their shape; None if it is not asked for.
        """


class Saved:
    """Values that one layer's forward pass saves for its backward pass, as attributes."""


class FlattenLink(Link):
    """`torch.nn.Flatten` of all dimensions of a sample."""

    def run(self, ctx: Any, x: Tensor) -> Tensor:
        ctx.shape = x.shape
        return x.flatten(1)

    def backward(self, ctx: Any, gradient: Tensor, wants_input: bool) -> Tensor | None:
        shape: torch.Size = ctx.shape
        return gradient.view(shape) if gradient.is_contiguous() else gradient.reshape(shape)


class ReluLink(Link):
    """`torch.nn.ReLU`; in place where no other layer reads the input later."""

    def __init__(self, in_place: bool) -> None:
        self._in_place = in_place

    def run(self, ctx: Any, x: Tensor) -> Tensor:
        y = x.relu_() if self._in_place else x.relu()
        ctx.y = y
        return y

    def backward(self, ctx: Any, gradient: Tensor, wants_input: bool) -> Tensor | None:
        # In place: no other layer reads this gradient.
        result: Tensor = torch.ops.aten.threshold_backward.grad_input(
            gradient, ctx.y, 0, grad_input=gradient
        )
        return result


class MaxPoolLink(Link):
    """`torch.nn.MaxPool2d`."""

    def __init__(self, layer: Any) -> None:
        self._how = (layer.kernel_size, layer.stride, layer.padding, layer.dilation)
        self._ceil = layer.ceil_mode

    def run(self, ctx: Any, x: Tensor) -> Tensor:
        ctx.x = x
        y, ctx.where = F.max_pool2d_with_indices(x, *self._how, ceil_mode=self._ceil)
        return y

    def backward(self, ctx: Any, gradient: Tensor, wants_input: bool) -> Tensor | None:
        result: Tensor = torch.ops.aten.max_pool2d_with_indices_backward(
            gradient, ctx.x, *map(_pair, self._how), self._ceil, ctx.where
        )
        return result


class Chain:
    """The layers of a model in order, to be run where autograd does not record.

    Parameters
    ----------
    links : list of Link
    """

    def __init__(self, links: list[Link]) -> None:
        self._links = links
        self._first = next(i for i, link in enumerate(links) if isinstance(link, StackedLayer))

    def outputs(self, x: Tensor) -> tuple[Tensor, list[Saved]]:
        """Outputs (W x B, L) of samples (W x B, ...), and what `backward` needs."""
        saved = []
        for link in self._links:
            ctx = Saved()
            x = link.run(ctx, x)
            saved.append(ctx)
        return x, saved

    def backward(self, saved: list[Saved], gradient: Tensor) -> None:
        """Add the gradients of all parameters to the sinks, from that of the outputs."""
        for i in range(len(self._links) - 1, self._first - 1, -1):
            found = self._links[i].backward(saved[i], gradient, i > self._first)
            if found is not None:
                gradient = found


def chain_of(module: nn.Module) -> Chain | None:
    """The layers of a stacked module as a chain, in the order in which they are listed.

    None if a layer has no link. Whether the module runs its layers in this order, each once, is
    for the caller to check.
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
        return None if layer.needs_autograd else layer
    if type(layer) is nn.Flatten:
        return FlattenLink() if (layer.start_dim, layer.end_dim) == (1, -1) else None
    if type(layer) is nn.ReLU:
        return ReluLink(isinstance(before, StackedLayer) and before.output_may_be_overwritten)
    if type(layer) is nn.MaxPool2d:
        return MaxPoolLink(layer)
    return None


def _pair(value: Any) -> Any:
    return value if isinstance(value, tuple | list) else (value, value)
