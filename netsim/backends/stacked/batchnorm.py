"""Stacked batch normalisation: statistics over each lane's samples, without padding."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from netsim.backends.stacked.lanes import Lanes
from netsim.backends.stacked.layers import StackedLayer
from netsim.learning.architecture import Slice


class StackedBatchNorm(StackedLayer):
    """`torch.nn.BatchNorm1d` and `BatchNorm2d` over all lanes.

    Notes
    -----
    Batch statistics are over n values a channel: the samples for which `Lanes.mask` is 1, times
    their pixels. The running variance has the unbiased factor n / (n - 1) of each lane.
    """

    replaces = (nn.BatchNorm1d, nn.BatchNorm2d)

    def __init__(self, layer: Any, slices: Mapping[str, Slice], lanes: Lanes) -> None:
        super().__init__(layer, slices, lanes)
        self.eps: float = layer.eps
        self.momentum: float = layer.momentum

    @property
    def output_may_be_overwritten(self) -> bool:
        """Without scale and shift the output is the normalised values, which `backward` reads."""
        return "weight" in self.slices

    @classmethod
    def refuses(cls, layer: Any) -> str | None:
        if layer.momentum is None:
            return "a batch normalisation whose running mean is cumulative (momentum = None)"
        return None

    def run(self, ctx: Any, x: Tensor) -> Tensor:
        lanes, x5 = self.lanes, self.by_lane(x)
        ctx.shape = (lanes.width, 1, x5.shape[2], *[1] * (x5.dim() - 3))
        ctx.over = [1, *range(3, x5.dim())]
        tracked = "running_mean" in self.slices
        ctx.batch_statistics = self.training or not tracked
        if ctx.batch_statistics:
            pixels = x5[0, 0, 0].numel()
            mask = (
                None
                if lanes.mask is None
                else lanes.mask.view(*x5.shape[:2], *[1] * (x5.dim() - 2))
            )
            if lanes.counts is None:
                n: Tensor | float = float(x5.shape[1] * pixels)
            else:
                n = (lanes.counts * pixels).view(-1, *[1] * (x5.dim() - 1))
            mean = _masked(x5, mask).sum(ctx.over, keepdim=True) / n
            centred = _masked(x5 - mean, mask)
            variance = (centred * centred).sum(ctx.over, keepdim=True) / n
            ctx.mask, ctx.n = mask, n
            if self.training and tracked:
                self._track(mean, variance * (n / (n - 1)))
        else:
            centred = x5 - self.value("running_mean").view(ctx.shape)
            variance = self.value("running_var").view(ctx.shape)
        ctx.scale = torch.rsqrt(variance + self.eps)
        y: Tensor = centred * ctx.scale
        ctx.x = y
        if "weight" in self.slices:
            weight, bias = (self.value(name).view(ctx.shape) for name in ("weight", "bias"))
            y = torch.addcmul(bias, y, weight)
        return y.view(x.shape)

    def _track(self, mean: Tensor, variance: Tensor) -> None:
        for name, found in (("running_mean", mean), ("running_var", variance)):
            value = found.view(self.lanes.width, -1)
            self.value(name).mul_(1 - self.momentum).add_(value, alpha=self.momentum)

    def backward(self, ctx: Any, gradient: Tensor, wants_input: bool) -> Tensor | None:
        dy = self.by_lane(gradient)
        along = (dy * ctx.x).sum(ctx.over, keepdim=True)
        total = dy.sum(ctx.over, keepdim=True)
        if "weight" in self.slices:
            width = self.lanes.width
            self.sink({"weight": along.view(width, -1), "bias": total.view(width, -1)})
        if not wants_input:
            return None
        scale: Tensor = ctx.scale
        if "weight" in self.slices:
            scale = scale * self.value("weight").view(ctx.shape)
        if not ctx.batch_statistics:
            return (dy * scale).view(gradient.shape)
        dx = scale * (dy - (total + ctx.x * along) / ctx.n)
        return _masked(dx, ctx.mask).view(gradient.shape)


def _masked(x: Tensor, mask: Tensor | None) -> Tensor:
    return x if mask is None else x * mask
