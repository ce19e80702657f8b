"""MAPL's scenarios 1 to 4: two groups of nodes with classes of their own, or with some in common.

Source: Mukherjee, Simonetto, Jamali-Rad 2024 and its code (github SayakMukherjee/MAPL). Nodes form
equal contiguous clusters, the last takes what is left over. Scenarios 1 and 3: each cluster has its
own classes; 2 and 4: neighbouring clusters share `overlap` of them. Scenarios 1 and 2: every node
has `train_samples` of each of its classes; 3 and 4: per node and class a uniform number of
`train_min` to `train_max`. Classes are taken in order, and so are the rows of a class.

Reading: node i takes the training rows of ranks stride * i, stride * i + 1, ... of a class, as the
code does with a stride of 200. With 300 samples, neighbouring nodes of a cluster so SHARE 100
training rows of each class, and the published tables come from that; `stride = 300` gives each its
own. Test rows are disjoint.
"""

from typing import Literal, Self

import numpy as np
from pydantic import model_validator

from netsim.data.partitions import Partition, Rows, Shard
from netsim.data.partitions._shares import require_ordered
from netsim.data.sets import Outline
from netsim.errors import ScenarioError
from netsim.registry import Count, Index
from netsim.rng import Streams


class MaplScenario(Partition):
    """Clusters of nodes; the rows of a node depend on how many nodes there are.

    Parameters
    ----------
    scenario : int
        Scenario of the paper, 1 to 4.
    clusters : int
        Number of groups of nodes.
    overlap : int
        Classes that neighbouring clusters share in scenarios 2 and 4.
    train_samples : int
        Training samples of each class of a node, in scenarios 1 and 2.
    train_min : int
        Least number of training samples of a class, in scenarios 3 and 4.
    train_max : int
        Greatest number of training samples of a class, in scenarios 3 and 4.
    test_samples : int
        Test samples of each class of a node.
    stride : int
        Distance between the beginnings of two consecutive nodes within a class.
    """

    kind: Literal["mapl_scenario"] = "mapl_scenario"
    scenario: Literal[1, 2, 3, 4] = 1
    clusters: Count = 2
    overlap: Index = 4
    train_samples: Count = 300
    train_min: Count = 100
    train_max: Count = 299
    test_samples: Count = 15
    stride: Count = 200

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        require_ordered(self.train_min, self.train_max)
        return self

    def expected(self, outline: Outline, nodes: int) -> tuple[float, float]:
        """See the base class."""
        classes = len(self._classes(outline.num_classes)[0])
        drawn = (self.train_min + self.train_max) / 2
        each = self.train_samples if self.scenario in (1, 2) else drawn
        return classes * each, classes * self.test_samples

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
        own_classes = self._classes(num_classes)
        if nodes < self.clusters:
            raise ScenarioError(
                f'[data.partition] kind = "mapl_scenario": {self.clusters} clusters need as many '
                f"nodes, there are {nodes}"
            )
        shards = []
        for node in range(nodes):
            cluster = min(node // (nodes // self.clusters), self.clusters - 1)
            classes = own_classes[cluster]
            counts = self._counts(node, len(classes), streams)
            own_train = [
                _rows_by_rank(labels, train, label, node * self.stride, count, node, "train")
                for label, count in zip(classes, counts, strict=True)
            ]
            begin = node * self.test_samples
            own_test = [
                _rows_by_rank(labels, test, label, begin, self.test_samples, node, "test")
                for label in classes
            ]
            shards.append(Shard(np.concatenate(own_train), np.concatenate(own_test)))
        return shards

    def _classes(self, num_classes: int) -> list[range]:
        """The classes of each cluster."""
        shared = self.overlap if self.scenario in (2, 4) else 0
        each = (num_classes + shared * (self.clusters - 1)) // self.clusters
        step = each - shared
        begins = [cluster * step for cluster in range(self.clusters)]
        if step < 1 or begins[-1] >= num_classes:
            raise ScenarioError(
                f'[data.partition] kind = "mapl_scenario": {num_classes} classes are not enough '
                f"for {self.clusters} clusters of which neighbours share {shared}"
            )
        return [range(b, b + each) for b in begins[:-1]] + [range(begins[-1], num_classes)]

    def _counts(self, node: int, classes: int, streams: Streams) -> list[int]:
        """Training samples of each class of a node."""
        if self.scenario in (1, 2):
            return [self.train_samples] * classes
        rng = streams.generator("partition/mapl_scenario", node)
        drawn = rng.integers(self.train_min, self.train_max, size=classes, endpoint=True)
        return [int(count) for count in drawn]


def _rows_by_rank(
    labels: Rows, rows: Rows, label: int, begin: int, count: int, node: int, part: str
) -> Rows:
    """Rows of one class by their ranks in the data set's order."""
    own = np.sort(rows[labels[rows] == label])
    if begin + count > len(own):
        remedy = "a smaller stride" if part == "train" else "a smaller test_samples"
        raise ScenarioError(
            f'[data.partition] kind = "mapl_scenario": node {node} takes {part} rows {begin} to '
            f"{begin + count - 1} of class {label}, the data has {len(own)}; take fewer nodes, "
            f"fewer samples or {remedy}"
        )
    return own[begin : begin + count]
