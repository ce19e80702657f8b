"""Greedy selection of models by validation loss (DPFL, Kharrat et al. 2024, Algorithms 2 and 3).

X is the set of models chosen so far (the node's own first) and Y all that are not yet rejected.
Each candidate in turn is added to X or removed from Y, by what either does to the validation loss
of the mean model of the set. The loop is written once (`offer_candidates`);
`netsim.learning.candidate_sets` has the two forms of sets that it runs on.
"""

import math
from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Any, TypeVar

import torch
from torch import Tensor

from netsim.learning.candidate_sets import (
    HEADER,
    IdSets,
    SelectionFacts,
    Sets,
    SumSets,
    as_state,
    initial_state,
    inspect_selections,
)

S = TypeVar("S")


def offer_candidates(
    sets: Sets[S], candidates: Sequence[int], coins: Sequence[float], budget: int | None
) -> Generator[list[S], list[float], None]:
    """The loop of Algorithms 2 and 3: add each candidate to X or remove it from Y.

    Parameters
    ----------
    sets : Sets
        X and Y, changed in place.
    candidates : sequence of int
        In the order in which they are offered.
    coins : sequence of float
        One draw in [0, 1) per candidate.
    budget : int or None
        Largest |X|, the node itself counted; None for no limit.

    Yields
    ------
    list
        Sets whose validation losses are needed next; the losses are sent back in this order. A
        loss that is known from the previous candidate is not asked for again.
    """
    known: tuple[float, float] | None = None
    for candidate, coin in zip(candidates, coins, strict=True):
        if budget is not None and sets.count >= budget:
            break
        if not sets.accepts(candidate):
            continue
        if known is None:
            loss_x, loss_y, with_it, without_it = yield [
                *sets.current_sets(),
                *sets.changed_sets(candidate),
            ]
        else:
            loss_x, loss_y = known
            with_it, without_it = yield sets.changed_sets(candidate)
        if coin < acceptance_probability(loss_x, with_it, loss_y, without_it):
            sets.add(candidate)
            loss_x = with_it
        else:
            sets.drop(candidate)
            loss_y = without_it
        known = loss_x, loss_y


def acceptance_probability(loss_x: float, with_j: float, loss_y: float, without_j: float) -> float:
    """Probability of adding a candidate: its gain in X over that and the gain in Y without it.

    A loss of nan counts as infinite, and a candidate with which X has such a loss is never added.

    Parameters
    ----------
    loss_x, with_j : float
        Validation loss of X, and of X with the candidate.
    loss_y, without_j : float
        Validation loss of Y, and of Y without the candidate.
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


def answer_questions(
    questions: Generator[list[S], list[float], Any], loss: Callable[[S], float]
) -> Any:
    """Run a generator of questions to its end, each answered by `loss`; what it returns."""
    try:
        asked = next(questions)
        while True:
            asked = questions.send([loss(one) for one in asked])
    except StopIteration as end:
        return end.value


def greedy_collaborators(
    k: int,
    candidates: Sequence[int],
    coins: Sequence[float],
    reward: Callable[[list[int]], float],
    budget: int | None,
) -> list[int]:
    """GGC, Algorithm 2: the collaborators of node k, from a reward of sets of nodes.

    Parameters
    ----------
    k : int
        The node that chooses.
    candidates : sequence of int
        Node ids, already shuffled.
    coins : sequence of float
        One draw in [0, 1) per candidate.
    reward : callable
        R of a list of ids: minus the validation loss of their mean model.
    budget : int or None
        Largest |X|, k counted; None for no limit.

    Returns
    -------
    list of int
        X in order of addition, beginning with k.
    """
    sets = IdSets(k, candidates)
    answer_questions(offer_candidates(sets, candidates, coins, budget), lambda ids: -reward(ids))
    return sets.x


def pooled(state: Tensor | None, models: Sequence[Tensor], sizes: Sequence[float]) -> Tensor:
    """Pass 1 of Algorithm 3: add a batch of candidates to Y, before any of them is offered.

    Parameters
    ----------
    state : torch.Tensor or None
        (state_length(P),) after an earlier batch; None for the first one.
    models : sequence of torch.Tensor
        (P,) each: the node's own model, then the candidates.
    sizes : sequence of float
        Their numbers of training samples p, own first.

    Returns
    -------
    torch.Tensor
        (state_length(P),)
    """
    ((finite, _),) = inspect_selections([(models, None)])
    if state is None:
        return as_state(*initial_state(models, sizes, finite))
    state = state.clone()
    w_y = state[HEADER:].chunk(2)[1]
    for model, size, is_finite in zip(models[1:], sizes[1:], finite[1:], strict=True):
        if is_finite:
            w_y.add_(model, alpha=size)
            state[2] += size
    return state


def greedy_rounds(
    models: Sequence[Tensor],
    sizes: Sequence[float],
    coins: Sequence[float],
    budget: int | None,
    state: Tensor | None,
    known: SelectionFacts,
) -> Generator[list[Tensor], list[float], tuple[Tensor, Tensor]]:
    """`greedy` as a generator, so that many nodes can go through it in lock-step.

    Parameters
    ----------
    models, sizes, coins, budget, state
        As for `greedy`.
    known : Seen
        Of the models and the state.

    Yields
    ------
    list of torch.Tensor
        Models (P,) whose validation losses are needed next; these are sent back.

    Returns
    -------
    weights, state : torch.Tensor
        As of `greedy`.
    """
    sets = SumSets(models, sizes, known, state)
    yield from offer_candidates(sets, range(1, 1 + len(coins)), coins, budget)
    return sets.weights(), sets.state()


def greedy(
    models: Sequence[Tensor],
    sizes: Sequence[float],
    coins: Sequence[float],
    budget: int | None,
    loss: Callable[[Tensor], float],
    state: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Pass 2 of Algorithm 3: add each candidate to X or remove it from Y, in order.

    Parameters
    ----------
    models : sequence of torch.Tensor
        (P,) each: the node's own model, then the candidates, already shuffled.
    sizes : sequence of float
        Their numbers of training samples p, own first.
    coins : sequence of float
        One draw in [0, 1) per candidate.
    budget : int or None
        Largest |X|, the node itself counted; None for no limit.
    loss : callable
        Validation loss of a (P,) model; the reward is R = -loss.
    state : torch.Tensor, optional
        (state_length(P),) after an earlier batch of candidates; None: the candidates at hand are Y.

    Returns
    -------
    weights : torch.Tensor
        (1 + candidates,) share of each model in the mean over X; 0 for those not chosen.
    state : torch.Tensor
        (state_length(P),)
    """
    (known,) = inspect_selections([(models, state)])
    found: tuple[Tensor, Tensor] = answer_questions(
        greedy_rounds(models, sizes, coins, budget, state, known), loss
    )
    return found


def batched_greedy_collaborators(
    k: int,
    candidates: Sequence[int],
    coins: Sequence[float],
    models: Mapping[int, Any],
    sizes: Mapping[int, float],
    validation_loss: Callable[[Any], float],
    budget: int | None,
) -> list[int]:
    """BGGC, Algorithm 3: the collaborators of node k, from running sums of models.

    Parameters
    ----------
    k : int
        The node that chooses.
    candidates : sequence of int
        Node ids, already shuffled.
    coins : sequence of float
        One draw in [0, 1) per candidate.
    models : mapping of int to (P,) torch.Tensor or numpy.ndarray
        By node id, k's own included.
    sizes : mapping of int to float
        Numbers of training samples p by node id, k's own included.
    validation_loss : callable
        Of a (P,) model of the kind of `models`; the reward is R = -validation_loss.
    budget : int or None
        Largest |X|, k counted; None for no limit.

    Returns
    -------
    list of int
        X in order of addition, beginning with k.
    """
    ids = [k, *candidates]
    are_tensors = isinstance(models[k], Tensor)
    rows = [torch.as_tensor(models[j]) for j in ids]
    each = [float(sizes[j]) for j in ids]
    (known,) = inspect_selections([(rows, None)])
    sets = SumSets(rows, each, known)
    answer_questions(
        offer_candidates(sets, range(1, len(ids)), coins, budget),
        validation_loss if are_tensors else lambda row: validation_loss(row.numpy()),
    )
    return [ids[number] for number in sets.chosen]
