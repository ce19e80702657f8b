"""Partitions: every node gets rows that there are, each of them once."""

import numpy as np

from netsim.data.partitions import Partition
from netsim.rng import Streams
from netsim.testing.case import ComponentCase
from netsim.testing.small_world import require

CLASSES, NODES = 10, 5


def check(partition: Partition, case: ComponentCase) -> None:
    """Check a partition of 800 training and 200 test rows of ten classes over five nodes."""
    labels = np.random.default_rng(1).permutation(np.arange(1_000) % CLASSES)
    groups = np.arange(1_000) % 25
    train, test = np.arange(800), np.arange(800, 1_000)

    def split() -> list[tuple[list[int], list[int]]]:
        shards = partition.split(labels, train, test, CLASSES, NODES, Streams(0), groups)
        return [(shard.train.tolist(), shard.test.tolist()) for shard in shards]

    shards = split()
    require(len(shards) == NODES, f"{NODES} nodes get {len(shards)} shards")
    for node, parts in enumerate(shards):
        for name, own, all_rows in zip(("train", "test"), parts, (train, test), strict=True):
            require(len(set(own)) == len(own), f"node {node}: {name} names a row twice")
            strange = set(own) - set(all_rows.tolist())
            require(not strange, f"node {node}: {name} names rows that are not of {name}")
        require(parts[0], f"node {node}: has no training rows")
    require(split() == shards, "split twice, it is another one: draw from the streams alone")
