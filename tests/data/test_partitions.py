import numpy as np
import pytest
from pydantic import ValidationError
from scipy.special import gammaln

from netsim.data.partitions import Partition
from netsim.data.partitions.by_group import ByGroup
from netsim.data.partitions.class_mix import ClassMix
from netsim.data.partitions.dirichlet import Dirichlet
from netsim.data.partitions.iid import Iid
from netsim.errors import ScenarioError
from netsim.registry import family
from netsim.rng import Streams

CLASSES = 10
LABELS = np.random.default_rng(0).permutation(np.repeat(np.arange(CLASSES), 300))
TRAIN, TEST = np.arange(2000), np.arange(2000, 3000)
FAMILY = family("netsim.data.partitions")
KEYS = {
    "dpfl_toy": {"factor": 0.5},
    # its defaults are for 5,000 samples of each class
    "mapl_scenario": {
        "scenario": 3, "train_min": 5, "train_max": 9, "test_samples": 4, "stride": 8,
    },
}  # fmt: skip
NODES = {"dpfl_toy": 3, "by_group": 8, "by_user": 8}
WITHOUT_DRAWS = {"class_groups", "by_group"}


def split(partition, nodes=20, seed=0):
    return partition.split(LABELS, TRAIN, TEST, CLASSES, nodes, Streams(seed))


def counts(rows):
    return np.bincount(LABELS[rows], minlength=CLASSES)


def member(kind):
    return FAMILY[kind](**KEYS.get(kind, {}))


def same(first, second):
    return all(
        np.array_equal(a.train, b.train) and np.array_equal(a.test, b.test)
        for a, b in zip(first, second, strict=True)
    )


@pytest.mark.parametrize("kind", sorted(FAMILY))
def test_shards_keep_training_and_test_rows_apart(kind):
    assert issubclass(FAMILY[kind], Partition)
    nodes = NODES.get(kind, 20)
    shards = split(member(kind), nodes)
    assert len(shards) == nodes
    for shard in shards:
        assert shard.train.dtype == shard.test.dtype == np.int64
        assert np.isin(shard.train, TRAIN).all()
        assert np.isin(shard.test, TEST).all()
        assert len(set(shard.train.tolist())) == len(shard.train) > 0
        assert len(set(shard.test.tolist())) == len(shard.test) > 0


@pytest.mark.parametrize("kind", sorted(FAMILY))
def test_a_seed_gives_the_same_shards_and_another_seed_others(kind):
    partition, nodes = member(kind), NODES.get(kind, 20)
    first = split(partition, nodes)
    assert same(first, split(partition, nodes))
    assert same(first, split(partition, nodes, seed=1)) == (kind in WITHOUT_DRAWS)


@pytest.mark.parametrize("kind", sorted(FAMILY))
def test_the_global_generator_is_not_touched(kind):
    state = np.random.get_state()  # noqa: NPY002 - it is what must not be used
    split(member(kind), NODES.get(kind, 20))
    after = np.random.get_state()  # noqa: NPY002
    assert state[2] == after[2]
    assert np.array_equal(state[1], after[1])


@pytest.mark.parametrize("kind", ["iid", "dirichlet"])
def test_disjoint_partitions_give_out_every_row_once(kind):
    shards = split(FAMILY[kind](), nodes=7)
    train = np.concatenate([shard.train for shard in shards])
    test = np.concatenate([shard.test for shard in shards])
    assert np.array_equal(np.sort(train), TRAIN)
    assert np.array_equal(np.sort(test), TEST)


def test_iid_sizes_differ_by_at_most_one():
    sizes = [len(shard.train) for shard in split(Iid(), nodes=7)]
    assert max(sizes) - min(sizes) <= 1


def test_iid_samples_per_node_are_exact():
    shards = split(Iid(train_samples=30, test_samples=11))
    assert {(len(s.train), len(s.test)) for s in shards} == {(30, 11)}


def test_iid_classes_are_those_of_the_data():
    # 4 nodes of 500 rows: a class count is hypergeometric, p = 0.1, standard deviation at most
    # sqrt(500 * 0.09 * 0.75) = 5.8; 5 of them over 40 counts fail once in 40,000 runs.
    whole = counts(TRAIN) / len(TRAIN)
    for shard in split(Iid(), nodes=4):
        assert (np.abs(counts(shard.train) - 500 * whole) < 29).all()


def test_iid_refuses_more_samples_than_rows_with_the_numbers():
    with pytest.raises(ScenarioError, match=r"need 2020 rows, the data has 2000"):
        split(Iid(train_samples=101))
    with pytest.raises(ScenarioError, match=r"1001 nodes .* the data has 1000"):
        split(Iid(), nodes=1001)


def test_dirichlet_gives_the_smallest_node_its_minimum():
    for seed in range(5):
        assert min(len(s.train) for s in split(Dirichlet(min_samples=20), seed=seed)) >= 20


def test_dirichlet_test_rows_follow_the_training_proportions():
    """A node's test rows of a class are its share, rounded, and at most one more."""
    in_train, in_test = counts(TRAIN), counts(TEST)
    for shard in split(Dirichlet()):
        held = counts(shard.train)
        exact = held * in_test / in_train
        given = counts(shard.test)
        assert (given[held == 0] == 0).all()
        assert (given <= np.rint(exact) + 1).all()


def test_dirichlet_is_more_uneven_for_a_smaller_beta():
    def largest_share(beta):
        shards = split(Dirichlet(alpha=beta), nodes=10)
        return np.mean([counts(s.train).max() / len(s.train) for s in shards])

    # With beta = 100 shares are those of the data, 0.1 each; with 0.1 one or two classes dominate.
    assert largest_share(100.0) < 0.2
    assert largest_share(0.1) > 0.35


@pytest.mark.slow
def test_dirichlet_proportions_have_the_expected_spread():
    """The first class is dealt before any node is full: its shares are plain Dirichlet draws.

    For Dir_K(beta) a share has variance (K-1) / (K^2 (K beta + 1)); K = 5, beta = 1 give 0.02667.
    200 splits x 5 shares: Beta(1, 4) has kurtosis 3.7, so a variance estimate has a relative
    error of about sqrt(2.7 / 1000) = 5 %, and 20 % is four of them.
    """
    shares = []
    for seed in range(200):
        shards = split(Dirichlet(alpha=1.0, min_samples=1), nodes=5, seed=seed)
        first = np.array([counts(s.train)[0] for s in shards])
        shares.append(first / first.sum())
    assert np.var(shares) == pytest.approx(4 / (25 * 6), rel=0.2)


def test_dirichlet_refuses_what_can_not_be():
    with pytest.raises(ScenarioError, match=r"201 nodes with at least 10 .* has 2000 training"):
        split(Dirichlet(), nodes=201)


def test_dirichlet_gives_up_with_a_remedy(monkeypatch):
    monkeypatch.setattr("netsim.data.partitions.dirichlet._MAX_TRIES", 3)
    with pytest.raises(ScenarioError, match=r"none of 3 draws with alpha = 0\.01"):
        split(Dirichlet(alpha=0.01, min_samples=100), nodes=20)


def test_class_mix_has_the_papers_sizes():
    shards = split(ClassMix(test_samples=90), nodes=400)
    sizes = [len(s.train) for s in shards]
    assert {len(s.test) for s in shards} == {90}
    assert min(sizes) >= 15
    assert max(sizes) <= 100
    # Uniform on 15..100: mean 57.5, deviation sqrt((86^2 - 1) / 12) = 24.8, of 400 nodes 1.24.
    assert np.mean(sizes) == pytest.approx(57.5, abs=4 * 1.24)


def test_class_mix_reaches_both_bounds():
    sizes = {len(s.train) for s in split(ClassMix(train_min=3, train_max=5), nodes=60)}
    assert sizes == {3, 4, 5}  # one value missing in 60 draws has probability 3 (2/3)^60 = 8e-11


def test_class_mix_gives_a_node_as_many_classes_as_its_mix_implies():
    """A class's share is Beta(a, (C-1) a), so n samples miss it with probability

    E (1-q)^n = Gamma(Ca) Gamma((C-1)a + n) / (Gamma((C-1)a) Gamma(Ca + n)).

    For a = 0.1, C = 10 and n uniform on 15..100 that is 3.7 classes per node (the paper reports one
    to four). Their number deviates by at most sqrt(10 / 4) = 1.6 per node, being a sum of ten
    negatively dependent indicators: 0.11 over 200 nodes.
    """
    n = np.arange(15, 101)
    missed = np.exp(gammaln(1.0) + gammaln(0.9 + n) - gammaln(0.9) - gammaln(1.0 + n))
    shards = split(ClassMix(test_samples=90), nodes=200)
    classes = [np.count_nonzero(counts(s.train)) for s in shards]
    assert np.mean(classes) == pytest.approx(10 * (1 - missed.mean()), abs=4 * 0.11)


def test_class_mix_is_the_same_for_training_and_test_rows():
    """Shares of 60 test and 100 training rows of one mix.

    A difference of two binomial shares has a variance of at most 0.25 (1/60 + 1/100), deviation
    0.082; five of them over 500 pairs fail at most once in 3,000 runs.
    """
    mix = ClassMix(alpha=0.5, train_min=100, train_max=100, test_samples=60)
    for shard in split(mix, nodes=50):
        difference = counts(shard.train) / 100 - counts(shard.test) / 60
        assert np.abs(difference).max() < 5 * 0.082


def test_class_mix_of_a_node_does_not_depend_on_the_number_of_nodes():
    assert same(split(ClassMix(), nodes=5), split(ClassMix(), nodes=50)[:5])


def test_class_mix_can_test_on_what_all_nodes_have_together():
    """Shares of 90 test rows; deviations as above, over ten classes and 20 nodes."""
    own, pooled = (
        split(ClassMix(test_samples=90, test_mix=mix), nodes=20) for mix in ("own", "pooled")
    )
    assert all(np.array_equal(a.train, b.train) for a, b in zip(own, pooled, strict=True))
    shares = np.mean([counts(shard.test) / 90 for shard in own], axis=0)
    for shard in pooled:
        assert np.abs(counts(shard.test) / 90 - shares).max() < 5 * 0.058


def test_class_mix_lets_nodes_share_rows():
    shards = split(ClassMix(test_samples=90), nodes=200)  # about 11,000 draws from 2,000 rows
    assert sum(len(s.train) for s in shards) > len(TRAIN)


def test_class_mix_refuses_more_rows_of_a_class_than_there_are():
    with pytest.raises(ScenarioError, match=r"asks for \d+ test samples of class \d, the data has"):
        split(ClassMix(test_samples=1000))
    with pytest.raises(ScenarioError, match=r"lower train_max \(at most \d+ is enough"):
        split(ClassMix(train_min=1500, train_max=2000))


def test_class_mix_bounds_must_be_in_order():
    with pytest.raises(ValidationError, match="train_min = 20 is over train_max = 10"):
        ClassMix(train_min=20, train_max=10)


GROUPS = np.array([0, 1, 1, 2, 2, 2, 3, 3, 3, 3] * 3)
"""Ten training rows, then as many twice for tests: groups of 1, 2, 3, 4 rows."""


def grouped(nodes, seed=0, **keys):
    labels, train, test = np.zeros(30, dtype=np.int64), np.arange(10), np.arange(10, 30)
    return ByGroup(**keys).split(labels, train, test, 1, nodes, Streams(seed), GROUPS)


def test_by_group_a_node_has_one_of_the_largest_groups():
    shards = grouped(2)
    assert [set(GROUPS[s.train]) for s in shards] == [set(GROUPS[s.test]) for s in shards]
    assert [sorted(set(GROUPS[s.train])) for s in shards] == [[2], [3]]
    assert [(len(s.train), len(s.test)) for s in shards] == [(3, 6), (4, 8)]


def test_by_group_all_groups_can_be_dealt_out():
    shards = grouped(2, assign="all")
    held = [set(GROUPS[s.train]) for s in shards]
    assert [len(groups) for groups in held] == [2, 2]
    assert held[0] | held[1] == {0, 1, 2, 3}
    assert any(held != [set(GROUPS[s.train]) for s in grouped(2, k, assign="all")] for k in (1, 2))


def test_by_group_needs_as_many_groups_as_nodes():
    with pytest.raises(ScenarioError, match="5 nodes, but 4 groups"):
        grouped(5)


@pytest.mark.parametrize("alpha", [0.01, 0.1])
def test_many_nodes_with_few_classes_each_are_topped_up(alpha):
    """190 nodes of 2,000 rows: no draw gives each of them 10; no row is lost or there twice."""
    shards = split(Dirichlet(alpha=alpha, too_few="top_up"), nodes=190)
    sizes = np.array([len(shard.train) for shard in shards])
    assert sizes.min() == 10
    assert sizes.sum() == 2000
    assert len(np.unique(np.concatenate([shard.train for shard in shards]))) == 2000
    assert min(len(shard.test) for shard in shards) >= 1
    assert same(shards, split(Dirichlet(alpha=alpha, too_few="top_up"), nodes=190))


def test_a_draw_that_gives_enough_is_not_touched_by_topping_up():
    alike = (split(Dirichlet(alpha=5.0, too_few=rule), nodes=5) for rule in ("redraw", "top_up"))
    assert same(*alike)
