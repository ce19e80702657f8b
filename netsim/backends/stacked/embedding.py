"""Stacked embedding: each lane looks words up in its own table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from netsim.backends.stacked.lanes import Lanes
from netsim.backends.stacked.layers import StackedLayer
from netsim.learning.architecture import Slice


class StackedEmbedding(StackedLayer):
    """`torch.nn.Embedding` as one gather."""

    replaces = (nn.Embedding,)

    def __init__(self, layer: Any, slices: Mapping[str, Slice], lanes: Lanes) -> None:
        super().__init__(layer, slices, lanes)
        self.padding_idx = layer.padding_idx

    @classmethod
    def refuses(cls, layer: Any) -> str | None:
        odd = layer.max_norm is not None or layer.scale_grad_by_freq or layer.sparse
        return "an embedding with max_norm, scale_grad_by_freq or sparse" if odd else None

    def run(self, ctx: Any, x: Tensor) -> Tensor:
        ctx.ids = self.by_lane(x).reshape(self.lanes.width, -1)
        ctx.lane = torch.arange(self.lanes.width, device=x.device).unsqueeze(1)
        return self.value("weight")[ctx.lane, ctx.ids].view(*x.shape, -1)

    def backward(self, ctx: Any, gradient: Tensor, wants_input: bool) -> Tensor | None:
        sink, decay = self.sinks["weight"], self.take_decay()
        assert sink is not None
        sink.zero_() if decay == 0.0 else sink.mul_(decay)
        dy = gradient.reshape(*ctx.ids.shape, -1)
        if self.padding_idx is not None:
            dy = dy * (ctx.ids != self.padding_idx).unsqueeze(-1)
        sink.index_put_((ctx.lane.expand_as(ctx.ids), ctx.ids), dy, accumulate=True)
        return None
