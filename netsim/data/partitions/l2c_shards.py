"""Each node has the same few samples of a few classes, as in L2C's experiments.

Source: Li, Zhou, Tian, Tao, CVPR 2022, section 5. Each class is cut into P shards; one random
shard of every class forms a group of C shards; a group is shuffled and every N consecutive shards
go to one node, which so has N distinct classes: K = C P / N nodes with N n_c / P samples each.
CIFAR-10 is (C, P, K, N) = (10, 20, 100, 2), CIFAR-100 and MiniImageNet are (100, 10, 100, 10).
Test rows are all those of the node's classes.
Readings: where P does not divide a class, its shards differ by one sample at most.
"""

from typing import Literal

import numpy as np

from netsim.data.partitions import Partition, Rows, Shard
from netsim.data.sets import Outline
from netsim.errors import ScenarioError
from netsim.registry import Count
from netsim.rng import Streams


class L2cShards(Partition):
    """Every shard of every class goes to one node; nodes with a class share its test rows.

    Parameters
    ----------
    classes_per_node : int
        N, classes of each node; divides the number of classes.
    shards_per_class : int, optional
        P, number of shards of each class. Absent: it follows from the number of nodes; if given, it
        must agree with that.
    """

    kind: Literal["l2c_shards"] = "l2c_shards"
    classes_per_node: Count = 2
    shards_per_class: Count | None = None

    def expected(self, outline: Outline, nodes: int) -> tuple[float, float]:
        """See the base class."""
        train, _ = super().expected(outline, nodes)
        return train, outline.test_rows * self.classes_per_node / outline.num_classes

    def split(
        self,
        labels: Rows,
        train: Rows,
        test: Rows,
        num_classes: int,
        nodes: int,
        streams: Streams,
        groups: Rows | None = None,
    ) -> list[Shard]:
        """Give each node its rows; see the base class."""
        per_class = self._shards_per_class(num_classes, nodes)
        shards = [
            _split_rows(train[labels[train] == label], label, per_class, streams)
            for label in range(num_classes)
        ]
        test_of = [test[labels[test] == label] for label in range(num_classes)]
        parts: list[Shard] = []
        for group in range(per_class):
            order = streams.permutation("partition/l2c_shards/group", group, n=num_classes)
            parts += [
                Shard(
                    np.concatenate([shards[label][group] for label in own]),
                    np.concatenate([test_of[label] for label in own]),
                )
                for own in np.split(order, num_classes // self.classes_per_node)
            ]
        return parts

    def _shards_per_class(self, num_classes: int, nodes: int) -> int:
        own = self.classes_per_node
        where = '[data.partition] kind = "l2c_shards"'
        if num_classes % own:
            raise ScenarioError(
                f"{where}: classes_per_node = {own} does not divide the {num_classes} classes"
            )
        per_group = num_classes // own
        found, rest = divmod(nodes, per_group)
        wanted = self.shards_per_class
        if rest or found == 0 or wanted not in (None, found):
            need = f"a multiple of {per_group}" if wanted is None else str(wanted * per_group)
            raise ScenarioError(
                f"{where}: {num_classes} classes, {own} a node"
                + ("" if wanted is None else f", in {wanted} shards each")
                + f" need {need} nodes, there are {nodes}"
            )
        return found


def _split_rows(rows: Rows, label: int, shards: int, streams: Streams) -> list[Rows]:
    if len(rows) < shards:
        raise ScenarioError(
            f'[data.partition] kind = "l2c_shards": {shards} shards a class, the data has '
            f"{len(rows)} training rows of class {label}; take fewer nodes"
        )
    order = streams.permutation("partition/l2c_shards/class", label, n=len(rows))
    return list(np.array_split(rows[order], shards))
