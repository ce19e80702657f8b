"""The two sets of DPFL's greedy selection: X, the models chosen so far, and Y, those not rejected.

`IdSets` are lists of node ids, as in Algorithm 2. `SumSets` are running sums of models, as in
Algorithm 3. They can be carried from batch to batch of candidates as one row, the state:
`[count, sum_x, sum_y, *w_x, *w_y]`, where `count` = |X|, `sum` is the total size of a set and `w`
the size-weighted sum of its models. A model with nan or inf is left out of both sets, since a sum
that it is in stays nan when it is subtracted again.
"""

from collections.abc import Sequence
from typing import NamedTuple, Protocol, TypeVar

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

    def accepts(self, candidate: int) -> bool:
        """Return whether a candidate can be offered at all."""

    def current_sets(self) -> list[S]:
        """X and Y."""

    def changed_sets(self, candidate: int) -> list[S]:
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

    def accepts(self, candidate: int) -> bool:
        return True

    def current_sets(self) -> list[list[int]]:
        return [list(self.x), list(self.y)]

    def changed_sets(self, candidate: int) -> list[list[int]]:
        return [[*self.x, candidate], [i for i in self.y if i != candidate]]

    def add(self, candidate: int) -> None:
        self.x.append(candidate)

    def drop(self, candidate: int) -> None:
        self.y.remove(candidate)


def state_length(num_values: int) -> int:
    """Entries of the state row for models of `num_values` entries."""
    return HEADER + 2 * num_values


class SelectionFacts(NamedTuple):
    """Description of a selection's models and start state that needs no values.

    Attributes
    ----------
    finite : list of bool
        Whether each model has neither nan nor inf.
    header : list of float or None
        Of the state; None where there is none.
    """

    finite: list[bool]
    header: list[float] | None


def inspect_selections(
    selections: Sequence[tuple[Sequence[Tensor], Tensor | None]],
) -> list[SelectionFacts]:
    """Describe the models and states of selections; on a GPU this waits once for all of them.

    Parameters
    ----------
    selections : sequence of (sequence of torch.Tensor, torch.Tensor or None)
        Models (P,), and the state (state_length(P),) if there is one.
    """
    parts = []
    for models, state in selections:
        if models:
            flags = torch.stack([torch.isfinite(model).all() for model in models])
            parts.append(flags.to(models[0].dtype))
        if state is not None:
            parts.append(state[:HEADER])
    numbers = iter(torch.cat(parts).cpu().tolist() if parts else [])
    found = []
    for models, state in selections:
        finite = [bool(next(numbers)) for _ in models]
        header = None if state is None else [next(numbers) for _ in range(HEADER)]
        found.append(SelectionFacts(finite, header))
    return found


def initial_state(
    models: Sequence[Tensor], sizes: Sequence[float], finite: Sequence[bool]
) -> tuple[list[float], Tensor, Tensor]:
    """The node itself in X, and the node and every candidate in Y: header and sums of a state.

    Parameters
    ----------
    models : sequence of torch.Tensor
        (P,) each: the node's own, then all candidates.
    sizes : sequence of float
        Their numbers of training samples.
    finite : sequence of bool
        Which of them are.

    Returns
    -------
    header : list of float
        (HEADER,) in the precision of the models.
    w_x, w_y : torch.Tensor
        (P,)
    """
    w_x = models[0] * sizes[0]
    w_y, sum_y = w_x.clone(), sizes[0]
    for model, size, is_finite in zip(models[1:], sizes[1:], finite[1:], strict=True):
        if is_finite:
            w_y.add_(model, alpha=size)
            sum_y += size
    header: list[float] = torch.tensor([1.0, sizes[0], sum_y], dtype=w_x.dtype).tolist()
    return header, w_x, w_y


def as_state(header: Sequence[float], w_x: Tensor, w_y: Tensor) -> Tensor:
    """The state of two sets.

    Parameters
    ----------
    header : sequence of float
        (HEADER,)
    w_x, w_y : torch.Tensor
        (P,)

    Returns
    -------
    torch.Tensor
        (state_length(P),)
    """
    return torch.cat([to_device_of(header, w_x), w_x, w_y])


def to_device_of(values: Sequence[float], like: Tensor) -> Tensor:
    """Copy values to the device of `like`, (n,), without waiting for a GPU."""
    return torch.tensor(values, dtype=like.dtype).to(like.device, non_blocking=True)


class SumSets:
    """X and Y as size-weighted sums; a question is the mean model (P,) of a set.

    Parameters
    ----------
    models : sequence of torch.Tensor
        (P,) each: the node's own, then the candidates, which are numbered 1, 2, ...
    sizes : sequence of float
        Their numbers of training samples, own first.
    known : Seen
        Of the models and the state.
    state : torch.Tensor or None
        (state_length(P),) after an earlier batch of candidates; None: those at hand are Y.

    Attributes
    ----------
    chosen : list of int
        Numbers of the models that were added to X, 0 for the node's own.
    """

    def __init__(
        self,
        models: Sequence[Tensor],
        sizes: Sequence[float],
        known: SelectionFacts,
        state: Tensor | None = None,
    ) -> None:
        self._models, self._sizes, self._finite = models, sizes, known.finite
        if state is None:
            header, self._w_x, self._w_y = initial_state(models, sizes, known.finite)
        else:
            assert known.header is not None
            header = known.header
            self._w_x, self._w_y = (half.clone() for half in state[HEADER:].chunk(2))
        self.count, self._sum_x, self._sum_y = header
        self.chosen = [0]

    def accepts(self, candidate: int) -> bool:
        return self._finite[candidate]

    def current_sets(self) -> list[Tensor]:
        return [self._w_x / self._sum_x, self._w_y / self._sum_y]

    def changed_sets(self, candidate: int) -> list[Tensor]:
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
        return to_device_of(sizes, self._w_x) / self._sum_x

    def state(self) -> Tensor:
        """The row from which the next batch of candidates goes on, (state_length(P),)."""
        return as_state([self.count, self._sum_x, self._sum_y], self._w_x, self._w_y)
