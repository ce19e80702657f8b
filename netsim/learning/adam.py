"""One step of Adam on a few values, for what is learned beside a model (mixing weights)."""

import torch
from torch import Tensor


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
