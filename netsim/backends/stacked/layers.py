"""Stacked forms of layers with parameters: one call for the samples of all lanes.

Each stands in for a layer of `torch.nn`: its input is the samples of all lanes (W x B, ...), and
its output for a lane is what the layer gives with that lane's parameters. Gradients of parameters
are added to sinks (`netsim.backends.stacked.lanes`), those of inputs are handed to autograd.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from netsim.backends.stacked.alignment import align_rows, aligned_empty, is_aligned
from netsim.backends.stacked.lanes import Lanes
from netsim.learning.architecture import Slice


class StackedLayer(nn.Module, ABC):
    """A layer over all lanes.

    Parameters
    ----------
    layer : torch.nn.Module
        The layer that it stands in for; its own parameter values are not used.
    slices : mapping of str to Slice
        Where its parameters and buffers lie in a row.
    lanes : Lanes
    """

    replaces: ClassVar[tuple[type[nn.Module], ...]]
    """Layers of `torch.nn` that it can stand in for."""

    needs_autograd: ClassVar[bool] = False
    """True if its `forward` does more than `run`, which only autograd can differentiate."""

    @property
    def output_may_be_overwritten(self) -> bool:
        """Return whether the output of `run` is a new tensor that `backward` does not read."""
        return True

    def __init__(self, layer: Any, slices: Mapping[str, Slice], lanes: Lanes) -> None:
        super().__init__()
        self.lanes = lanes
        self.slices = dict(slices)
        self.parameter_names = [n for n, _ in layer.named_parameters()]
        self.values: dict[str, Tensor | None] = {}
        self.sinks: dict[str, Tensor | None] = {}
        lanes.layers.append(self)

    @classmethod
    def refuses(cls, layer: Any) -> str | None:
        """Why this class can't stand in for a given layer; None if it can."""
        return None

    def bind(self, rows: Tensor, sinks: Mapping[str, Tensor] | None, training: bool) -> None:
        """Make the layer's parameters views of rows.

        Parameters
        ----------
        rows : torch.Tensor
            (W, D) parameters, then buffers.
        sinks : mapping of str to torch.Tensor or None
            (W, *shape) for the gradient of each parameter; None for forward passes only.
        training : bool
            Whether the layer is in training mode.
        """
        self.training = training
        for name, s in self.slices.items():
            self.values[name] = rows[:, s.start : s.stop].view(len(rows), *s.shape)
            if sinks is not None and name in self.parameter_names:
                self.sinks[name] = sinks[s.name]

    def value(self, name: str) -> Tensor:
        """Parameter or buffer `name` of all lanes, (W, *its shape)."""
        value = self.values[name]
        assert value is not None
        return value

    def sink(self, gradients: Mapping[str, Tensor]) -> None:
        """Add gradients, (W, *shape) each, to the sinks."""
        decay = self.take_decay()
        for name, gradient in gradients.items():
            add(self.sinks[name], gradient, decay)

    def decay_sinks(self) -> None:
        """Scale the layer's sinks by the decay, for a step without a gradient."""
        for name in self.parameter_names:
            sink = self.sinks[name]
            assert sink is not None
            sink.zero_() if self.lanes.decay == 0.0 else sink.mul_(self.lanes.decay)

    def take_decay(self) -> float:
        """Factor of what the sinks hold, for the addition that comes now: 1 but in the first."""
        lanes = self.lanes
        if self not in lanes.untouched:
            return 1.0
        lanes.untouched.discard(self)
        return lanes.decay

    def by_lane(self, x: Tensor) -> Tensor:
        """A tensor (W x B, ...) as (W, B, ...)."""
        return x.view(self.lanes.width, -1, *x.shape[1:])

    @abstractmethod
    def run(self, ctx: Any, x: Tensor) -> Tensor:
        """Run the forward pass.

        Parameters
        ----------
        ctx : object
            Attributes of any name: what the backward pass needs.
        x : torch.Tensor
            (W x B, ...)
        """

    @abstractmethod
    def backward(self, ctx: Any, gradient: Tensor, wants_input: bool) -> Tensor | None:
        """Run the backward pass: add the gradients of parameters to the sinks.

        Parameters
        ----------
        ctx : object
            As `run` left it.
        gradient : torch.Tensor
            (W x B, ...) of the output.
        wants_input : bool
            Whether the gradient of the input is needed.

        Returns
        -------
        torch.Tensor or None
            (W x B, ...) gradient of the input.
        """

    def forward(self, x: Tensor) -> Tensor:
        """Output (W x B, ...) for the samples (W x B, ...) of all lanes."""
        result: Tensor = _Pass.apply(x, self.lanes.token, self)  # type: ignore[no-untyped-call]
        return result


class _Pass(torch.autograd.Function):
    """A layer's passes as an operation of autograd.

    Values are attributes of `ctx`, not saved by `save_for_backward`: they are views of rows whose
    other columns (running statistics) change before the backward pass, which autograd refuses.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, token: Tensor, layer: StackedLayer) -> Tensor:
        ctx.layer = layer
        return layer.run(ctx, x)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Any:
        return ctx.layer.backward(ctx, gradient, ctx.needs_input_grad[0]), None, None


def add(sink: Tensor | None, value: Tensor, decay: float) -> None:
    """Set sink = decay * sink + value; with a decay of 0 nan in the sink is forgotten, too.

    Parameters
    ----------
    sink, value : torch.Tensor
        Of one shape.
    decay : float
    """
    assert sink is not None
    if decay == 0.0:
        sink.copy_(value)
    else:
        torch.add(value, sink, alpha=decay, out=sink)


class StackedLinear(StackedLayer):
    """`torch.nn.Linear` as one batched matrix product."""

    replaces = (nn.Linear,)
    _products: Tensor | None = None
    """Memory for the gradients of the most lanes so far: new memory costs time."""

    def bind(self, rows: Tensor, sinks: Mapping[str, Tensor] | None, training: bool) -> None:
        """As `StackedLayer.bind`; views of rows are made once, not at every step."""
        super().bind(rows, sinks, training)
        self._transposed = self.value("weight").transpose(1, 2)
        self._bias = self.value("bias").unsqueeze(1) if "bias" in self.slices else None
        sink = self.sinks.get("weight")
        self._sums_in_place = sink is not None and (
            sink.is_cuda or (sink.is_contiguous() and is_aligned(sink))
        )

    def run(self, ctx: Any, x: Tensor) -> Tensor:
        shape = x.shape
        ctx.weight = weight = self.value("weight")
        width, outputs, inputs = weight.shape
        ctx.x = x = align_rows(x.reshape(width, -1, inputs))
        if self._bias is not None:
            y = torch.baddbmm(self._bias, x, self._transposed)
        else:
            y = torch.bmm(x, self._transposed)
        return y.view(*shape[:-1], outputs)

    def backward(self, ctx: Any, gradient: Tensor, wants_input: bool) -> Tensor | None:
        weight: Tensor = ctx.weight
        dy = align_rows(gradient.reshape(len(weight), -1, gradient.shape[-1]))
        decay = self.take_decay()
        sink = self.sinks["weight"]
        assert sink is not None
        if self._sums_in_place:
            sink.baddbmm_(dy.transpose(1, 2), ctx.x, beta=decay)
        else:  # a CPU would compute products that are written there one by one
            if self._products is None or len(self._products) < len(sink):
                self._products = aligned_empty(sink, sink.shape[2])
            products = self._products[: len(sink)]
            add(sink, products.baddbmm_(dy.transpose(1, 2), ctx.x, beta=0), decay)
        if "bias" in self.slices:
            add(self.sinks["bias"], dy.sum(1), decay)
        if not wants_input:
            return None
        dx = aligned_empty(dy, weight.shape[2])
        dx.baddbmm_(dy, weight, beta=0)
        return dx.reshape(*gradient.shape[:-1], weight.shape[2])


class StackedNorm(StackedLayer):
    """`torch.nn.GroupNorm` and `LayerNorm`: only scale and shift differ from lane to lane."""

    replaces = (nn.GroupNorm, nn.LayerNorm)
    needs_autograd = True

    def __init__(self, layer: Any, slices: Mapping[str, Slice], lanes: Lanes) -> None:
        super().__init__(layer, slices, lanes)
        self.groups = getattr(layer, "num_groups", None)
        self.normalized_shape = getattr(layer, "normalized_shape", None)
        self.eps = layer.eps

    def forward(self, x: Tensor) -> Tensor:
        """Normalise by torch's own operation, then scale and shift."""
        if self.groups is not None:
            x = F.group_norm(x, self.groups, eps=self.eps)
        else:
            assert self.normalized_shape is not None
            x = F.layer_norm(x, self.normalized_shape, eps=self.eps)
        return super().forward(x) if self.slices else x

    def _shaped(self, name: str, like: Tensor) -> Tensor:
        """A parameter in a shape that broadcasts over samples (W, B, ...)."""
        value = self.value(name)
        if self.groups is None:
            return value.view(len(value), *[1] * (like.dim() - value.dim()), *value.shape[1:])
        return value.view(len(value), 1, -1, *[1] * (like.dim() - 3))

    def run(self, ctx: Any, x: Tensor) -> Tensor:
        ctx.x = by_lane = self.by_lane(x)
        y = by_lane * self._shaped("weight", by_lane)
        if "bias" in self.slices:
            y = y + self._shaped("bias", by_lane)
        return y.view(x.shape)

    def backward(self, ctx: Any, gradient: Tensor, wants_input: bool) -> Tensor | None:
        dy = self.by_lane(gradient)
        own = 1 if self.groups is not None else self.value("weight").dim() - 1
        over = list(range(1, dy.dim() - own)) if self.groups is None else [1, *range(3, dy.dim())]
        found = {"weight": (dy * ctx.x).sum(over)}
        if "bias" in self.slices:
            found["bias"] = dy.sum(over)
        self.sink(found)
        if not wants_input:
            return None
        return (dy * self._shaped("weight", dy)).view(gradient.shape)
