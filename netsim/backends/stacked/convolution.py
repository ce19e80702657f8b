"""Stacked convolution: lane after lane on a CPU, one batched matrix product on a GPU.

A grouped convolution over W lanes would have W groups of few channels, for which cuDNN and oneDNN
are slow. On a CPU the convolution of one lane uses the whole core, so lanes are convolved one after
another. On a GPU the patches of all images are the rows of one batched matrix product (im2col);
channels are last in memory. On an H200 copying the patches takes as long as multiplying them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from netsim.backends.stacked.lanes import Lanes
from netsim.backends.stacked.layers import StackedLayer, add
from netsim.learning.architecture import Slice


class StackedConv2d(StackedLayer):
    """`torch.nn.Conv2d` over all lanes.

    Attributes
    ----------
    by_patches : bool
        Whether one matrix product convolves all lanes; so on a GPU.
    """

    replaces = (nn.Conv2d,)

    def __init__(self, layer: Any, slices: Mapping[str, Slice], lanes: Lanes) -> None:
        super().__init__(layer, slices, lanes)
        self.stride, self.padding = layer.stride, layer.padding
        self.dilation, self.groups = layer.dilation, layer.groups
        self.by_patches = lanes.token.is_cuda and self.groups == 1 and self.dilation == (1, 1)

    @classmethod
    def refuses(cls, layer: Any) -> str | None:
        if layer.padding_mode != "zeros" or isinstance(layer.padding, str):
            return "a convolution whose padding is not a number of zeros"
        return None

    def run(self, ctx: Any, x: Tensor) -> Tensor:
        ctx.weight = self.value("weight")
        bias = self.value("bias") if "bias" in self.slices else None
        if self.by_patches:
            return self._run_patches(ctx, x, bias)
        ctx.x = self.by_lane(x)
        return torch.cat(
            [
                F.conv2d(
                    ctx.x[i],
                    ctx.weight[i],
                    None if bias is None else bias[i],
                    self.stride,
                    self.padding,
                    self.dilation,
                    self.groups,
                )
                for i in range(len(ctx.weight))
            ]
        )

    def backward(self, ctx: Any, gradient: Tensor, wants_input: bool) -> Tensor | None:
        if self.by_patches:
            return self._backward_patches(ctx, gradient, wants_input)
        dy, decay, has_bias = self.by_lane(gradient), self.take_decay(), "bias" in self.slices
        found = []
        for i in range(len(ctx.weight)):
            dx, dw, db = torch.ops.aten.convolution_backward(
                dy[i],
                ctx.x[i],
                ctx.weight[i],
                [ctx.weight.shape[1]] if has_bias else None,
                self.stride,
                self.padding,
                self.dilation,
                False,
                [0, 0],
                self.groups,
                [wants_input, True, has_bias],
            )
            found.append(dx)
            add(_lane(self.sinks["weight"], i), dw, decay)
            if has_bias:
                add(_lane(self.sinks["bias"], i), db, decay)
        return torch.cat(found) if wants_input else None

    # -- patches: channels last, (W x B, H, W', C) in memory ---------------------------------------

    def _run_patches(self, ctx: Any, x: Tensor, bias: Tensor | None) -> Tensor:
        width, outputs, _, *kernel = ctx.weight.shape
        ctx.input_shape = x.shape
        ctx.patches, (height, wide) = patches(x, kernel, self.stride, self.padding, width)
        columns = as_columns(ctx.weight)
        if bias is None:
            y = torch.bmm(ctx.patches, columns)
        else:
            y = torch.baddbmm(bias.unsqueeze(1), ctx.patches, columns)
        return y.view(len(x), height, wide, outputs).permute(0, 3, 1, 2)

    def _backward_patches(self, ctx: Any, gradient: Tensor, wants_input: bool) -> Tensor | None:
        width, outputs, inputs, *kernel = ctx.weight.shape
        dy = gradient.permute(0, 2, 3, 1).reshape(width, -1, outputs)
        decay = self.take_decay()
        dw = torch.bmm(dy.transpose(1, 2), ctx.patches).view(width, outputs, *kernel, inputs)
        add(self.sinks["weight"], dw.permute(0, 1, 4, 2, 3), decay)
        if "bias" in self.slices:
            add(self.sinks["bias"], dy.sum(1), decay)
        if not wants_input:
            return None
        return self._input_gradient(gradient, ctx.weight, ctx.input_shape)

    def _input_gradient(self, dy: Tensor, weight: Tensor, shape: torch.Size) -> Tensor:
        """Gradient of the input: a convolution of dy, spread by the stride, with flipped filters.

        Parameters
        ----------
        dy : torch.Tensor
            (W x B, O, H', W') gradient of the output.
        weight : torch.Tensor
            (W, O, C, rows, columns)
        shape : torch.Size
            Of the input, (W x B, C, height, width).
        """
        (rows, columns), (sy, sx), (py, px) = weight.shape[3:], self.stride, self.padding
        n, outputs, height, wide = dy.shape
        if (sy, sx) != (1, 1):
            spread = dy.new_zeros(n, outputs, (height - 1) * sy + 1, (wide - 1) * sx + 1)
            spread[:, :, ::sy, ::sx] = dy
            dy = spread
        # pixels at the lower and right edge that no filter position covered
        below = shape[2] + 2 * py - rows - (dy.shape[2] - 1)
        right = shape[3] + 2 * px - columns - (dy.shape[3] - 1)
        dy = F.pad(
            dy, (columns - 1 - px, columns - 1 - px + right, rows - 1 - py, rows - 1 - py + below)
        )
        flipped = weight.flip(3, 4).transpose(1, 2)  # (W, inputs, outputs, rows, columns)
        found, (h, w) = patches(dy, (rows, columns), (1, 1), (0, 0), len(weight))
        dx = torch.bmm(found, as_columns(flipped))
        return dx.view(n, h, w, shape[1]).permute(0, 3, 1, 2)


def patches(
    x: Tensor, kernel: Any, stride: Any, padding: Any, width: int
) -> tuple[Tensor, tuple[int, int]]:
    """The inputs of a filter at each position (im2col).

    Parameters
    ----------
    x : torch.Tensor
        (W x B, C, height, width)
    kernel, stride, padding : (int, int)
        Rows and columns.
    width : int
        Lanes W.

    Returns
    -------
    torch.Tensor
        (W, B x positions, rows x columns x C)
    (int, int)
        Positions of the filter, down and across.
    """
    x = F.pad(x, (padding[1], padding[1], padding[0], padding[0])).permute(0, 2, 3, 1)
    windows = x.unfold(1, kernel[0], stride[0]).unfold(2, kernel[1], stride[1])
    height, wide, channels = windows.shape[1:4]
    rows = windows.permute(0, 1, 2, 4, 5, 3).reshape(width, -1, kernel[0] * kernel[1] * channels)
    return rows, (height, wide)


def as_columns(weight: Tensor) -> Tensor:
    """Filters (W, O, C, rows, columns) as a matrix (W, rows x columns x C, O)."""
    return weight.permute(0, 3, 4, 2, 1).reshape(len(weight), -1, weight.shape[1])


def _lane(sink: Tensor | None, lane: int) -> Tensor:
    assert sink is not None
    return sink[lane]
