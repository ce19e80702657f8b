"""Each class is shared out in Dirichlet proportions, as pFedGraph and DPFL do.

Source: the partition code of Ye et al., ICML 2023 (github MediaBrain-SJTU/pFedGraph) and Kharrat,
Canini, Horvath, 2024 (github salmakh1/DPFL). Per class: shuffle, q ~ Dir_K(alpha), set q to 0 for
nodes that already hold n/K rows, renormalise, cut at the cumulative proportions; draw everything
again until the smallest node holds enough.
Test rows follow DPFL: each class in the training proportions, rounded; what rounding leaves over
goes one each to the holders.
Departures: a draw that leaves a node without a test row is drawn again too (its accuracy would not
be defined), and the number of tries is bounded.
"""

from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from netsim.data.partitions import Partition, Rows, Shard
from netsim.data.partitions._shares import hand_out, in_proportion, top_up
from netsim.errors import ScenarioError
from netsim.registry import Count, Positive, Renamed
from netsim.rng import Streams

_MAX_TRIES = 10_000


class Dirichlet(Partition):
    """Disjoint parts that cover all training rows, with uneven classes and sizes.

    Parameters
    ----------
    alpha : float
        Concentration; the smaller, the fewer classes a node has. pFedGraph calls it beta.
    min_samples : int
        Training rows of the smallest node (pFedGraph 10, DPFL 20).
    too_few : {"redraw", "top_up"}
        Treatment of a draw that leaves a node with fewer rows. "redraw": everything is drawn again,
        up to 10,000 times, as in pFedGraph, NIID-Bench and Flower Datasets; many nodes with few
        classes each may never pass. "top_up": the first draw stays, and a node that lacks rows
        takes them one at a time from the node that has most, of the class of which that node has
        most; a node without a test row takes one likewise. This rule is netsim's own.
    """

    kind: Literal["dirichlet"] = "dirichlet"
    alpha: Positive = Field(0.1, validation_alias=Renamed("alpha", "beta", since="0.2.0"))
    min_samples: Count = 10
    too_few: Literal["redraw", "top_up"] = "redraw"

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
        if nodes * self.min_samples > len(train) or nodes > len(test):
            raise ScenarioError(
                f'[data.partition] kind = "dirichlet": {nodes} nodes with at least '
                f"{self.min_samples} training and 1 test sample each, the data has {len(train)} "
                f"training and {len(test)} test rows; take fewer nodes or a smaller min_samples"
            )
        in_train = np.bincount(labels[train], minlength=num_classes)
        in_test = np.bincount(labels[test], minlength=num_classes)
        for attempt in range(_MAX_TRIES):
            rng = streams.generator("partition/dirichlet", attempt)
            counts = self._counts(in_train, nodes, rng)
            if counts is None:
                continue
            if self.too_few == "top_up":
                top_up(counts, self.min_samples)
            if counts.sum(axis=1).min() < self.min_samples:
                continue
            test_counts = in_proportion(counts, in_test)
            if self.too_few == "top_up":
                top_up(test_counts, 1, counts)
            if test_counts.sum(axis=1).min() > 0:
                parts_train = hand_out(labels, train, counts, streams, "partition/dirichlet/train")
                parts_test = hand_out(
                    labels, test, test_counts, streams, "partition/dirichlet/test"
                )
                return [Shard(*pair) for pair in zip(parts_train, parts_test, strict=True)]
        raise ScenarioError(
            f'[data.partition] kind = "dirichlet": none of {_MAX_TRIES} draws with alpha = '
            f"{self.alpha:g} gave each of {nodes} nodes {self.min_samples} of {len(train)} "
            "training rows and a test row; take fewer nodes, a larger alpha, a smaller "
            "min_samples, or "
            'too_few = "top_up"'
        )

    def _counts(
        self, sizes: NDArray[np.int64], nodes: int, rng: np.random.Generator
    ) -> NDArray[np.int64] | None:
        """One draw of how many rows of each class a node gets, (nodes, C); None if it fails."""
        counts = np.zeros((nodes, len(sizes)), dtype=np.int64)
        full = sizes.sum() / nodes
        for label, size in enumerate(sizes):
            share = rng.dirichlet(np.full(nodes, self.alpha))
            share[counts.sum(axis=1) >= full] = 0.0
            if share.sum() == 0:  # the draw underflowed for every node with room
                return None
            cuts = (np.cumsum(share / share.sum()) * size).astype(np.int64)
            counts[:, label] = np.diff(cuts[:-1], prepend=0, append=size)
        return counts
