"""Images moved and mirrored by the native library: one pass over them, where PyTorch takes ten."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple

import torch
from torch import Tensor

from netsim.backends.native.library import load_library, why_missing


class CropFlipCall(NamedTuple):
    """One call of `netsim.protocols.crop_flip.crop_and_flip`.

    Attributes
    ----------
    x, draws : torch.Tensor
    scale : netsim.data.sets.Scale or None
        How pixels were normalised.
    pad : int
    found : torch.Tensor
        The result.
    """

    x: Tensor
    draws: Tensor
    scale: Any
    pad: int
    found: Tensor


_noted: ContextVar[list[CropFlipCall] | None] = ContextVar("noted", default=None)


@contextmanager
def record_crop_flips() -> Iterator[list[CropFlipCall]]:
    """Record calls in the list inside the `with` block."""
    found: list[CropFlipCall] = []
    token = _noted.set(found)
    try:
        yield found
    finally:
        _noted.reset(token)


def record_crop_flip(moving: CropFlipCall) -> None:
    """Record a call where a list is kept."""
    noted = _noted.get()
    if noted is not None:
        noted.append(moving)


def black_of(like: Tensor, channels: int, scale: Any) -> Tensor:
    """Black as images have it whose pixels were normalised.

    Parameters
    ----------
    like : torch.Tensor
        Has the type and device.
    channels : int
    scale : netsim.data.sets.Scale or None
        Means and deviations of channels; None: pixels are as they were.

    Returns
    -------
    torch.Tensor
        (channels,)
    """
    if scale is None:
        return like.new_zeros(channels)
    means, deviations = (like.new_tensor(values) for values in scale)
    black: Tensor = -means / deviations
    return black


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
    load_library().crop_and_flip(*pointers, *x.shape, pad, x.element_size())
    return out
