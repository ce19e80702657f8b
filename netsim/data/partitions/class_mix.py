"""Each node has its own mix of classes and draws few samples from it.

Source: Jeong and Kountouris, ICC 2023, section V: per node a class mix from a symmetric Dirichlet
distribution (0.1), between 15 and 100 training samples and 100 test samples of the same mix.
Readings: the number of training samples is uniform; nodes draw independently of one another and so
may share rows; within a node no row is drawn twice, and a node that would need more rows of a
class than the data has is an error, never a silent repetition.
"""

from typing import Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import model_validator

from netsim.data.partitions import Partition, Rows, Shard
from netsim.data.partitions._shares import require_ordered
from netsim.data.sets import Outline
from netsim.errors import ScenarioError
from netsim.registry import Count, Positive
from netsim.rng import Streams


class ClassMix(Partition):
    """A class mix per node; a node's training rows do not depend on how many nodes there are.

    Parameters
    ----------
    alpha : float
        Concentration of the mix; the smaller, the fewer classes a node has.
    train_min : int
        Least number of training samples of a node.
    train_max : int
        Greatest number of training samples of a node; numbers are uniform between both.
    test_samples : int
        Test samples of each node.
    test_mix : {"own", "pooled"}
        Mix of classes of a node's test samples: its own, as its training samples, or the mean of
        all nodes' mixes ("pooled"), so that a model is measured on what the whole network meets.
        The paper states the first; the local row of its table is only possible with the second.
    """

    kind: Literal["class_mix"] = "class_mix"
    alpha: Positive = 0.1
    train_min: Count = 15
    train_max: Count = 100
    test_samples: Count = 100
    test_mix: Literal["own", "pooled"] = "own"

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        require_ordered(self.train_min, self.train_max)
        return self

    def expected(self, outline: Outline, nodes: int) -> tuple[float, float]:
        """See the base class."""
        return (self.train_min + self.train_max) / 2, self.test_samples

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
        by_class = {
            part: [rows[labels[rows] == label] for label in range(num_classes)]
            for part, rows in (("train", train), ("test", test))
        }
        rngs = [streams.generator("partition/class_mix", node) for node in range(nodes)]
        mixes = [rng.dirichlet(np.full(num_classes, self.alpha)) for rng in rngs]
        pooled = np.mean(mixes, axis=0)
        shards = []
        for node, (rng, mix) in enumerate(zip(rngs, mixes, strict=True)):
            size = int(rng.integers(self.train_min, self.train_max, endpoint=True))
            own_train = self._draw(by_class, "train", size, mix, rng, node)
            measured = mix if self.test_mix == "own" else pooled
            own_test = self._draw(by_class, "test", self.test_samples, measured, rng, node)
            shards.append(Shard(own_train, own_test))
        return shards

    def _draw(
        self,
        by_class: dict[str, list[Rows]],
        part: str,
        size: int,
        mix: NDArray[np.float64],
        rng: np.random.Generator,
        node: int,
    ) -> Rows:
        counts = rng.multinomial(size, mix)
        for label, (count, rows) in enumerate(zip(counts, by_class[part], strict=True)):
            if count > len(rows):
                key = "train_max" if part == "train" else "test_samples"
                raise ScenarioError(
                    f'[data.partition] kind = "class_mix": node {node} asks for {count} {part} '
                    f"samples of class {label}, the data has {len(rows)}; lower {key} (at most "
                    f"{min(map(len, by_class[part]))} is enough for every draw), or give the data "
                    f"more {part} rows"
                )
        drawn = [
            rng.choice(rows, size=count, replace=False)
            for count, rows in zip(counts, by_class[part], strict=True)
        ]
        return np.concatenate(drawn)
