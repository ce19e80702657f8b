"""Each node has a fixed number of neighbouring classes: pFedGraph's pathological partition.

Source: the code of Ye et al., ICML 2023 (github MediaBrain-SJTU/pFedGraph, `noniid-skew`). The C
classes form C / skew groups of `skew` consecutive ones; node i has group i mod (C / skew), and of
each of its classes slice i div (C / skew) in the order of the data set. Slices have floor(n_c /
nodes in the group) rows; what is left over is not used. With C = 10 and skew 2, 10 nodes are the
paper's "severe" heterogeneity (nodes i and i + 5 have the same classes), 5 nodes its "extreme" one.
Test rows are all those of the node's classes. pFedGraph tests on everything and weighs each class
by its share of the node's training rows; these shares are equal here, so that is the same number
where the classes of a group have equally many training rows and as many test rows.
"""

from typing import Literal

import numpy as np

from netsim.data.partitions import Partition, Rows, Shard
from netsim.data.sets import Outline
from netsim.errors import ScenarioError
from netsim.registry import Count
from netsim.rng import Streams


class ClassGroups(Partition):
    """Disjoint parts of equal size, `skew` classes each; no draws.

    Parameters
    ----------
    skew : int
        Number of classes of a node; divides the number of classes C, and C / skew divides the
        number of nodes.
    """

    kind: Literal["class_groups"] = "class_groups"
    skew: Count = 2

    def expected(self, outline: Outline, nodes: int) -> tuple[float, float]:
        """See the base class."""
        train, _ = super().expected(outline, nodes)
        return train, outline.test_rows * self.skew / outline.num_classes

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
        where = f'[data.partition] kind = "class_groups": skew = {self.skew}'
        if num_classes % self.skew:
            raise ScenarioError(f"{where} does not divide the {num_classes} classes")
        num_groups = num_classes // self.skew
        if nodes % num_groups:
            raise ScenarioError(
                f"{where} gives {num_groups} groups of classes, whose number must divide that of "
                f"the data-holding nodes, {nodes}"
            )
        per_group = nodes // num_groups
        smallest = int(np.bincount(labels[train], minlength=num_classes).min())
        if smallest < per_group:
            raise ScenarioError(
                f"{where}: {per_group} nodes share each class, but the smallest has {smallest} "
                "training rows; take fewer nodes"
            )
        parts = []
        for node in range(nodes):
            group, slot = node % num_groups, node // num_groups
            classes = range(group * self.skew, (group + 1) * self.skew)
            mine = []
            for label in classes:
                rows = train[labels[train] == label]
                size = len(rows) // per_group
                mine.append(rows[slot * size : (slot + 1) * size])
            parts.append(Shard(np.concatenate(mine), test[np.isin(labels[test], classes)]))
        return parts
