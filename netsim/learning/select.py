"""Greedy selection of models by validation loss (DPFL, Kharrat et al. 2024, Algorithms 2 and 3).

The state of a selection is one row, so that it can be carried from batch to batch of candidates:
`[count, sum_x, sum_y, *w_x, *w_y]` where X is the set chosen so far (the node itself first), Y all
that is not yet rejected, `sum` the total size of a set and `w` its size-weighted sum of models.
A candidate that has diverged (nan or inf) is in neither: nothing could be taken out of a sum again
that it is in.
"""

import math
from collections.abc import Callable, Generator, Sequence

import torch
from torch import Tensor

HEADER = 3
"""Entries of the state before the two sums of models: count of X, size of X, size of Y."""


def state_length(num_values: int) -> int:
    """Entries of the state row for models of `num_values` entries."""
    return HEADER + 2 * num_values


def opening_state(
    own: Tensor, own_size: float, models: Sequence[Tensor], sizes: Sequence[float]
) -> Tensor:
    """X holds the node itself, Y the node and every candidate.

    Parameters
    ----------
    own : torch.Tensor
        (P,), the node's own model.
    models : sequence of torch.Tensor
        (P,) each, all candidates.
    """
    w_x = own * own_size
    w_y, sum_y = w_x.clone(), own_size
    for model, size in zip(models, sizes, strict=True):
        if _is_finite(model):
            w_y.add_(model, alpha=size)
            sum_y += size
    header = torch.tensor([1.0, own_size, sum_y]).to(own)
    return torch.cat([header, w_x, w_y])


def pooled(state: Tensor | None, models: Sequence[Tensor], sizes: Sequence[float]) -> Tensor:
    """A batch of candidates counted into Y before any of them is offered.

    Parameters
    ----------
    state : torch.Tensor or None
        Where an earlier batch left off; None for the first one.
    models : sequence of torch.Tensor
        (P,) each: the node's own model, then the candidates.
    sizes : sequence of float
        Their training sizes p, own first.

    Returns
    -------
    torch.Tensor
        (state_length(P),)
    """
    if state is None:
        return opening_state(models[0], sizes[0], models[1:], sizes[1:])
    state = state.clone()
    w_y = state[HEADER:].chunk(2)[1]
    for model, size in zip(models[1:], sizes[1:], strict=True):
        if _is_finite(model):
            w_y.add_(model, alpha=size)
            state[2] += size
    return state


def _is_finite(model: Tensor) -> bool:
    return bool(torch.isfinite(model).all())


def acceptance(loss_x: float, with_j: float, loss_y: float, without_j: float) -> float:
    """Probability of adding a candidate: its gain in X over that and the gain in Y without it.

    A loss that is not a number counts as infinite, and a candidate with which X has such a loss is
    never added: a mean with a diverged model in it would be lost for good.
    """
    loss_x, with_j, loss_y, without_j = (
        math.inf if math.isnan(v) else v for v in (loss_x, with_j, loss_y, without_j)
    )
    if with_j == math.inf:
        return 0.0
    gain_add = max(loss_x - with_j, 0.0)
    gain_remove = loss_y - without_j if without_j < loss_y else 0.0
    if gain_add == math.inf or gain_add + gain_remove == 0.0:
        return 1.0
    return gain_add / (gain_add + gain_remove)


def greedy(
    models: Sequence[Tensor],
    sizes: Sequence[float],
    coins: Sequence[float],
    budget: int | None,
    loss: Callable[[Tensor], float],
    state: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Offer each candidate in order; add it to X or remove it from Y.

    Parameters
    ----------
    models : sequence of torch.Tensor
        (P,) each: the node's own model, then the candidates, already shuffled.
    sizes : sequence of float
        Their training sizes p, own first.
    coins : sequence of float
        One draw in [0, 1) per candidate.
    budget : int or None
        Largest |X|, the node itself counted; None for no limit.
    loss : callable
        Validation loss of a (P,) model; the reward is R = -loss.
    state : torch.Tensor, optional
        Where an earlier batch of candidates left off.

    Returns
    -------
    weights : torch.Tensor
        (1 + candidates,) share of each model in the mean over X; 0 for those not chosen.
    state : torch.Tensor
        (state_length(P),)
    """
    asking = greedy_rounds(models, sizes, coins, budget, state)
    try:
        rows = next(asking)
        while True:
            rows = asking.send([loss(row) for row in rows])
    except StopIteration as end:
        result: tuple[Tensor, Tensor] = end.value
        return result


def greedy_rounds(
    models: Sequence[Tensor],
    sizes: Sequence[float],
    coins: Sequence[float],
    budget: int | None,
    state: Tensor | None = None,
) -> Generator[list[Tensor], list[float], tuple[Tensor, Tensor]]:
    """`greedy` round by round, so that many nodes can go through it in lock-step.

    It yields the models (P,) whose losses it needs next, is sent these losses, and returns what
    `greedy` does.
    """
    if state is None:
        state = opening_state(models[0], sizes[0], models[1:], sizes[1:])
    count, sum_x, sum_y = (float(v) for v in state[:HEADER])
    w_x, w_y = (half.clone() for half in state[HEADER:].chunk(2))
    chosen = [0.0] * len(sizes)
    chosen[0] = sizes[0]
    known: tuple[float, float] | None = None
    for index, coin in enumerate(coins, start=1):
        if budget is not None and count >= budget:
            break
        model, size = models[index], sizes[index]
        if not _is_finite(model):
            continue
        tried = [(w_x + size * model) / (sum_x + size), (w_y - size * model) / (sum_y - size)]
        if known is None:
            *first, with_j, without_j = yield [w_x / sum_x, w_y / sum_y, *tried]
            loss_x, loss_y = first
        else:
            loss_x, loss_y = known
            with_j, without_j = yield tried
        if coin < acceptance(loss_x, with_j, loss_y, without_j):
            w_x.add_(model, alpha=size)
            sum_x, count, chosen[index], loss_x = sum_x + size, count + 1, size, with_j
        else:
            w_y.sub_(model, alpha=size)
            sum_y, loss_y = sum_y - size, without_j
        known = loss_x, loss_y
    weights = torch.tensor(chosen).to(w_x) / sum_x
    header = torch.tensor([count, sum_x, sum_y]).to(w_x)
    return weights, torch.cat([header, w_x, w_y])
