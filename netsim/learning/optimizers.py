"""Local optimisers on flat rows, equal to `torch.optim` step by step.

They are functions of (row, gradient, state), since the state of an optimiser is a value like any
other: new in each job, or carried from job to job by an algorithm as a Ref.
"""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from netsim.learning.jobs import Optimizer

ADAM_EPSILON = 1e-8
CLIP_EPSILON = 1e-6  # torch.nn.utils.clip_grad_norm_'s


def state_size(kind: str, num_values: int) -> int:
    """Entries of the state row: momentum for SGD; step count and two moments for Adam."""
    return num_values if kind == "sgd" else 1 + 2 * num_values


def step(
    constants: Optimizer,
    learning_rate: float,
    rows: Sequence[Tensor],
    gradients: Sequence[Tensor | None],
    state: Tensor,
    counts: list[float] | None = None,
) -> None:
    """One optimiser step, in place on rows and state.

    Parameters
    ----------
    constants : Optimizer
        Its learning rate is not used.
    learning_rate : float
    rows : sequence of torch.Tensor
        Flat parameters, (n_1,), (n_2,), ...
    gradients : sequence of torch.Tensor
        Their gradients, which are not changed; None for parameters that the step leaves alone.
    state : torch.Tensor
        (state_size(kind, n_1 + n_2 + ...),), zeros at first.
    counts : list of float, optional
        Of `counts` at first, changed in place; `keep_counts` puts them into the state. Absent:
        every row has a gradient in every step.
    """
    c = constants
    if c.clip_norm is not None:
        gradients = _clip_gradients(gradients, c.clip_norm)
    if c.weight_decay:
        pairs = zip(gradients, rows, strict=True)
        gradients = [None if g is None else g.add(r, alpha=c.weight_decay) for g, r in pairs]
    sizes = [r.numel() for r in rows]
    if c.kind == "sgd":
        _sgd(c, learning_rate, rows, gradients, torch.split(state, sizes))
    else:
        moments = torch.split(state[1:], [*sizes, *sizes])
        if counts is None:
            counts = [float(state[0])] * len(rows)
            state[0] += 1
        _adam(c, learning_rate, rows, gradients, counts, moments)


def counts(constants: Optimizer, rows: Sequence[Tensor], state: Tensor) -> list[float]:
    """Steps that Adam has taken of each row; NaN: the state does not tell.

    Parameters
    ----------
    constants : Optimizer
    rows : sequence of torch.Tensor
        As for `step`.
    state : torch.Tensor
        As for `step`.
    """
    if constants.kind == "sgd":
        return []
    begun = float(state[0])
    if not begun:
        return [0.0] * len(rows)
    firsts = torch.split(state[1:], [r.numel() for r in rows] * 2)[: len(rows)]
    return [
        math.nan if bool(f.isnan().any() & r.isfinite().all()) else begun
        for f, r in zip(firsts, rows, strict=True)
    ]


def keep_counts(
    constants: Optimizer, rows: Sequence[Tensor], state: Tensor, counts: Sequence[float]
) -> None:
    """Put Adam's counts of steps into a state.

    A state has one count. PyTorch has one a row, and leaves out steps without a gradient of that
    row: moments of rows with another count than the state's become NaN.

    Parameters
    ----------
    constants : Optimizer
    rows : sequence of torch.Tensor
        As for `step`.
    state : torch.Tensor
        As for `step`, changed in place.
    counts : sequence of float
    """
    if constants.kind == "sgd":
        return
    state[0] = most = max((c for c in counts if not math.isnan(c)), default=0.0)
    moments = torch.split(state[1:], [r.numel() for r in rows] * 2)
    for k, count in enumerate(counts):
        if count != most:
            moments[k].fill_(math.nan)


def _clip_gradients(gradients: Sequence[Tensor | None], largest: float) -> list[Tensor | None]:
    """All gradients scaled by one factor so that their joint L2 norm is at most `largest`."""
    norms = [g.norm() for g in gradients if g is not None]
    norm = torch.linalg.vector_norm(torch.stack(norms))
    factor = (largest / (norm + CLIP_EPSILON)).clamp(max=1.0)
    return [None if g is None else g * factor for g in gradients]


def _sgd(
    c: Optimizer,
    learning_rate: float,
    rows: Sequence[Tensor],
    gradients: Sequence[Tensor | None],
    velocities: Sequence[Tensor],
) -> None:
    for row, gradient, velocity in zip(rows, gradients, velocities, strict=True):
        if gradient is None:
            continue
        if c.momentum:
            gradient = velocity.mul_(c.momentum).add_(gradient)
        row.add_(gradient, alpha=-learning_rate)


def _adam(
    c: Optimizer,
    learning_rate: float,
    rows: Sequence[Tensor],
    gradients: Sequence[Tensor | None],
    counts: list[float],
    moments: Sequence[Tensor],
) -> None:
    half = len(rows)
    for k, (row, gradient) in enumerate(zip(rows, gradients, strict=True)):
        if gradient is None:
            continue
        first, second = moments[k], moments[half + k]
        counts[k] += 1
        count = counts[k]
        if math.isnan(count):
            raise RuntimeError(
                "the optimiser's state that goes on here has one count of Adam's steps, and this "
                "model has no gradient of some parameters in some steps; begin each training with "
                "a new state, or take SGD"
            )
        first.lerp_(gradient, 1 - c.beta1)
        second.mul_(c.beta2).addcmul_(gradient, gradient, value=1 - c.beta2)
        corrected = torch.sqrt(second).div_((1 - c.beta2**count) ** 0.5).add_(ADAM_EPSILON)
        row.addcdiv_(first, corrected, value=-learning_rate / (1 - c.beta1**count))


def adam_step(
    values: Tensor,
    gradient: Tensor,
    state: Tensor,
    learning_rate: float,
    weight_decay: float,
) -> tuple[Tensor, Tensor]:
    """One step of Adam (Kingma and Ba 2015; torch.optim.Adam's defaults) with a state per entry.

    Parameters
    ----------
    values, gradient : torch.Tensor
        (n,)
    state : torch.Tensor
        (3, n) first moment, second moment, steps taken; zeros at first. Steps are counted an entry
        because the weights of absent peers take none.
    learning_rate, weight_decay : float

    Returns
    -------
    values : torch.Tensor
        (n,)
    state : torch.Tensor
        (3, n)
    """
    gradient = gradient + weight_decay * values
    first = 0.9 * state[0] + 0.1 * gradient
    second = 0.999 * state[1] + 0.001 * gradient.square()
    steps = state[2] + 1
    scale = (second / (1 - 0.999**steps)).sqrt() + 1e-8
    after = values - learning_rate * first / (1 - 0.9**steps) / scale
    return after, torch.stack([first, second, steps])
