"""Masks of dropout as PyTorch draws them, laid out for the kernel."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

MaskShapes = Sequence[tuple[tuple[int, ...], float]]
"""Shape of a sample's mask and probability of each dropout, in the order of drawing."""


def values_of(shapes: MaskShapes) -> int:
    """Values of all masks, a sample."""
    return sum(math.prod(shape) for shape, _ in shapes)


def draw(out: Tensor, shapes: MaskShapes, samples: int, generator: torch.Generator) -> None:
    """Draw the masks of one minibatch: 0, or 1 / (1 - p).

    Parameters
    ----------
    out : torch.Tensor
        (samples x values or more,), whose first values are overwritten: the masks of the first
        dropout for all samples, then those of the next.
    shapes : sequence of (tuple of int, float)
    samples : int
    generator : torch.Generator
        Gives the numbers that the layers draw.
    """
    at = 0
    for shape, p in shapes:
        size = samples * math.prod(shape)
        mask = out[at : at + size]
        if p < 1:
            mask.bernoulli_(1 - p, generator=generator).div_(1 - p)
        else:
            mask.zero_()
        at += size
