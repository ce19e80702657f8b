"""Images moved and mirrored by the native library: one pass over them, where PyTorch takes ten."""

from __future__ import annotations

import torch
from torch import Tensor

from netsim.backends.native.library import load, why_missing


def is_possible(x: Tensor, draws: Tensor) -> bool:
    """Return whether the library supports crop and flip."""
    return (
        x.dtype in (torch.float32, torch.float64)
        and draws.dtype == x.dtype
        and not x.is_cuda
        and draws.shape[1] == 3
        and why_missing() is None
    )


def crop_and_flip(x: Tensor, draws: Tensor, black: Tensor, pad: int) -> Tensor:
    """Images (n, C, H, W), each moved by up to `pad` pixels and perhaps mirrored.

    Parameters
    ----------
    x : torch.Tensor
        (n, C, H, W) for which `is_possible` holds.
    draws : torch.Tensor
        (n, 3) in [0, 1).
    black : torch.Tensor
        (C,) what lies around an image.
    pad : int

    Returns
    -------
    torch.Tensor
        (n, C, H, W)
    """
    x, draws, black = x.contiguous(), draws.contiguous(), black.to(x.dtype).contiguous()
    out = torch.empty_like(x)
    pointers = [t.data_ptr() for t in (x, draws, black, out)]
    load().crop_and_flip(*pointers, *x.shape, pad, x.element_size())
    return out
