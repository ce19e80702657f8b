"""Stacked dropout: each lane's masks come from a generator of its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from netsim.backends.stacked.lanes import Lanes
from netsim.backends.stacked.layers import StackedLayer
from netsim.learning.architecture import Slice


class StackedDropout(StackedLayer):
    """`torch.nn.Dropout`: without parameters, but its masks differ from lane to lane."""

    replaces = (nn.Dropout,)
    needs_autograd = True

    def __init__(self, layer: Any, slices: Mapping[str, Slice], lanes: Lanes) -> None:
        super().__init__(layer, slices, lanes)
        self.p = layer.p

    def run(self, ctx: Any, x: Tensor) -> Tensor:
        x = self.by_lane(x)
        # Contiguous whatever the layout of `x`: drawn in the order in which one model draws.
        ctx.mask = mask = torch.zeros(x.shape, device=x.device, dtype=x.dtype)
        sizes = self.lanes.sizes or [mask.shape[1]] * len(mask)
        if self.p < 1:
            for lane, size, generator in zip(mask, sizes, self.lanes.generators, strict=True):
                lane[:size].bernoulli_(1 - self.p, generator=generator)
            mask.div_(1 - self.p)
        return (x * mask).flatten(0, 1)

    def backward(self, ctx: Any, gradient: Tensor, wants_input: bool) -> Tensor | None:
        mask: Tensor = ctx.mask
        return (self.by_lane(gradient) * mask).flatten(0, 1)

    def forward(self, x: Tensor) -> Tensor:
        """Drop nothing: this is evaluation."""
        return super().forward(x) if self.training and self.p else x
