"""The two sets of DPFL's greedy selection: X, the models chosen so far, and Y, those not rejected.

`IdSets` are lists of node ids, as in Algorithm 2. `SumSets` are running sums of models, as in
Algorithm 3. They can be carried from batch to batch of candidates as one row, the state:
`[count, sum_x, sum_y, *w_x, *w_y]`, where `count` = |X|, `sum` is the total size of a set and `w`
the size-weighted sum of its models. A model with nan or inf is left out of both sets, since a sum
that it is in stays nan when it is subtracted again.
"""

from collections.abc import Sequence
from typing import Protocol, TypeVar

import torch
from torch import Tensor

HEADER = 3
"""Entries of the state before the two sums of models: count of X, size of X, size of Y."""

S = TypeVar("S")


class Sets(Protocol[S]):
    """X and Y; `S` stands for a set in a question about its loss."""

    @property
    def count(self) -> int | float:
        """Models in X."""

    def takes(self, candidate: int) -> bool:
        """Whether a candidate can be offered at all."""

    def both(self) -> list[S]:
        """X and Y."""

    def changed(self, candidate: int) -> list[S]:
        """X with the candidate, and Y without it."""

    def add(self, candidate: int) -> None:
        """Add the candidate to X."""

    def drop(self, candidate: int) -> None:
        """Remove the candidate from Y."""


class IdSets:
    """X and Y as lists of node ids, in order of addition."""

    def __init__(self, own: int, candidates: Sequence[int]) -> None:
        self.x, self.y = [own], [own, *candidates]

    @property
    def count(self) -> int:
        return len(self.x)

    def takes(self, candidate: int) -> bool:
        return True

    def both(self) -> list[list[int]]:
        return [list(self.x), list(self.y)]

    def changed(self, candidate: int) -> list[list[int]]:
        return [[*self.x, candidate], [i for i in self.y if i != candidate]]

    def add(self, candidate: int) -> None:
        self.x.append(candidate)

    def drop(self, candidate: int) -> None:
        self.y.remove(candidate)


def state_length(num_values: int) -> int:
    """Entries of the state row for models of `num_values` entries."""
    return HEADER + 2 * num_values


def opening_state(
    own: Tensor, own_size: float, models: Sequence[Tensor], sizes: Sequence[float]
) -> Tensor:
    """The state with the node itself in X, and the node and every candidate in Y.

    Parameters
    ----------
    own : torch.Tensor
        (P,), the node's own model.
    own_size : float
        Its number of training samples.
    models : sequence of torch.Tensor
        (P,) each, all candidates.
    sizes : sequence of float
        Their numbers of training samples.

    Returns
    -------
    torch.Tensor
        (state_length(P),)
    """
    w_x = own * own_size
    w_y, sum_y = w_x.clone(), own_size
    for model, size in zip(models, sizes, strict=True):
        if is_finite(model):
            w_y.add_(model, alpha=size)
            sum_y += size
    return torch.cat([w_x.new_tensor([1.0, own_size, sum_y]), w_x, w_y])


def is_finite(model: Tensor) -> bool:
    """Whether a model (P,) has neither nan nor inf."""
    return bool(torch.isfinite(model).all())


class SumSets:
    """X and Y as size-weighted sums; a question is the mean model (P,) of a set.

    Parameters
    ----------
    models : sequence of torch.Tensor
        (P,) each: the node's own, then the candidates, which are numbered 1, 2, ...
    sizes : sequence of float
        Their numbers of training samples, own first.
    state : torch.Tensor
        (state_length(P),)

    Attributes
    ----------
    chosen : list of int
        Numbers of the models that were added to X, 0 for the node's own.
    """

    def __init__(self, models: Sequence[Tensor], sizes: Sequence[float], state: Tensor) -> None:
        self._models, self._sizes = models, sizes
        header: list[float] = state[:HEADER].tolist()
        self.count, self._sum_x, self._sum_y = header
        self._w_x, self._w_y = (half.clone() for half in state[HEADER:].chunk(2))
        self.chosen = [0]

    def takes(self, candidate: int) -> bool:
        return is_finite(self._models[candidate])

    def both(self) -> list[Tensor]:
        return [self._w_x / self._sum_x, self._w_y / self._sum_y]

    def changed(self, candidate: int) -> list[Tensor]:
        model, size = self._models[candidate], self._sizes[candidate]
        return [
            (self._w_x + size * model) / (self._sum_x + size),
            (self._w_y - size * model) / (self._sum_y - size),
        ]

    def add(self, candidate: int) -> None:
        size = self._sizes[candidate]
        self._w_x.add_(self._models[candidate], alpha=size)
        self._sum_x, self.count = self._sum_x + size, self.count + 1
        self.chosen.append(candidate)

    def drop(self, candidate: int) -> None:
        size = self._sizes[candidate]
        self._w_y.sub_(self._models[candidate], alpha=size)
        self._sum_y -= size

    def weights(self) -> Tensor:
        """Share of each of `models` in the mean over X, (1 + candidates,); 0 if not chosen."""
        sizes = [0.0] * len(self._sizes)
        for number in self.chosen:
            sizes[number] = self._sizes[number]
        return self._w_x.new_tensor(sizes) / self._sum_x

    def state(self) -> Tensor:
        """The row from which the next batch of candidates goes on, (state_length(P),)."""
        header = self._w_x.new_tensor([self.count, self._sum_x, self._sum_y])
        return torch.cat([header, self._w_x, self._w_y])
