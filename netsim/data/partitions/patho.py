"""Each node has a few random classes, and uneven parts of them: DPFL's Patho(3).

Source: `complex_dirichlet_client_data_split` of Kharrat, Canini, Horvath, 2024 (github
salmakh1/DPFL). Every node misses all but `classes_per_node` random classes; the rows of each class
are shared among its holders in proportions ~ Dir(alpha), drawn again until each holder has at least
`min_samples`. The code does so for CIFAR-10 as well; the paper says it of CINIC-10 only.
Test rows follow DPFL: each class in the training proportions, rounded; what rounding leaves over
goes one each to the holders.
Departures: classes are drawn again if one has no holder (the code stops) and all is drawn again if
a node has no test row (its accuracy would not be defined); the number of tries is bounded.
"""

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from netsim.data.partitions import Partition, Rows, Shard
from netsim.data.partitions._shares import hand_out, in_proportion
from netsim.errors import ScenarioError
from netsim.registry import Count, Positive
from netsim.rng import Streams

_WHERE = '[data.partition] kind = "patho"'
_MAX_TRIES = 100
_MAX_DRAWS = 1_000_000
_DRAWS_AT_ONCE = 1024


class Patho(Partition):
    """Disjoint parts that cover all rows, with exactly `classes_per_node` classes a node.

    Parameters
    ----------
    classes_per_node : int
        The paper's 3, of ten classes.
    alpha : float
        Concentration of the sizes of a class's parts.
    min_samples : int
        Training rows that a node has of each of its classes.
    """

    kind: Literal["patho"] = "patho"
    classes_per_node: Count = 3
    alpha: Positive = 0.5
    min_samples: Count = 10

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
        in_train = np.bincount(labels[train], minlength=num_classes)
        in_test = np.bincount(labels[test], minlength=num_classes)
        self._check(in_train, len(test), nodes)
        for attempt in range(_MAX_TRIES):
            held = self._holders(num_classes, nodes, streams, attempt)
            if not held.any(axis=0).all():
                continue
            counts = np.zeros((nodes, num_classes), dtype=np.int64)
            for label, size in enumerate(in_train):
                rng = streams.generator("partition/patho/sizes", attempt, label)
                counts[held[:, label], label] = self._sizes(size, held[:, label].sum(), label, rng)
            test_counts = in_proportion(counts, in_test)
            if test_counts.sum(axis=1).min() > 0:
                own_train = hand_out(labels, train, counts, streams, "partition/patho/train")
                own_test = hand_out(labels, test, test_counts, streams, "partition/patho/test")
                return [Shard(*pair) for pair in zip(own_train, own_test, strict=True)]
        raise ScenarioError(
            f"{_WHERE}: none of {_MAX_TRIES} draws gave each class a holder and each of {nodes} "
            f"nodes one of {len(test)} test rows; take more classes_per_node, more test rows or "
            "another number of nodes"
        )

    def _check(self, in_train: NDArray[np.int64], tests: int, nodes: int) -> None:
        classes, own = len(in_train), self.classes_per_node
        if own > classes:
            raise ScenarioError(
                f"{_WHERE}: classes_per_node = {own}, the data has {classes} classes; "
                f"take at most {classes}"
            )
        if nodes * own < classes:
            raise ScenarioError(
                f"{_WHERE}: {nodes} nodes with {own} classes each can't hold all {classes} "
                f"classes; take at least {-(-classes // own)} nodes"
            )
        if nodes > tests:
            raise ScenarioError(
                f"{_WHERE}: {nodes} nodes with a test row each, the data has {tests}; take fewer "
                "nodes or more test rows"
            )
        wanted = nodes * own * self.min_samples
        if wanted > in_train.sum():
            raise ScenarioError(
                f"{_WHERE}: {nodes} nodes with at least {self.min_samples} rows of each of {own} "
                f"classes need {wanted} training rows, the data has {in_train.sum()}; take fewer "
                "nodes or a smaller min_samples"
            )

    def _holders(
        self, classes: int, nodes: int, streams: Streams, attempt: int
    ) -> NDArray[np.bool_]:
        """Assign classes to nodes: a mask (nodes, C)."""
        held = np.zeros((nodes, classes), dtype=bool)
        for node in range(nodes):
            order = streams.permutation("partition/patho/classes", attempt, node, n=classes)
            held[node, order[: self.classes_per_node]] = True
        return held

    def _sizes(
        self, size: int, holders: int, label: int, rng: np.random.Generator
    ) -> NDArray[np.int64]:
        """Rows of a class that each holder gets, of `size`: the first draw with enough for all."""
        if holders * self.min_samples <= size:
            for _ in range(0, _MAX_DRAWS, _DRAWS_AT_ONCE):
                shares = rng.dirichlet(np.full(holders, self.alpha), size=_DRAWS_AT_ONCE)
                cuts = (np.cumsum(shares, axis=1)[:, :-1] * size).astype(np.int64)
                found: NDArray[np.int64] = np.diff(cuts, axis=1, prepend=0, append=size)
                good = np.flatnonzero(found.min(axis=1) >= self.min_samples)
                if len(good):
                    return np.asarray(found[good[0]])
        raise ScenarioError(
            f"{_WHERE}: no draw with alpha = {self.alpha:g} gave each of the {holders} holders of "
            f"class {label} {self.min_samples} of its {size} training rows; take fewer nodes, a "
            "larger alpha or a smaller min_samples"
        )
