"""DPFL's selections (Algorithms 2 and 3) against numbers by hand, and against each other."""

import math

import numpy as np
import pytest
import torch

from algorithms.dpfl import batched_greedy_collaborators, greedy_collaborators
from netsim.learning.select import acceptance_probability, greedy, pooled


def loss_of(target):
    """F(w) = ||w - target||^2."""
    return lambda w: float(((w - target) ** 2).sum())


def mean_reward(models, sizes, validation_loss):
    """R(Z) = -F(sum of p_i w_i / sum of p_i)."""

    def reward(ids):
        total = sum(sizes[i] for i in ids)
        return -validation_loss(sum(sizes[i] * models[i] for i in ids) / total)

    return reward


# F(w) = (w - 1)^2 with w_0 = 0, w_1 = 2, w_2 = 3, all p = 1, k = 0, candidates in the order 1, 2.
# Candidate 1: R(X) = -1, R(X + 1) = -(1 - 1)^2 = 0, so a = 1. Y = {0, 1, 2} has mean 5/3 and
# R = -4/9; without 1 the mean is 3/2 and R = -1/4, so b = 4/9 - 1/4 = 7/36. 1 is added with
# probability 1 / (1 + 7/36) = 36/43 = 0.8372...
# If it was added: X = {0, 1} has R = 0 and can't gain, a = 0; Y without 2 has mean 1, so b = 4/9:
# 2 is rejected whatever the coin. If not: X = {0} and Y = {0, 2}; X + 2 has R = -1/4, a = 3/4;
# Y without 2 is {0} with R = -1, b = 0: 2 is added whatever the coin.
MODELS = {0: np.array([0.0]), 1: np.array([2.0]), 2: np.array([3.0])}
ONES = dict.fromkeys(MODELS, 1.0)
F = loss_of(1.0)


@pytest.mark.parametrize(("coin", "expected"), [(0.837, [0, 1]), (0.838, [0, 2])])
@pytest.mark.parametrize("second_coin", [0.0, 0.999])
def test_a_candidate_is_added_with_its_share_of_the_gains(coin, second_coin, expected):
    coins = [coin, second_coin]
    reward = mean_reward(MODELS, ONES, F)
    assert greedy_collaborators(0, [1, 2], coins, reward, None) == expected
    assert batched_greedy_collaborators(0, [1, 2], coins, MODELS, ONES, F, None) == expected


def test_sizes_weigh_the_models():
    """p_1 = 3 moves the mean of X + 1 to 3/2 (R = -1/4, a = 3/4) and that of Y to 9/5 (-16/25);

    without 1 Y has R = -1/4, b = 39/100; 1 is added with probability 0.75 / 1.14 = 0.6578...
    """
    sizes = ONES | {1: 3.0}
    for coin, expected in ((0.657, 1), (0.658, 2)):
        reward = mean_reward(MODELS, sizes, F)
        assert greedy_collaborators(0, [1, 2], [coin, 0.0], reward, None)[1] == expected
        chosen = batched_greedy_collaborators(0, [1, 2], [coin, 0.0], MODELS, sizes, F, None)
        assert chosen[1] == expected


def test_a_triple_is_found_though_every_pair_hurts():
    """Appendix A: alone 60, either pair 49 (-11 points), all three 66 (+6).

    Candidate 2: a = max(49 - 60, 0) = 0, b = max(49 - 66, 0) = 0: added with probability 1.
    Candidate 3: a = 66 - 49, b = max(49 - 66, 0) = 0: added.
    """
    points = {(1,): 60, (1, 2): 49, (1, 3): 49, (1, 2, 3): 66}
    reward = lambda ids: points[tuple(sorted(ids))]  # noqa: E731
    assert greedy_collaborators(1, [2, 3], [0.999, 0.999], reward, None) == [1, 2, 3]
    assert greedy_collaborators(1, [3, 2], [0.999, 0.999], reward, None) == [1, 3, 2]


def test_equal_gains_are_a_fair_coin_and_none_at_all_adds():
    assert acceptance_probability(1.0, 0.5, 1.0, 0.5) == 0.5
    assert acceptance_probability(1.0, 1.0, 1.0, 1.0) == 1.0
    assert acceptance_probability(1.0, 2.0, 1.0, 2.0) == 1.0
    assert acceptance_probability(1.0, 2.0, 1.0, 0.5) == 0.0


@pytest.mark.parametrize("budget", [1, 2, 3, 4, 9])
def test_the_budget_counts_the_node_itself(budget):
    """Every candidate helps, so X is k and the first budget - 1 candidates."""
    candidates, coins = [5, 3, 8, 1], [0.0, 0.3, 0.6, 0.9]
    chosen = greedy_collaborators(7, candidates, coins, len, budget)
    assert chosen == [7, *candidates[: budget - 1]]


def test_rewards_are_reused_from_the_previous_candidate():
    """2 |S| + 2 validation passes, as X and Y change by one set a candidate."""
    asked = []

    def reward(ids):
        asked.append(tuple(ids))
        return -sum(ids) % 3

    greedy_collaborators(0, list(range(1, 9)), [0.5] * 8, reward, None)
    assert len(asked) == 2 * 8 + 2


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_diverged_candidate_is_never_added(bad):
    models = MODELS | {1: np.array([bad])}
    reward = mean_reward(models, ONES, F)
    with np.errstate(invalid="ignore"):
        assert greedy_collaborators(0, [1, 2], [0.0, 0.0], reward, None) == [0, 2]
        assert 1 not in batched_greedy_collaborators(0, [1, 2], [0.0] * 2, models, ONES, F, None)
    rows = [torch.tensor(models[j]) for j in range(3)]
    shares, _ = greedy(rows, [1.0] * 3, [0.0, 0.0], None, F)
    assert shares[1] == 0.0
    assert shares.isfinite().all()


def instance(number, candidates=9, width=5):
    """Random models around a random target, random sizes, a random budget or none."""
    rng = np.random.default_rng(number)
    models = {j: rng.normal(size=width) for j in range(candidates + 1)}
    sizes = {j: int(rng.integers(20, 400)) for j in models}
    order = [int(j) for j in 1 + rng.permutation(candidates)]
    budget = None if number % 3 == 0 else int(rng.integers(1, candidates + 2))
    return (
        models,
        sizes,
        order,
        list(rng.random(candidates)),
        loss_of(rng.normal(size=width)),
        budget,
    )


@pytest.mark.slow
def test_theorem_1_both_algorithms_select_the_same_sets():
    """Float64, 300 instances; running sums differ from fresh means in the last bits only."""
    chosen = []
    for number in range(300):
        models, sizes, order, coins, loss, budget = instance(number)
        reward = mean_reward(models, sizes, loss)
        ggc = greedy_collaborators(0, order, coins, reward, budget)
        assert ggc == batched_greedy_collaborators(0, order, coins, models, sizes, loss, budget)
        assert budget is None or len(ggc) <= budget
        chosen.append(len(ggc))
    assert len(set(chosen)) > 5  # from hardly any candidate to most of them


@pytest.mark.slow
@pytest.mark.parametrize("per_batch", [1, 2, 4, 9])
def test_selection_in_batches_is_algorithm_3(per_batch):
    """Compare jobs of `node.pool` and `node.select` with the pseudocode; shares are those of p."""
    for number in range(60):
        models, sizes, order, coins, loss, budget = instance(number)
        rows = {j: torch.tensor(w) for j, w in models.items()}
        as_numpy = lambda w, loss=loss: loss(w.numpy())  # noqa: E731
        batches = [order[i : i + per_batch] for i in range(0, len(order), per_batch)]
        state = pooled(None, [rows[0]], [sizes[0]])
        for batch in batches:
            ids = [0, *batch]
            state = pooled(state, [rows[j] for j in ids], [sizes[j] for j in ids])
        chosen, coin_of = [0], dict(zip(order, coins, strict=True))
        for batch in batches:
            ids = [0, *batch]
            shares, state = greedy(
                [rows[j] for j in ids],
                [sizes[j] for j in ids],
                [coin_of[j] for j in batch],
                budget,
                as_numpy,
                state,
            )
            chosen += [j for j, share in zip(batch, shares[1:], strict=True) if share > 0]
            total = sum(sizes[j] for j in chosen)
            for j, share in zip(ids, shares.tolist(), strict=True):
                expected = sizes[j] / total if j in chosen else 0.0
                assert share == pytest.approx(expected, abs=1e-12)
        assert chosen == batched_greedy_collaborators(0, order, coins, models, sizes, loss, budget)


def test_one_batch_needs_no_first_pass():
    """GGC, as each round runs it: the candidates at hand are Y."""
    for number in range(60):
        models, sizes, order, coins, loss, budget = instance(number)
        ids = [0, *order]
        shares, _ = greedy(
            [torch.tensor(models[j]) for j in ids],
            [sizes[j] for j in ids],
            coins,
            budget,
            lambda w, loss=loss: loss(w.numpy()),
        )
        reward = mean_reward(models, sizes, loss)
        expected = greedy_collaborators(0, order, coins, reward, budget)
        assert [j for j, share in zip(ids, shares, strict=True) if share > 0] == expected
