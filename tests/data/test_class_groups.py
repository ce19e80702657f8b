import numpy as np
import pytest

from netsim.data.partitions.class_groups import ClassGroups
from netsim.errors import ScenarioError
from netsim.rng import Streams

CLASSES, OF_A_CLASS, OF_A_CLASS_IN_TEST = 10, 25, 5
LABELS = np.random.default_rng(0).permutation(
    np.repeat(np.arange(CLASSES), OF_A_CLASS + OF_A_CLASS_IN_TEST)
)
TEST = np.sort(
    np.concatenate([np.flatnonzero(c == LABELS)[:OF_A_CLASS_IN_TEST] for c in range(CLASSES)])
)
TRAIN = np.setdiff1d(np.arange(len(LABELS)), TEST)


def split(nodes, skew=2, seed=0, classes=CLASSES):
    return ClassGroups(skew=skew).split(LABELS, TRAIN, TEST, classes, nodes, Streams(seed))


@pytest.mark.parametrize(("skew", "nodes"), [(2, 5), (2, 10), (5, 4), (10, 3), (1, 20)])
def test_node_i_has_the_classes_of_group_i_and_equally_many_of_each(skew, nodes):
    groups = CLASSES // skew
    for node, shard in enumerate(split(nodes, skew)):
        first = node % groups * skew
        counts = np.bincount(LABELS[shard.train], minlength=CLASSES)
        expected = np.zeros(CLASSES, dtype=int)
        expected[first : first + skew] = OF_A_CLASS // (nodes // groups)
        assert counts.tolist() == expected.tolist()


def test_parts_are_disjoint_and_in_the_order_of_the_data():
    shards = split(10)
    everything = np.concatenate([s.train for s in shards])
    assert len(np.unique(everything)) == len(everything) == 10 * 2 * 12
    for label in (0, 1):  # nodes 0 and 5 share the first group
        rows = TRAIN[LABELS[TRAIN] == label]
        held = [s.train[LABELS[s.train] == label] for s in (shards[0], shards[5])]
        assert np.array_equal(np.concatenate(held), rows[:24])


def test_test_rows_are_all_those_of_the_nodes_classes():
    for node, shard in enumerate(split(10)):
        classes = [node % 5 * 2, node % 5 * 2 + 1]
        assert np.array_equal(np.sort(shard.test), TEST[np.isin(LABELS[TEST], classes)])


def test_the_seed_changes_nothing():
    for a, b in zip(split(10, seed=1), split(10, seed=2), strict=True):
        assert np.array_equal(a.train, b.train)


@pytest.mark.parametrize(
    ("skew", "nodes", "message"),
    [
        (3, 10, "skew = 3 does not divide the 10 classes"),
        (2, 7, "gives 5 groups of classes, whose number must divide that of the data-holding"),
        (2, 130, "26 nodes share each class, but the smallest has 25"),
    ],
)
def test_what_does_not_fit_is_refused(skew, nodes, message):
    with pytest.raises(ScenarioError, match=message):
        split(nodes, skew)
