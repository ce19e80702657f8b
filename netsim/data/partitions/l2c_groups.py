"""Groups of nodes with the same classes: the small case of L2C's Fig. 4.

Source: Li, Zhou, Tian, Tao, CVPR 2022, Fig. 4: ten classes in five pairs, each pair given to three
nodes, a third of its data each (15 nodes), so that a node's best collaborators are known.
Nodes 0, 1, 2 have classes 0 and 1, nodes 3, 4, 5 have classes 2 and 3, ... Test rows are all those
of the node's classes.
"""

from typing import Literal

import numpy as np

from netsim.data.partitions import Partition, Rows, Shard
from netsim.errors import ScenarioError
from netsim.registry import Count
from netsim.rng import Streams


class L2cGroups(Partition):
    """Consecutive nodes share consecutive classes in equal, disjoint parts.

    Parameters
    ----------
    classes_per_group : int
        Divides the number of classes; with C classes there are C / classes_per_group groups, and
        the number of nodes is a multiple of that.
    """

    kind: Literal["l2c_groups"] = "l2c_groups"
    classes_per_group: Count = 2

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
        num_groups, rest = divmod(num_classes, self.classes_per_group)
        where = '[data.partition] kind = "l2c_groups"'
        if rest:
            raise ScenarioError(
                f"{where}: classes_per_group = {self.classes_per_group} does not divide the "
                f"{num_classes} classes"
            )
        if nodes % num_groups:
            raise ScenarioError(
                f"{where}: {num_groups} groups need a multiple of {num_groups} nodes, there are "
                f"{nodes}"
            )
        members, parts = nodes // num_groups, []
        for group in range(num_groups):
            own = range(group * self.classes_per_group, (group + 1) * self.classes_per_group)
            pieces = [_split_rows(train[labels[train] == c], c, members, streams) for c in own]
            own_test = test[np.isin(labels[test], own)]
            parts += [Shard(np.concatenate(piece), own_test) for piece in zip(*pieces, strict=True)]
        return parts


def _split_rows(rows: Rows, label: int, members: int, streams: Streams) -> list[Rows]:
    if len(rows) < members:
        raise ScenarioError(
            f'[data.partition] kind = "l2c_groups": {members} nodes share class {label}, of which '
            f"the data has {len(rows)} training rows; take fewer nodes"
        )
    order = streams.permutation("partition/l2c_groups", label, n=len(rows))
    return list(np.array_split(rows[order], members))
