"""Random crops and horizontal flips, the augmentation of the CIFAR experiments.

Each image is padded by 4 black pixels a side, cropped to its size again and flipped with
probability 1/2 (He et al. 2016, Section 4.2; pFedGraph, DPFL and the baselines of MAPL use it, in
training only). Draws come with the batch: a loss that uses this is declared
`@loss(uniforms=CROP_FLIP_DRAWS)`.
"""

from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from netsim.backends.native import crop_flip as native
from netsim.errors import UnsuitableError
from netsim.learning.functions import loss
from netsim.learning.shards import Batch

CROP_FLIP_DRAWS = 3
"""Per image: row and column of the crop, flip."""


def crop_and_flip(batch: Batch, pad: int = 4) -> Tensor:
    """Images (n, C, H, W), each moved by up to `pad` pixels and perhaps mirrored.

    Examples
    --------
    >>> @loss(uniforms=CROP_FLIP_DRAWS)
    ... def my_loss(model, batch, learned):
    ...     return F.cross_entropy(model(crop_and_flip(batch)), batch.y, label_smoothing=0.1)

    Raises
    ------
    ValueError
        If the samples are no images.
    """
    x, draws = batch.x, batch.uniforms
    if x.dim() != 4:
        raise ValueError(f"augment = true is for images, samples of shape {tuple(x.shape[1:])}")
    assert draws is not None, "the loss needs @loss(uniforms=CROP_FLIP_DRAWS)"
    black = native.black_of(x, x.shape[1], batch.scale)
    if native.is_possible(x, draws):
        found: Tensor = _Moved.apply(x, draws, black, pad)  # type: ignore[no-untyped-call]
        native.record_crop_flip(native.CropFlipCall(x, draws, batch.scale, pad, found))
        return found
    return _shift_and_flip(x, draws, black, pad)


def _shift_and_flip(x: Tensor, draws: Tensor, black: Tensor, pad: int) -> Tensor:
    """The same by PyTorch's operations; see `netsim.backends.native.crop_flip` for shapes."""
    n, channels, height, width = x.shape
    black = black[:, None]
    shift = (draws[:, :2] * (2 * pad + 1)).long() - pad
    down, across = torch.arange(height, device=x.device), torch.arange(width, device=x.device)
    mirrored = torch.where(draws[:, 2:] < 0.5, across.flip(0), across)
    rows, columns = shift[:, :1] + down, shift[:, 1:] + mirrored
    inside = _is_inside(rows, height)[:, :, None] & _is_inside(columns, width)[:, None, :]
    rows, columns = rows.clamp(0, height - 1), columns.clamp(0, width - 1)
    # One gather: to pad, and then to take pixels by row and column, takes three times as long.
    pixels = (rows[:, :, None] * width + columns[:, None, :]).flatten(1)[:, None]
    found = x.flatten(2).gather(2, pixels.expand(n, channels, height * width))
    moved = (found - black) + black  # black is 0 while images move
    return torch.where(inside.flatten(1)[:, None], moved, black).view_as(x)


def _is_inside(places: Tensor, size: int) -> Tensor:
    return (places >= 0) & (places < size)


def _lanes_first(x: Tensor, dim: int | None, lanes: int) -> Tensor:
    return x.expand(lanes, *x.shape) if dim is None else x.movedim(dim, 0)


class _Moved(torch.autograd.Function):
    """Images moved by the native library; under `vmap` those of all lanes at once."""

    @staticmethod
    def forward(x: Tensor, draws: Tensor, black: Tensor, pad: int) -> Tensor:
        return native.crop_and_flip(x, draws, black, pad)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        x, draws, black, ctx.pad = inputs
        ctx.save_for_backward(x, draws, black)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Any:
        x, draws, black = ctx.saved_tensors
        _, back = torch.func.vjp(lambda x: _shift_and_flip(x, draws, black, ctx.pad), x)  # type: ignore[misc]
        return *back(gradient), None, None, None

    @staticmethod
    def vmap(
        info: Any, in_dims: Sequence[int | None], x: Tensor, draws: Tensor, black: Tensor, pad: int
    ) -> tuple[Tensor, int]:
        x = _lanes_first(x, in_dims[0], info.batch_size)
        draws = _lanes_first(draws, in_dims[1], info.batch_size)
        moved: Tensor = _Moved.apply(x.flatten(0, 1), draws.flatten(0, 1), black, pad)  # type: ignore[no-untyped-call]
        return moved.view(x.shape), 0


@loss(uniforms=CROP_FLIP_DRAWS)
def augmented_cross_entropy(model: Any, batch: Batch, learned: dict[str, Tensor]) -> Tensor:
    """Cross-entropy on images cropped and mirrored at random, a loss for `node.train`.

    Parameters
    ----------
    model : callable
        (n, C, H, W) -> logits (n, L).
    batch : Batch
    learned : dict
        Not used.

    Returns
    -------
    torch.Tensor
        Scalar.

    Raises
    ------
    UnsuitableError
        If the task has no classes.
    """
    if not batch.task.has_classes:
        raise UnsuitableError(
            "augment = true is for images with one class each, and [task] has another kind; leave "
            "it out"
        )
    return F.cross_entropy(model(crop_and_flip(batch)), batch.y)
