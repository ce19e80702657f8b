"""The ranks and classes are those of MAPL's sampler, worked out from its rule for 20 nodes."""

import numpy as np
import pytest

from netsim.data.partitions.mapl_scenario import MaplScenario
from netsim.errors import ScenarioError
from netsim.rng import Streams

CLASSES, TRAIN_EACH, TEST_EACH, NODES = 10, 4100, 300, 20
LABELS = np.random.default_rng(1).permutation(np.repeat(np.arange(CLASSES), TRAIN_EACH + TEST_EACH))
TEST = np.sort(np.concatenate([np.flatnonzero(c == LABELS)[-TEST_EACH:] for c in range(CLASSES)]))
TRAIN = np.setdiff1d(np.arange(len(LABELS)), TEST)
RANK = np.zeros(len(LABELS), dtype=int)
for part in (TRAIN, TEST):
    for c in range(CLASSES):
        rows = part[LABELS[part] == c]
        RANK[rows] = np.arange(len(rows))


def split(nodes=NODES, seed=0, classes=CLASSES, **keys):
    return MaplScenario(**keys).split(LABELS, TRAIN, TEST, classes, nodes, Streams(seed))


def ranks(rows, label):
    return sorted(RANK[rows[LABELS[rows] == label]])


@pytest.mark.parametrize(
    ("scenario", "first", "second"),
    [
        (1, range(5), range(5, 10)),
        (2, range(7), range(3, 10)),
        (3, range(5), range(5, 10)),
        (4, range(7), range(3, 10)),
    ],
)
def test_each_half_of_the_nodes_has_the_classes_of_its_scenario(scenario, first, second):
    for node, shard in enumerate(split(scenario=scenario)):
        wanted = list(first if node < 10 else second)
        assert sorted(set(LABELS[shard.train])) == wanted
        assert sorted(set(LABELS[shard.test])) == wanted


@pytest.mark.parametrize("scenario", [1, 2])
def test_a_node_takes_300_rows_from_rank_200_times_its_number(scenario):
    for node, shard in enumerate(split(scenario=scenario)):
        for label in set(LABELS[shard.train]):
            assert ranks(shard.train, label) == list(range(200 * node, 200 * node + 300))
            assert ranks(shard.test, label) == list(range(15 * node, 15 * node + 15))


def test_neighbours_of_a_cluster_share_100_rows_a_class_as_in_the_published_tables():
    shards = split()
    for i, j in [(0, 1), (8, 9), (18, 19)]:
        assert len(np.intersect1d(shards[i].train, shards[j].train)) == 5 * 100
    for i, j in [(0, 2), (9, 10)]:  # two apart, and across the clusters
        assert len(np.intersect1d(shards[i].train, shards[j].train)) == 0


def test_a_stride_of_300_gives_every_node_its_own_rows():
    shards = split(nodes=12, stride=300, scenario=2)
    every = np.concatenate([s.train for s in shards])
    assert len(np.unique(every)) == len(every) == 12 * 7 * 300


@pytest.mark.slow
@pytest.mark.parametrize("scenario", [3, 4])
def test_scenarios_3_and_4_draw_100_to_299_samples_for_each_node_and_class(scenario):
    counts = [
        np.sum(LABELS[shard.train] == label)
        for seed in range(20)
        for shard in split(scenario=scenario, seed=seed)
        for label in set(LABELS[shard.train])
    ]
    assert min(counts) == 100
    assert max(counts) == 299
    # 2,000 or more uniform draws on 200 numbers: deviation of the mean 57.7 / sqrt(2000) = 1.3
    assert np.mean(counts) == pytest.approx(199.5, abs=5 * 1.3)


def test_test_rows_are_disjoint():
    every = np.concatenate([s.test for s in split(scenario=2)])
    assert len(np.unique(every)) == len(every) == 20 * 7 * 15


@pytest.mark.slow
def test_only_scenarios_3_and_4_depend_on_the_seed():
    for scenario in (1, 2, 3, 4):
        pairs = zip(split(scenario=scenario), split(scenario=scenario, seed=1), strict=True)
        same = all(np.array_equal(a.train, b.train) for a, b in pairs)
        assert same == (scenario in (1, 2))


def test_the_last_cluster_takes_what_is_left_over():
    """Seven nodes in three clusters of two, two and three; ten classes as 3, 3 and 4."""
    shards = split(nodes=7, clusters=3)
    sets = [sorted(set(LABELS[s.train])) for s in shards]
    assert sets == [[0, 1, 2]] * 2 + [[3, 4, 5]] * 2 + [[6, 7, 8, 9]] * 3


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"nodes": 21}, r"node 20 takes train rows 4000 to 4299 of class 5, the data has 4100"),
        ({"test_samples": 16}, r"node 18 takes test rows 288 to 303 of class 5, the data has 300"),
        ({"nodes": 1}, r"2 clusters need as many nodes, there are 1"),
        ({"scenario": 2, "overlap": 10}, r"10 classes are not enough for 2 clusters"),
        ({"clusters": 11}, r"10 classes are not enough for 11 clusters"),
    ],
)
def test_what_the_data_can_not_give_is_refused(keys, message):
    with pytest.raises(ScenarioError, match=message):
        split(**keys)


def test_bounds_in_the_wrong_order_are_refused():
    with pytest.raises(ValueError, match="train_min = 9 is over train_max = 8"):
        MaplScenario(train_min=9, train_max=8)
