import numpy as np
import pytest

from netsim.data.partitions.l2c_groups import L2cGroups
from netsim.data.partitions.l2c_shards import L2cShards
from netsim.errors import ScenarioError
from netsim.rng import Streams

CLASSES, OF_A_CLASS, OF_A_CLASS_IN_TEST = 10, 120, 30
LABELS = np.random.default_rng(0).permutation(
    np.repeat(np.arange(CLASSES), OF_A_CLASS + OF_A_CLASS_IN_TEST)
)
TEST = np.sort(
    np.concatenate([np.flatnonzero(c == LABELS)[:OF_A_CLASS_IN_TEST] for c in range(CLASSES)])
)
TRAIN = np.setdiff1d(np.arange(len(LABELS)), TEST)


def split(partition, nodes, seed=0, classes=CLASSES):
    return partition.split(LABELS, TRAIN, TEST, classes, nodes, Streams(seed))


def classes_of(rows):
    return tuple(np.unique(LABELS[rows]))


@pytest.mark.parametrize(("own", "per_class", "nodes"), [(2, 20, 100), (5, 20, 40), (10, 8, 8)])
def test_every_node_has_n_distinct_classes_and_equally_many_samples(own, per_class, nodes):
    for shard in split(L2cShards(classes_per_node=own), nodes):
        counts = np.bincount(LABELS[shard.train], minlength=CLASSES)
        assert np.count_nonzero(counts) == own
        assert set(counts[counts > 0]) == {OF_A_CLASS // per_class}
        assert len(shard.train) == own * OF_A_CLASS // per_class


def test_every_shard_is_used_once():
    shards = split(L2cShards(), 100)
    assert np.array_equal(np.sort(np.concatenate([s.train for s in shards])), TRAIN)


def test_a_group_of_nodes_covers_all_classes_once():
    shards = split(L2cShards(), 100)
    for first in range(0, 100, 5):
        group = np.concatenate([classes_of(s.train) for s in shards[first : first + 5]])
        assert sorted(group) == list(range(CLASSES))


def test_which_classes_meet_is_random():
    """Two of 20 groups draw the same 5 pairs of 10 classes with probability 1/945."""
    shards = split(L2cShards(), 100)
    pairs = [frozenset(classes_of(s.train) for s in shards[k : k + 5]) for k in range(0, 100, 5)]
    assert len(set(pairs)) > 15


def test_nodes_with_a_class_share_all_its_test_rows():
    for shard in split(L2cShards(), 20):
        own = classes_of(shard.train)
        assert np.array_equal(np.sort(shard.test), TEST[np.isin(LABELS[TEST], own)])


def test_shards_of_a_class_differ_by_one_sample_where_they_do_not_divide_it():
    sizes = {len(s.train) for s in split(L2cShards(), 35)}  # 120 rows in 7 shards: 17 and 18
    assert sizes <= {34, 35, 36}
    assert sum(len(s.train) for s in split(L2cShards(), 35)) == len(TRAIN)


def test_the_papers_cifar10_setting_is_500_samples_a_node():
    labels = np.repeat(np.arange(10), 5000)
    rows, none = np.arange(len(labels)), np.zeros(0, dtype=np.int64)
    partition = L2cShards(classes_per_node=2, shards_per_class=20)
    shards = partition.split(labels, rows, none, 10, 100, Streams(0))
    assert {len(s.train) for s in shards} == {500}


@pytest.mark.parametrize(
    ("partition", "nodes", "message"),
    [
        (L2cShards(classes_per_node=3), 10, "does not divide the 10 classes"),
        (L2cShards(), 12, "need a multiple of 5 nodes, there are 12"),
        (L2cShards(shards_per_class=20), 15, "in 20 shards each need 100 nodes, there are 15"),
        (L2cShards(), 1000, "200 shards a class, the data has 120 training rows of class 0"),
        (L2cGroups(classes_per_group=4), 15, "does not divide the 10 classes"),
        (L2cGroups(), 16, "5 groups need a multiple of 5 nodes, there are 16"),
        (L2cGroups(), 1000, "200 nodes share class 0, of which the data has 120"),
    ],
)
def test_what_can_not_be_is_refused_with_the_numbers(partition, nodes, message):
    with pytest.raises(ScenarioError, match=message):
        split(partition, nodes)


def test_groups_of_three_have_a_pair_of_classes_and_a_third_of_it_each():
    """The small case of Fig. 4: 15 nodes."""
    shards = split(L2cGroups(), 15)
    for node, shard in enumerate(shards):
        pair = (2 * (node // 3), 2 * (node // 3) + 1)
        assert classes_of(shard.train) == pair
        assert np.bincount(LABELS[shard.train])[list(pair)].tolist() == [OF_A_CLASS // 3] * 2
        assert np.array_equal(shard.test, TEST[np.isin(LABELS[TEST], pair)])
    assert np.array_equal(np.sort(np.concatenate([s.train for s in shards])), TRAIN)
