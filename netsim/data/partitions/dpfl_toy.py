"""Three nodes: two share classes with the third, none with each other (DPFL, Appendix A).

Source: Kharrat, Canini, Horvath, 2024, Appendix A. Node 0 has 50 samples of each of the classes
0, 4, 6, 8; node 1 has 300 of classes 0 and 6 and 200 of 1 and 3; node 2 has 300 of classes 4 and 8
and 200 of 5 and 7. Each of the two big nodes shares half of node 0's classes.
Readings: test rows in the same mix, as many as the test set has for each training row of the data
set (CIFAR-10: one for five). Which rows is random; parts are disjoint.
"""

from typing import Literal

import numpy as np

from netsim.data.partitions import Partition, Rows, Shard
from netsim.data.partitions._shares import hand_out
from netsim.data.sets import Outline
from netsim.errors import ScenarioError
from netsim.registry import Positive
from netsim.rng import Streams

_PAPER = np.array(
    [
        [50, 0, 0, 0, 50, 0, 50, 0, 50],
        [300, 200, 0, 200, 0, 0, 300, 0, 0],
        [0, 0, 0, 0, 300, 200, 0, 200, 300],
    ]
)
"""Training samples of each node and class, (3, 9)."""


class DpflToy(Partition):
    """Fixed class counts of three nodes.

    Parameters
    ----------
    factor : float
        Multiplies the paper's counts, rounded: less for a small data set.
    """

    kind: Literal["dpfl_toy"] = "dpfl_toy"
    factor: Positive = 1.0

    def expected(self, outline: Outline, nodes: int) -> tuple[float, float]:
        """Training and test rows of the mean node; see the base class."""
        train = self.factor * _PAPER.sum() / len(_PAPER)
        return train, train * outline.test_rows / outline.train_rows

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
        where = '[data.partition] kind = "dpfl_toy"'
        members, classes = _PAPER.shape
        if nodes != members:
            raise ScenarioError(f"{where}: it is for {members} nodes, there are {nodes}")
        if num_classes < classes:
            raise ScenarioError(
                f"{where}: it needs classes 0 to {classes - 1}, the data has {num_classes} "
                "classes; take a data set with ten"
            )
        counts = np.zeros((nodes, num_classes), dtype=np.int64)
        counts[:, :classes] = np.rint(self.factor * _PAPER)
        in_train = np.bincount(labels[train], minlength=num_classes)
        in_test = np.bincount(labels[test], minlength=num_classes)
        short = np.flatnonzero(counts.sum(axis=0) > in_train)
        if len(short):
            label, used = int(short[0]), np.flatnonzero(_PAPER.any(axis=0))
            most = (in_train[used] / _PAPER.sum(axis=0)[used]).min()
            raise ScenarioError(
                f"{where}: the nodes have {counts[:, label].sum()} samples of class {label}, the "
                f"data has {in_train[label]}; take factor = {np.floor(100 * most) / 100:g} or less"
            )
        # rounded down, so that the nodes together ask for no more than there are
        exact = counts * (in_test / np.maximum(in_train, 1))
        test_counts = np.floor(exact + 1e-9).astype(np.int64)
        if min(counts.sum(axis=1).min(), test_counts.sum(axis=1).min()) < 1:
            raise ScenarioError(
                f"{where}: factor = {self.factor:g} leaves a node without training or test rows; "
                "take a larger one"
            )
        own_train = hand_out(labels, train, counts, streams, "partition/dpfl_toy/train")
        own_test = hand_out(labels, test, test_counts, streams, "partition/dpfl_toy/test")
        return [Shard(*pair) for pair in zip(own_train, own_test, strict=True)]
