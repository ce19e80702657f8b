"""Every node draws from the same distribution: a random order, cut into equal parts.

pFedGraph's homogeneous setting (Ye et al., ICML 2023: a permutation, `numpy.array_split`).
"""

from typing import ClassVar, Literal

import numpy as np

from netsim.data.partitions import Partition, Rows, Shard
from netsim.data.sets import Outline
from netsim.errors import ScenarioError
from netsim.registry import Count
from netsim.rng import Streams


class Iid(Partition):
    """Disjoint random parts.

    Parameters
    ----------
    train_samples : int, optional
        Training rows of each node. Absent: all are given out, and sizes differ by at most one.
    test_samples : int, optional
        Test rows of each node. Absent: all are given out.
    """

    kind: Literal["iid"] = "iid"
    train_samples: Count | None = None
    test_samples: Count | None = None

    goes_by: ClassVar[Literal["nothing"]] = "nothing"

    def expected(self, outline: Outline, nodes: int) -> tuple[float, float]:
        """See the base class."""
        train, test = super().expected(outline, nodes)
        return self.train_samples or train, self.test_samples or test

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
        parts_train = _split_rows(train, self.train_samples, nodes, streams, "train")
        parts_test = _split_rows(test, self.test_samples, nodes, streams, "test")
        return [Shard(*pair) for pair in zip(parts_train, parts_test, strict=True)]


def _split_rows(
    rows: Rows, samples: int | None, nodes: int, streams: Streams, part: str
) -> list[Rows]:
    wanted = nodes * (samples or 1)
    if wanted > len(rows):
        each = f"{samples} {part} samples" if samples else f"at least one {part} sample"
        raise ScenarioError(
            f'[data.partition] kind = "iid": {nodes} nodes with {each} each need {wanted} rows, '
            f"the data has {len(rows)}; take fewer nodes or samples"
        )
    order = rows[streams.permutation(f"partition/iid/{part}", n=len(rows))]
    return list(np.array_split(order[:wanted] if samples else order, nodes))
