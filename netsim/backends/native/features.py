"""A model's features computed natively inside a loss that PyTorch differentiates.

For a loss of the algorithm's own PyTorch runs everything but the features: what the loss does with
samples, features, heads, prototypes and parameters. Where the loss calls the features, a function
with a forward and a backward pass of the kernel's own stands in for them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from netsim.backends.native.data import Data, Rows
from netsim.backends.native.graph import UnsupportedError
from netsim.backends.native.kernel import Kernel
from netsim.backends.native.masks import draw, values_of
from netsim.backends.native.records import Loss
from netsim.backends.parameter_store import padded_length


def parts_of(module: nn.Module) -> list[nn.Module]:
    """Return the modules that losses call: features, or the part with all parameters."""
    features = getattr(module, "features", None)
    if not isinstance(features, nn.Module):
        return []
    count = len(list(features.parameters()))
    first = list(features.children())[:1] if isinstance(features, nn.Sequential) else []
    return [features, *(m for m in first if count and len(list(m.parameters())) == count)]


class Features:
    """One part of a model, to be called with the parameters of many nodes.

    Parameters
    ----------
    module : torch.nn.Module
        Takes samples, gives (n, F).
    kernel : Kernel
        Of the module.

    Attributes
    ----------
    width : int
        Nodes whose features are asked for; lanes behind them repeat the last one.
    generators : sequence of torch.Generator
        One a node, which draw the masks of the minibatch.
    """

    def __init__(self, module: nn.Module, kernel: Kernel) -> None:
        self.module, self._kernel = module, kernel
        self.width = 0
        self.generators: Sequence[torch.Generator] = ()
        self.device = torch.device("cpu")
        self.sizes = [p.numel() for p in module.parameters()]

    def __call__(self, x: Tensor) -> Tensor:
        """The features of samples, with the parameters that the module has now."""
        if not self.module.training:
            raise UnsupportedError("a loss that calls the model in evaluation mode")
        parameters = list(self.module.parameters())
        buffers = [b for b in self.module.buffers() if b.is_floating_point()]
        found, after, _, _ = _Forward.apply(self, x, *parameters, *buffers)  # type: ignore[no-untyped-call]
        at = 0
        for buffer in buffers:
            buffer.copy_(after[at : at + buffer.numel()].view_as(buffer))
            at += buffer.numel()
        features: Tensor = found
        return features

    def forward(self, x: Tensor, tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
        """Features, running statistics after, rows of parameters, masks, of W lanes.

        Parameters
        ----------
        x : torch.Tensor
            (W, n, ...)
        tensors : sequence of torch.Tensor
            Parameters and running statistics, (W, *shape) each.

        Returns
        -------
        tuple of torch.Tensor
            (W, n, F), (W, buffers), (W, padded length), (W, n x mask values).
        """
        kernel, lanes, size, width = self._kernel, len(x), x.shape[1], self.width
        rows = x.new_empty((lanes, padded_length(kernel.num_values)), dtype=kernel.dtype)
        at = 0
        for tensor in tensors:
            length = tensor[0].numel()
            rows[:, at : at + length] = tensor.reshape(lanes, length)
            at += length
        masks = rows.new_zeros((lanes, size * values_of(kernel.mask_shapes)))
        for mask, generator in zip(masks, self.generators, strict=False):
            draw(mask, kernel.mask_shapes, size, generator)
        length, out = sum(self.sizes), None
        after = rows.new_empty((width, kernel.num_values - length))
        if after.shape[1]:
            out = torch.empty_like(rows)
        found = kernel.outputs(
            *self._samples(x, rows),
            training=True,
            masks=masks[:width] if kernel.mask_shapes else None,
            after=None if out is None else Rows(out[:width]),
        )
        if out is not None:
            after = out[:width, length : kernel.num_values]
        return (
            self._repeat_last_lane(found, lanes),
            self._repeat_last_lane(after, lanes),
            rows,
            masks,
        )

    def backward(self, gradient: Tensor, x: Tensor, rows: Tensor, masks: Tensor) -> Tensor:
        """Gradients by the parameters, (W, padded length).

        Parameters
        ----------
        gradient : torch.Tensor
            (W, n, F) by the features.
        x, rows, masks
            As of `forward`.
        """
        kernel, width = self._kernel, self.width
        out = torch.empty_like(rows)
        data, models, index = self._samples(x, rows)
        kernel.gradients(
            data,
            models,
            Rows(out[:width]),
            index,
            loss=Loss.GIVEN_GRADIENT,
            training=True,
            masks=masks[:width] if kernel.mask_shapes else None,
            output_gradients=gradient[:width].to(kernel.dtype).contiguous(),
        )
        return self._repeat_last_lane(out[:width], len(x))

    def _samples(self, x: Tensor, rows: Tensor) -> tuple[Data, Rows, Any]:
        width, size = self.width, x.shape[1]
        data = Data(x[:width].flatten(0, 1).contiguous())
        return data, Rows(rows[:width]), np.arange(width * size).reshape(width, size)

    def _repeat_last_lane(self, found: Tensor, lanes: int) -> Tensor:
        """The last lane again for those that only repeat it."""
        if len(found) == lanes:
            return found
        return torch.cat([found, found[-1:].expand(lanes - len(found), *found.shape[1:])])


def _lanes(width: int, dims: Sequence[int | None], tensors: Sequence[Tensor]) -> list[Tensor]:
    """Tensors with a copy per lane, lanes first."""
    return [
        t.expand(width, *t.shape) if d is None else t.movedim(d, 0)
        for t, d in zip(tensors, dims, strict=True)
    ]


class _Forward(torch.autograd.Function):
    """Features of one node's samples, by its parameters; for many nodes under `vmap`."""

    @staticmethod
    def forward(features: Features, x: Tensor, *tensors: Tensor) -> Any:
        raise UnsupportedError("a loss that calls the features outside of vmap")

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
        features, x, *tensors = inputs
        _, after, rows, masks = output
        ctx.features, ctx.shapes = features, [t.shape for t in tensors]
        ctx.mark_non_differentiable(after, rows, masks)
        ctx.save_for_backward(x, rows, masks)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor, *_: Any) -> Any:
        if ctx.needs_input_grad[1]:
            raise UnsupportedError("a loss that learns what the features take")
        features: Features = ctx.features
        row: Tensor = _Backward.apply(features, gradient, *ctx.saved_tensors)  # type: ignore[no-untyped-call]
        pieces = torch.split(row[: sum(features.sizes)], features.sizes)
        found = [p.view(s) for p, s in zip(pieces, ctx.shapes, strict=False)]
        return None, None, *found, *[None] * (len(ctx.shapes) - len(found))

    @staticmethod
    def vmap(
        info: Any, in_dims: Sequence[int | None], features: Features, x: Tensor, *tensors: Tensor
    ) -> tuple[tuple[Tensor, ...], tuple[int, ...]]:
        samples, *rows = _lanes(info.batch_size, in_dims[1:], [x, *tensors])
        return features.forward(samples, rows), (0, 0, 0, 0)


class _Backward(torch.autograd.Function):
    """The gradient by one node's parameters, as a row; it can't be differentiated again."""

    @staticmethod
    def forward(features: Features, *tensors: Tensor) -> Any:
        raise UnsupportedError("a loss that calls the features outside of vmap")

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        """Keep nothing: the function has no backward pass."""

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Any:
        raise UnsupportedError("a loss that differentiates a gradient")

    @staticmethod
    def vmap(
        info: Any, in_dims: Sequence[int | None], features: Features, *tensors: Tensor
    ) -> tuple[Tensor, int]:
        return features.backward(*_lanes(info.batch_size, in_dims[1:], tensors)), 0


@contextmanager
def standing_in(calls: Sequence[tuple[nn.Module, Callable[[Tensor], Tensor]]]) -> Iterator[None]:
    """Functions in place of the forward passes of some modules, for a while."""
    for module, function in calls:
        module.forward = function
    try:
        yield
    finally:
        for module, _ in calls:
            del module.forward
