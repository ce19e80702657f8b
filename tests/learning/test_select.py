"""Greedy selection against DPFL's pseudocode (Algorithms 2 and 3), written here a second time."""

import math

import numpy as np
import pytest
import torch

from netsim.learning.select import (
    batched_greedy_collaborators,
    greedy,
    greedy_collaborators,
    pooled,
)


def probability(r_x, r_x_with, r_y, r_y_without):
    """Of adding a candidate, from the rewards of X and Y with and without it."""
    a = max(r_x_with - r_x, 0.0)
    b = max(r_y_without - r_y, 0.0)
    return 1.0 if a + b == 0.0 else a / (a + b)


def algorithm_2(k, candidates, coins, reward, budget):
    x, y = [k], [k, *candidates]
    for j, coin in zip(candidates, coins, strict=True):
        if budget is not None and len(x) >= budget:
            break
        rest = [i for i in y if i != j]
        if coin < probability(reward(x), reward([*x, j]), reward(y), reward(rest)):
            x.append(j)
        else:
            y = rest
    return x


def algorithm_3(k, candidates, coins, models, sizes, loss, budget):
    def reward(ids):
        total = sum(sizes[i] for i in ids)
        return -loss(sum(sizes[i] * models[i] for i in ids) / total)

    return algorithm_2(k, candidates, coins, reward, budget)


def instance(number):
    """Models (P,) by node, their sizes, the order of candidates, coins, a loss, a budget."""
    draws = np.random.default_rng(number)
    count, length = 3 + number % 7, 1 + number % 5
    models = {j: draws.normal(size=length) for j in range(count)}
    sizes = {j: float(draws.integers(1, 90)) for j in range(count)}
    order = draws.permutation(np.arange(1, count)).tolist()
    coins = draws.random(len(order)).tolist()
    target = draws.normal(size=length)
    budget = (None, 2, 4)[number % 3]
    return models, sizes, order, coins, lambda w: float(((w - target) ** 2).sum()), budget


@pytest.mark.slow
@pytest.mark.parametrize("number", range(60))
def test_both_pure_functions_are_the_pseudocode(number):
    models, sizes, order, coins, loss, budget = instance(number)
    expected = algorithm_3(0, order, coins, models, sizes, loss, budget)

    def reward(ids):
        total = sum(sizes[i] for i in ids)
        return -loss(sum(sizes[i] * models[i] for i in ids) / total)

    assert greedy_collaborators(0, order, coins, reward, budget) == expected
    chosen = batched_greedy_collaborators(0, order, coins, models, sizes, loss, budget)
    assert chosen == expected


@pytest.mark.parametrize("number", range(0, 60, 7))
def test_models_may_be_tensors(number):
    models, sizes, order, coins, loss, budget = instance(number)
    rows = {j: torch.from_numpy(w) for j, w in models.items()}
    seen = []

    def loss_of_row(row):
        seen.append(type(row))
        return loss(row.numpy())

    arguments = (0, order, coins)
    expected = batched_greedy_collaborators(*arguments, models, sizes, loss, budget)
    found = batched_greedy_collaborators(*arguments, rows, sizes, loss_of_row, budget)
    assert found == expected
    assert set(seen) <= {torch.Tensor}


def test_models_and_sizes_that_are_given_stay_as_they_are():
    models, sizes, order, coins, loss, budget = instance(5)
    before = {j: w.copy() for j, w in models.items()}
    batched_greedy_collaborators(0, order, coins, models, sizes, loss, budget)
    assert all(np.array_equal(models[j], before[j]) for j in models)


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_diverged_candidate_is_left_out_and_spoils_nothing(bad):
    models, sizes, order, coins, loss, _ = instance(4)
    broken = order[0]
    sound = [j for j in order if j != broken]
    expected = algorithm_3(0, sound, coins[1:], models, sizes, loss, None)
    models[broken] = np.full_like(models[broken], bad)
    assert batched_greedy_collaborators(0, order, coins, models, sizes, loss, None) == expected


def test_sizes_need_not_be_whole_numbers():
    """The state holds them in the precision of the models."""
    own, other = torch.tensor([1.0, 2.0], dtype=torch.float64), torch.zeros(2, dtype=torch.float64)
    state = pooled(None, [own, other], [0.1, 0.2])
    assert state[:3].tolist() == [1.0, 0.1, 0.1 + 0.2]
    weights, _ = greedy([own, other], [0.1, 0.2], [0.0], None, lambda row: float(row.sum()))
    assert weights.tolist() == [0.1 / (0.1 + 0.2), 0.2 / (0.1 + 0.2)]
