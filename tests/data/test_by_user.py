"""`by_user`: users stay whole, whoever has them, by the rules of its keys."""

import numpy as np
import pytest

from netsim.data.partitions.by_user import ByUser
from netsim.errors import ScenarioError
from netsim.rng import Streams

# Users 0 to 4 have 1, 2, ..., 5 times eight training rows and as many times two test rows.
OF = np.concatenate([np.repeat(np.arange(5), (np.arange(5) + 1) * k) for k in (8, 2)])
TRAIN, TEST = np.arange(120), np.arange(120, 150)


def split(partition, nodes, seed=0, test=TEST):
    labels = np.zeros(len(OF), dtype=np.int64)
    return partition.split(labels, TRAIN, test, 1, nodes, Streams(seed), OF)


def users(shards):
    return [sorted(set(OF[shard.train].tolist())) for shard in shards]


def test_one_user_a_node_drawn_by_the_seed():
    drawn = [users(split(ByUser(), 3, seed)) for seed in range(8)]
    assert all(len(own) == 1 for shards in drawn for own in shards)
    assert all(len({own[0] for own in shards}) == 3 for shards in drawn)
    assert len({str(shards) for shards in drawn}) > 3
    assert users(split(ByUser(), 3)) == drawn[0]
    for shard in split(ByUser(), 3):
        assert set(OF[shard.test]) == set(OF[shard.train])


def test_the_largest_users_or_all_of_them():
    assert users(split(ByUser(more_users="largest"), 2)) == [[3], [4]]
    dealt = users(split(ByUser(more_users="all"), 2))
    assert sorted(dealt[0] + dealt[1]) == [0, 1, 2, 3, 4]
    assert sorted(map(len, dealt)) == [2, 3]


def test_users_with_few_samples_are_left_out():
    assert users(split(ByUser(more_users="largest", min_samples=24), 3)) == [[2], [3], [4]]
    with pytest.raises(ScenarioError, match="4 nodes, but 3 users with 24"):
        split(ByUser(min_samples=24), 4)
    with pytest.raises(ScenarioError, match="none of 5 users has 41 training samples"):
        split(ByUser(min_samples=41), 4)


def test_users_are_split_among_nodes_most_of_those_with_most():
    shards = split(ByUser(fewer_users="split"), 8)
    assert users(shards) == [[0], [1], [2], [2], [3], [3], [4], [4]]
    rows = np.concatenate([shard.train for shard in shards])
    assert sorted(rows.tolist()) == TRAIN.tolist()
    assert [len(s.train) for s in shards] == [8, 16, 12, 12, 16, 16, 20, 20]
    with pytest.raises(ScenarioError, match="user 0 has 8 training samples, too few for 3 nodes"):
        split(ByUser(fewer_users="split", min_samples=8), 40)


def test_several_nodes_may_have_the_same_user():
    shards = split(ByUser(fewer_users="repeat"), 7)
    assert users(shards) == [[0], [1], [2], [3], [4], [0], [1]]


def test_users_of_test_samples_may_be_others():
    others = TEST[OF[TEST] == 0]
    assert users(split(ByUser(more_users="largest"), 1, test=others)) == [[0]]
    shards = split(ByUser(test="all"), 5, test=others)
    assert all(shard.test.tolist() == others.tolist() for shard in shards)
