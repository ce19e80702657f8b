"""Rounding that two ways of computing the same may differ by, and differences beyond it.

Two orders of adding up the same numbers differ by rounding, and a ReLU whose argument is 0 but for
rounding may be on in one and off in the other. So a difference counts from a hundredth of what
training has moved a tensor by, in float64 a millionth. Adam divides rounding by rounding where a
gradient should be 0: gradients are compared by steps of SGD, and the steps of Adam are a function
of the row alone.

Deep models can amplify rounding until PyTorch's own float32 is as far from its float64 as training
has moved a tensor. There float32 can't tell a mistake from rounding. So where it differs, the same
is computed in float64, where rounding stays small: a backend has only rounded if it agrees there,
and if its float32 is about as near to that as PyTorch's float32 is. In the numbers of the model,
rounding is what comes of another last bit of the start.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from netsim.learning.jobs import Optimizer

SHARE = {torch.float32: 1e-2, torch.float64: 1e-6}
"""Difference that counts, as a share of how far training has moved a tensor."""

ROUNDINGS = 64
"""Difference of so many units in the last place of the largest entry is rounding."""


OWN_ROUNDING = 4.0
"""Most times that a tensor in float32 is as far from float64 as PyTorch's float32, if it has only
rounded."""

TELLS_NOTHING = 0.1
"""Share of how far training has moved a tensor: where PyTorch's own float32 is farther than that
from its float64, float32 says nothing of it, and float64 alone decides."""


def as_sgd(optimizer: Optimizer) -> Optimizer:
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
    most, moved = _distance(ours, plain), _distance(plain, start)
    if most <= SHARE[plain.dtype] * moved + _rounding(plain, farthest):
        return None
    return f"differs by {most:.1e}, having moved by {moved:.1e}"


def perturb_last_bits(model: nn.Module, seed: int) -> None:
    """Change the last bits of a model's parameters.

    Parameters
    ----------
    model : torch.nn.Module
        Each number of its parameters goes up or down by one unit of rounding.
    seed : int
    """
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.is_floating_point():
                ups = torch.randint(2, parameter.shape, generator=generator) * 2 - 1
                step = torch.finfo(parameter.dtype).eps * ups.to(parameter.device, parameter.dtype)
                parameter.add_(parameter * step)


def amplifies_rounding(
    ours: Tensor, plain: Tensor, others: Sequence[Tensor], start: Tensor, farthest: float
) -> bool | None:
    """Return whether ours is as near to plain as others are that began with other last bits.

    Parameters
    ----------
    ours, plain : torch.Tensor
        Of one shape.
    others : sequence of torch.Tensor
        By the same loop as plain, from a start that `perturb_last_bits` changed.
    start : torch.Tensor
        What they were before training.
    farthest : float
        How far training has moved any number of the model.

    Returns
    -------
    bool or None
        None if it is farther; False if the others themselves are too far apart to tell.
    """
    if not plain.numel():
        return True
    spread = max(_distance(other, plain) for other in others)
    difference = beyond_rounding(ours, plain, start, farthest)
    if difference is not None and not _distance(ours, plain) <= OWN_ROUNDING * spread:
        return None
    return spread <= TELLS_NOTHING * _distance(plain, start) + _rounding(plain, farthest)


def _distance(one: Tensor, other: Tensor) -> float:
    return float((one - other).abs().max())


def _rounding(plain: Tensor, farthest: float) -> float:
    """Return the difference that is rounding, whatever training has moved."""
    size = max(float(plain.abs().max()), farthest)
    return ROUNDINGS * torch.finfo(plain.dtype).eps * size


def rounds_like(ours: Tensor, plain: Tensor, exact: Tensor, start: Tensor) -> bool:
    """Return whether ours is about as near to float64 as PyTorch's float32.

    Parameters
    ----------
    ours, plain : torch.Tensor
        Of one shape, in float32.
    exact : torch.Tensor
        The same by PyTorch in float64.
    start : torch.Tensor
        What they were before training.
    """
    own = _distance(plain, exact)
    if own > TELLS_NOTHING * _distance(exact, start):
        return bool(ours.isfinite().all())
    return _distance(ours, exact) <= OWN_ROUNDING * own
