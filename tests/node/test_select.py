"""Greedy selection against DPFL's Algorithm 2 as printed, but for its slips."""

import numpy as np
import pytest
import torch

from netsim.learning.select import greedy, pooled


def algorithm_2(k, S, budget, coins, p, w, loss):
    """GGC(k, S, B): X grows, Y shrinks; each reward is computed from scratch.

    Line 6 normalises over Y without j, and the budget is looked at within the loop: the two slips.
    """

    def reward(Z):
        total = sum(p[i] for i in Z)
        return -loss(sum(p[i] * w[i] for i in Z) / total)

    X, Y = [k], [k, *S]
    for j, u in zip(S, coins, strict=True):
        if budget is not None and len(X) >= budget:
            break
        a = max(reward([*X, j]) - reward(X), 0.0)
        b = max(reward([i for i in Y if i != j]) - reward(Y), 0.0)
        if u < (a / (a + b) if a + b > 0 else 1.0):
            X.append(j)
        else:
            Y.remove(j)
    return X


def instance(seed, candidates=7, width=6):
    """Models around a target, some of them far off; a bumpy loss."""
    rng = np.random.default_rng(seed)
    target = rng.normal(size=width)
    models = target + rng.normal(size=(1 + candidates, width)) * rng.uniform(0.1, 3)
    bumps = rng.normal(size=width)

    def loss(w):
        return float(((w - target) ** 2).sum() + 0.3 * np.sin(5 * w @ bumps))

    sizes = rng.integers(5, 100, 1 + candidates).astype(float)
    return models, sizes, rng.uniform(size=candidates), loss


def rows(models):
    return [torch.from_numpy(m) for m in models]


def chosen(weights):
    return [i for i, w in enumerate(weights.tolist()) if w > 0]


def on_rows(loss):
    return lambda row: loss(row.numpy())


@pytest.mark.thinned(2)
@pytest.mark.parametrize("budget", [None, 1, 2, 4])
def test_it_chooses_what_algorithm_2_chooses(budget):
    sizes_chosen = set()
    for seed in range(100):
        models, sizes, coins, loss = instance(seed)
        weights, _ = greedy(rows(models), list(sizes), list(coins), budget, on_rows(loss))
        X = algorithm_2(0, range(1, 8), budget, coins, sizes, models, loss)
        assert chosen(weights) == sorted(X)
        expected = np.zeros(8)
        expected[X] = sizes[X] / sizes[X].sum()
        np.testing.assert_allclose(weights.numpy(), expected, rtol=0, atol=1e-12)
        sizes_chosen.add(len(X))
    assert max(sizes_chosen) == (budget or max(sizes_chosen))
    assert budget is not None or len(sizes_chosen) > 2


@pytest.mark.thinned(2)
@pytest.mark.parametrize("budget", [None, 3])
@pytest.mark.parametrize("cuts", [(3,), (1, 2, 6), (7,)])
def test_batches_of_candidates_choose_what_one_call_chooses(budget, cuts):
    for seed in range(30):
        models, sizes, coins, loss = instance(seed)
        models, sizes, coins, loss = rows(models), list(sizes), list(coins), on_rows(loss)
        at_once, whole = greedy(models, sizes, coins, budget, loss)
        state, found = None, [0]
        for start, stop in zip((0, *cuts), (*cuts, 7), strict=True):
            batch = slice(1 + start, 1 + stop)
            state = pooled(state, [models[0], *models[batch]], [sizes[0], *sizes[batch]])
        for start, stop in zip((0, *cuts), (*cuts, 7), strict=True):
            batch = slice(1 + start, 1 + stop)
            weights, state = greedy(
                [models[0], *models[batch]],
                [sizes[0], *sizes[batch]],
                coins[start:stop],
                budget,
                loss,
                state,
            )
            found += [start + i for i in chosen(weights) if i > 0]
        assert found == chosen(at_once)
        torch.testing.assert_close(state, whole, rtol=0, atol=1e-9)


def test_the_state_is_left_as_it_was():
    models, sizes, coins, loss = instance(0)
    models, sizes = rows(models), list(sizes)
    state = pooled(None, models, sizes)
    before = state.clone()
    greedy(models, sizes, list(coins), None, on_rows(loss), state)
    assert torch.equal(state, before)


def test_a_candidate_that_changes_nothing_is_taken():
    """a = b = 0: probability 1, whatever the coin."""
    models = [torch.ones(3, dtype=torch.float64)] * 3
    weights, _ = greedy(models, [1.0, 2.0, 1.0], [0.99, 0.99], None, lambda row: 1.0)
    assert weights.tolist() == [0.25, 0.5, 0.25]


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_a_candidate_that_diverged_is_passed_over(bad):
    for seed in range(20):
        models, sizes, coins, loss = instance(seed, candidates=4)
        sound, _ = greedy(rows(models), list(sizes), list(coins), None, on_rows(loss))
        broken = models[2].copy()
        broken[1] = bad
        with_broken = [*models[:3], broken, *models[3:]]
        weights, _ = greedy(
            rows(with_broken),
            [*sizes[:3], 50.0, *sizes[3:]],
            [*coins[:2], 0.0, *coins[2:]],
            None,
            on_rows(loss),
        )
        assert weights[3] == 0
        kept = torch.cat([weights[:3], weights[4:]])
        torch.testing.assert_close(kept, sound, rtol=0, atol=1e-12)


def test_a_loss_that_is_not_finite_is_the_worst():
    own, good = torch.full((2,), 9.0), torch.zeros(2)

    def loss(row):
        return float("inf") if row.abs().max() > 8 else float(row.sum())

    weights, _ = greedy([own, good], [1.0, 1.0], [0.999], None, loss)
    assert weights.tolist() == [0.5, 0.5]


def test_a_node_selects_by_loss_on_its_validation_samples(learn, fresh_model):
    coins, sizes, steps = (0.3, 0.6, 0.9), (28.0, 20.0, 40.0, 10.0), (1, 8, 2)

    def process(node, found):
        thetas = [node.initial()]
        for n in steps:
            thetas.append((yield node.train(thetas[-1], steps=n)).theta)
        flipped = node.mix([thetas[2].part("head")], [-3.0])
        thetas[2] = thetas[2].with_part("head", flipped)
        found.t0, found.t1, found.t2, found.t3 = thetas
        found.weights, _ = node.select(thetas, sizes, coins, None)
        found.mixed = node.mix(thetas, found.weights)

    found = learn(process)
    held_out = found.world.shards.split(0, "validation")
    models = np.stack([t.numpy() for t in (found.t0, found.t1, found.t2, found.t3)])

    def loss(row):
        with torch.no_grad():
            logits = fresh_model(found.world, torch.from_numpy(row)).eval()(held_out.x)
        return float(torch.nn.functional.cross_entropy(logits, held_out.y))

    X = algorithm_2(0, (1, 2, 3), None, coins, sizes, models, loss)
    assert chosen(found.weights) == sorted(X)
    assert torch.isfinite(found.mixed).all()
