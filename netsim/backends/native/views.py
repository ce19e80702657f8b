"""Random views of images by the native library, for losses that the kernel trains by."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import torch
from torch import Tensor

from netsim.backends.native.library import Variant, load_library

_variant: ContextVar[Variant | None] = ContextVar("variant", default=None)


class _Record(ctypes.Structure):
    _fields_ = [
        *((name, ctypes.c_void_p) for name in ("x", "how", "means", "deviations", "out", "room")),
        *((name, ctypes.c_int64) for name in ("n", "channels", "height", "width")),
    ]


@contextmanager
def use_variant(variant: Variant) -> Iterator[None]:
    """Let the library make views inside the `with` block, on one instruction set."""
    token = _variant.set(variant)
    try:
        yield
    finally:
        _variant.reset(token)


def is_possible(x: Tensor) -> bool:
    """Return whether the library makes views of these images."""
    known = x.dtype in (torch.float32, torch.float64) and not x.is_cuda and x.dim() == 4
    return known and _variant.get() is not None


def views(x: Tensor, how: Tensor, means: Tensor, deviations: Tensor) -> Tensor:
    """A view of each image.

    Parameters
    ----------
    x : torch.Tensor
        (n, C, H, W) for which `is_possible` holds.
    how : torch.Tensor
        (n, 15): top, left, height and width of the crop; whether it is mirrored,
        its colours change, it is grey; the four changes in their order; the amounts of these.
    means, deviations : torch.Tensor
        (C,) by which pixels were scaled.

    Returns
    -------
    torch.Tensor
        (n, C, H, W)
    """
    found: Tensor = _Views.apply(x, how, means, deviations)  # type: ignore[no-untyped-call]
    return found


def _make_views(x: Tensor, how: Tensor, means: Tensor, deviations: Tensor) -> Tensor:
    variant = _variant.get()
    assert variant is not None
    x, how = x.contiguous(), how.to(x.dtype).contiguous()
    means, deviations = means.to(x.dtype).contiguous(), deviations.to(x.dtype).contiguous()
    out, room = torch.empty_like(x), x.new_empty(3 * x.shape[3])
    pointers = [t.data_ptr() for t in (x, how, means, deviations, out, room)]
    record = _Record(*pointers, *x.shape)
    load_library().views(ctypes.byref(record), variant.number, x.element_size())
    return out


class _Views(torch.autograd.Function):
    """The same under `vmap`: of all lanes at once."""

    @staticmethod
    def forward(x: Tensor, how: Tensor, means: Tensor, deviations: Tensor) -> Tensor:
        return _make_views(x, how, means, deviations)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        """Nothing is kept: views have no gradient."""

    @staticmethod
    def vmap(
        info: Any, in_dims: Sequence[int | None], x: Tensor, how: Tensor, *scale: Tensor
    ) -> tuple[Tensor, int]:
        lanes = [
            t.expand(info.batch_size, *t.shape) if d is None else t.movedim(d, 0)
            for t, d in zip((x, how), in_dims, strict=False)
        ]
        whole, of_each = (t.flatten(0, 1) for t in lanes)
        made: Tensor = _Views.apply(whole, of_each, *scale)  # type: ignore[no-untyped-call]
        return made.view(lanes[0].shape), 0
