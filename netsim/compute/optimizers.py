"""Local optimisers on flat rows, equal to `torch.optim` step by step.

They are functions of (row, gradient, state) because optimiser state is a value like any other:
fresh for each job, or carried by an algorithm as a Ref.
"""

import torch
from torch import Tensor

from netsim.compute.jobs import Optimizer

ADAM_EPSILON = 1e-8
CLIP_EPSILON = 1e-6  # torch.nn.utils.clip_grad_norm_'s


def state_size(kind: str, num_values: int) -> int:
    """Entries of the state row: momentum for SGD; step count and two moments for Adam."""
    return num_values if kind == "sgd" else 1 + 2 * num_values


def step(constants: Optimizer, rows: list[Tensor], gradients: list[Tensor], state: Tensor) -> None:
    """One optimiser step, in place.

    Parameters
    ----------
    constants : Optimizer
    rows, gradients : list of torch.Tensor
        Flat parameters, (n_1,), (n_2,), ..., and their gradients.
    state : torch.Tensor
        (state_size(kind, n_1 + n_2 + ...),), zeros at first.
    """
    if constants.clip_norm is not None:
        _clip(gradients, constants.clip_norm)
    update = _sgd if constants.kind == "sgd" else _adam
    count = 1.0
    if constants.kind == "adam":
        state[0] += 1
        count = float(state[0])
        state = state[1:]
    start, total = 0, sum(r.numel() for r in rows)
    for row, gradient in zip(rows, gradients, strict=True):
        if constants.weight_decay:
            gradient.add_(row, alpha=constants.weight_decay)
        update(constants, row, gradient, state, start, total, count)
        start += row.numel()


def _clip(gradients: list[Tensor], largest: float) -> None:
    """Scale all gradients by one factor so that their joint L2 norm is at most `largest`."""
    norm = torch.linalg.vector_norm(torch.stack([g.norm() for g in gradients]))
    factor = (largest / (norm + CLIP_EPSILON)).clamp(max=1.0)
    for gradient in gradients:
        gradient.mul_(factor)


def _sgd(
    c: Optimizer, row: Tensor, gradient: Tensor, state: Tensor, start: int, total: int, count: float
) -> None:
    if c.momentum:
        velocity = state[start : start + row.numel()]
        velocity.mul_(c.momentum).add_(gradient)
        gradient = velocity
    row.add_(gradient, alpha=-c.learning_rate)


def _adam(
    c: Optimizer, row: Tensor, gradient: Tensor, state: Tensor, start: int, total: int, count: float
) -> None:
    first = state[start : start + row.numel()]
    second = state[total + start : total + start + row.numel()]
    first.lerp_(gradient, 1 - c.beta1)
    second.mul_(c.beta2).addcmul_(gradient, gradient, value=1 - c.beta2)
    corrected = torch.sqrt(second).div_((1 - c.beta2**count) ** 0.5).add_(ADAM_EPSILON)
    row.addcdiv_(first, corrected, value=-c.learning_rate / (1 - c.beta1**count))
