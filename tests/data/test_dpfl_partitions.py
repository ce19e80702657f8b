"""DPFL's partitions: Patho and the toy of Appendix A."""

import numpy as np
import pytest

from netsim.data.partitions import patho
from netsim.data.partitions.dpfl_toy import DpflToy
from netsim.data.partitions.patho import Patho
from netsim.errors import ScenarioError
from netsim.rng import Streams

CLASSES, OF_A_CLASS, OF_A_CLASS_IN_TEST = 10, 503, 100
LABELS = np.random.default_rng(0).permutation(
    np.repeat(np.arange(CLASSES), OF_A_CLASS + OF_A_CLASS_IN_TEST)
)
TEST = np.sort(
    np.concatenate([np.flatnonzero(c == LABELS)[:OF_A_CLASS_IN_TEST] for c in range(CLASSES)])
)
TRAIN = np.setdiff1d(np.arange(len(LABELS)), TEST)


def split(partition, nodes, seed=0):
    return partition.split(LABELS, TRAIN, TEST, CLASSES, nodes, Streams(seed))


def counts(rows):
    return np.bincount(LABELS[rows], minlength=CLASSES)


def table(shards):
    return np.stack([counts(s.train) for s in shards])


def are_disjoint(parts):
    rows = np.concatenate(parts)
    return len(np.unique(rows)) == len(rows)


# -- patho ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_patho_gives_all_rows_out_once_and_three_classes_to_each_node(seed):
    shards = split(Patho(), 20, seed)
    given = table(shards)
    assert ((given > 0).sum(axis=1) == 3).all()
    assert given[given > 0].min() >= 10
    assert np.array_equal(np.sort(np.concatenate([s.train for s in shards])), TRAIN)
    assert np.array_equal(np.sort(np.concatenate([s.test for s in shards])), TEST)


def test_patho_test_rows_follow_the_training_proportions():
    for shard in split(Patho(), 20):
        held = counts(shard.train)
        given = counts(shard.test)
        assert (given[held == 0] == 0).all()
        assert (given <= np.rint(held * OF_A_CLASS_IN_TEST / OF_A_CLASS) + 1).all()


def test_patho_draws_every_set_of_classes_alike():
    """200 nodes, 1 of 10 classes each: a class has Binomial(200, 0.1) holders.

    Deviation sqrt(200 * 0.09) = 4.24; five of them over ten classes fail once in 170,000 runs.
    """
    shards = split(Patho(classes_per_node=1, min_samples=1, alpha=100.0), 200)
    holders = (table(shards) > 0).sum(axis=0)
    assert np.abs(holders - 20).max() < 5 * 4.24


@pytest.mark.slow
def test_patho_proportions_have_the_expected_spread():
    """One class a node, 20 nodes: the share of one of K holders is Beta(a, (K-1) a).

    Its variance is (K-1) / (K^2 (K a + 1)), so the squared deviation from 1/K over that has mean 1.
    With a = 1 its own variance is at most 8 (that of the exponential's, K large); over 100 splits
    of 20 nodes it is 1 +- sqrt(8 / 2000) = 0.063, and four of them are 0.25.
    """
    found = []
    for seed in range(100):
        given = table(split(Patho(classes_per_node=1, min_samples=1, alpha=1.0), 20, seed))
        for column in given.T:
            k = np.count_nonzero(column)
            if k > 1:
                share = column[column > 0] / OF_A_CLASS
                found += list((share - 1 / k) ** 2 / ((k - 1) / (k**2 * (k + 1))))
    assert np.mean(found) == pytest.approx(1, abs=0.25)


def test_patho_of_another_seed_is_another_one():
    assert not np.array_equal(table(split(Patho(), 20)), table(split(Patho(), 20, seed=1)))


@pytest.mark.slow
def test_patho_of_the_papers_hundred_nodes_is_drawn_in_time():
    labels = np.repeat(np.arange(10), 6000)
    test = np.flatnonzero(np.arange(60_000) % 6 == 0)
    train = np.flatnonzero(np.arange(60_000) % 6 > 0)
    shards = Patho().split(labels, train, test, 10, 100, Streams(0))
    assert sum(len(s.train) for s in shards) == 50_000
    assert min(len(s.test) for s in shards) > 0


# -- toy ------------------------------------------------------------------------------------------


def test_dpfl_toy_has_the_counts_of_appendix_a():
    shards = split(DpflToy(), 3)
    assert table(shards).tolist() == [
        [50, 0, 0, 0, 50, 0, 50, 0, 50, 0],
        [300, 200, 0, 200, 0, 0, 300, 0, 0, 0],
        [0, 0, 0, 0, 300, 200, 0, 200, 300, 0],
    ]
    assert are_disjoint([s.train for s in shards])
    assert are_disjoint([s.test for s in shards])


def test_dpfl_toy_tests_with_the_training_mix():
    """100 test rows for 503 training rows: 50, 200, 300 give 9.9, 39.8, 59.6, rounded down."""
    shards = split(DpflToy(), 3)
    for shard in shards:
        expected = {0: 0, 50: 9, 200: 39, 300: 59}
        assert counts(shard.test).tolist() == [expected[n] for n in counts(shard.train).tolist()]


def test_dpfl_toy_shrinks_for_small_data():
    assert table(split(DpflToy(factor=0.2), 3)).sum(axis=1).tolist() == [40, 200, 200]


@pytest.mark.parametrize(
    ("partition", "nodes", "message"),
    [
        (Patho(classes_per_node=11), 20, r"the data has 10 classes; take at most 10"),
        (Patho(), 3, r"can't hold all 10 classes; take at least 4 nodes"),
        (Patho(), 168, r"need 5040 training rows, the data has 5030; take fewer nodes"),
        (Patho(min_samples=80), 20, r"gave each of the \d+ holders of class \d 80 of its 503"),
        (DpflToy(), 4, r"it is for 3 nodes, there are 4"),
        (DpflToy(factor=2.0), 3, r"700 samples of class 0, the data has 503; take factor = 1.43"),
        (DpflToy(factor=0.001), 3, r"factor = 0.001 leaves a node without .* take a larger one"),
    ],
)
def test_what_can_not_be_is_refused_with_the_numbers(partition, nodes, message, monkeypatch):
    monkeypatch.setattr(patho, "_MAX_DRAWS", 2048)
    with pytest.raises(ScenarioError, match=message):
        split(partition, nodes)


def test_dpfl_toy_needs_nine_classes():
    with pytest.raises(ScenarioError, match=r"needs classes 0 to 8, the data has 5"):
        DpflToy().split(LABELS % 5, TRAIN, TEST, 5, 3, Streams(0))


def test_patho_gives_up_with_a_remedy(monkeypatch):
    monkeypatch.setattr(patho, "_MAX_TRIES", 3)
    with pytest.raises(ScenarioError, match=r"none of 3 draws .* each of 20 nodes one of 21 test"):
        Patho().split(LABELS, TRAIN, TEST[:21], CLASSES, 20, Streams(0))
    with pytest.raises(ScenarioError, match=r"20 nodes with a test row each, the data has 19"):
        Patho().split(LABELS, TRAIN, TEST[:19], CLASSES, 20, Streams(0))
