"""Every node has the rows that come next in a random order, the first node most."""

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from netsim.data.partitions import Partition, Rows, Shard
from netsim.registry import Positive
from netsim.rng import Streams


class Starting(Partition):
    """Shares that fall from node to node by the same factor.

    Attributes
    ----------
    factor : float
        Rows of a node over those of the node before it.
    """

    kind: Literal["starting"] = "starting"
    factor: Positive = 0.9

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
        """Give each node its rows; see `netsim.data.partitions.Partition`."""
        shares: NDArray[np.float64] = self.factor ** np.arange(nodes, dtype=np.float64)
        parts = [
            self._cut(rows, shares, streams, name) for rows, name in ((train, "a"), (test, "b"))
        ]
        return [Shard(*pair) for pair in zip(*parts, strict=True)]

    def _cut(
        self, rows: Rows, shares: NDArray[np.float64], streams: Streams, name: str
    ) -> list[Rows]:
        order = rows[streams.permutation(f"partition/starting/{name}", n=len(rows))]
        ends = np.cumsum(shares / shares.sum() * len(rows)).round().astype(int)
        return list(np.split(order, ends[:-1]))
