"""Each node has the samples of one natural group: a writer of FEMNIST, users of MovieLens.

Groups come with the data set; one that has none has its classes for groups.
"""

from typing import ClassVar, Literal

import numpy as np

from netsim.data.partitions import Partition, Rows, Shard
from netsim.errors import ScenarioError
from netsim.rng import Streams


class ByGroup(Partition):
    """Disjoint parts, each of whole groups.

    Parameters
    ----------
    assign : {"largest", "all"}
        One group per node, those with the most training rows (of equals that with the lower
        number); or all groups, dealt out in a random order, as many to each node as to any other or
        one more.
    """

    kind: Literal["by_group"] = "by_group"
    assign: Literal["largest", "all"] = "largest"

    goes_by: ClassVar[Literal["groups"]] = "groups"

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
        of = labels if groups is None else groups
        in_train, in_test = (
            np.bincount(of[rows], minlength=of.max() + 1) for rows in (train, test)
        )
        usable = np.flatnonzero((in_train > 0) & (in_test > 0))
        if len(usable) < nodes:
            raise ScenarioError(
                f'[data.partition] kind = "by_group": {nodes} nodes, but {len(usable)} groups have '
                "training and test rows; take fewer nodes"
            )
        if self.assign == "largest":
            order = usable[np.argsort(-in_train[usable], kind="stable")][:nodes]
            parts = list(np.sort(order)[:, None])
        else:
            order = usable[streams.permutation("partition/by_group", n=len(usable))]
            parts = [order[node::nodes] for node in range(nodes)]
        return [Shard(train[np.isin(of[train], p)], test[np.isin(of[test], p)]) for p in parts]
