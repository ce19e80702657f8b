"""Rounding that two ways of computing the same may differ by, and differences beyond it.

Two orders of adding up the same numbers differ by rounding, and a ReLU whose argument is 0 but for
rounding may be on in one and off in the other. So a difference counts from a hundredth of what
training has moved a tensor by, in float64 a millionth. Adam divides rounding by rounding where a
gradient should be 0: gradients are compared by steps of SGD, and the steps of Adam are a function
of the row alone.
"""

import torch
from torch import Tensor

from netsim.learning.jobs import Optimizer

SHARE = {torch.float32: 1e-2, torch.float64: 1e-6}
"""Difference that counts, as a share of how far training has moved a tensor."""

ROUNDINGS = 64
"""Difference of so many units in the last place of the largest entry is rounding."""


def stepwise(optimizer: Optimizer) -> Optimizer:
    """SGD with the other constants of an optimiser."""
    c = optimizer
    momentum = c.momentum if c.kind == "sgd" else 0.0
    return Optimizer("sgd", c.learning_rate, momentum, c.weight_decay, clip_norm=c.clip_norm)


def beyond_rounding(
    ours: Tensor, plain: Tensor, start: Tensor, farthest: float = 0.0
) -> str | None:
    """Return the difference of values, if it is more than rounding.

    Parameters
    ----------
    ours, plain : torch.Tensor
        Of one shape.
    start : torch.Tensor
        What they were before training.
    farthest : float
        How far training has moved any number of the model.
    """
    known = plain.isfinite()
    if not plain.numel() or not bool(known.all()):  # a model that diverges at once
        return None
    if not bool(ours.isfinite().all()):
        return "is not finite"
    most = float((ours - plain).abs().max())
    moved, size = float((plain - start).abs().max()), float(plain.abs().max())
    rounding = ROUNDINGS * torch.finfo(plain.dtype).eps * max(size, farthest)
    if most <= SHARE[plain.dtype] * moved + rounding:
        return None
    return f"differs by {most:.1e}, having moved by {moved:.1e}"
