"""Partitions of a data set over nodes; one a file, its name is its `kind` in a scenario."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from netsim.data.sets import Outline
from netsim.registry import Component
from netsim.rng import Streams

Rows = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Shard:
    """The rows of one node.

    Attributes
    ----------
    train, test : int64 arrays
        Row numbers in the data set, each at most once, in no particular order.
    """

    train: Rows
    test: Rows


class Partition(Component):
    """Base of the partitions. Draws come from the scenario's streams only.

    Attributes
    ----------
    goes_by : {"classes", "groups", "nothing"}
        What of the samples decides who has them; a data set may lack it. A partition by groups
        takes classes for them where there are none.
    """

    goes_by: ClassVar[Literal["classes", "groups", "nothing"]] = "classes"

    def expected(self, outline: Outline, nodes: int) -> tuple[float, float]:
        """Training and test rows of the mean node, validation rows included; for estimates."""
        return outline.train_rows / nodes, outline.test_rows / nodes

    @abstractmethod
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
        """Give each node its rows.

        Parameters
        ----------
        labels : (n,) int64
            Class of every row of the data set; 0 where it has none, for partitions that do
            without.
        train, test : int64 arrays
            The rows that may be given out, disjoint.
        num_classes : int
        nodes : int
        streams : Streams
        groups : (n,) int64, optional
            Natural group of every row, for partitions by groups; others leave it alone.

        Returns
        -------
        list of Shard
            One per node; training rows come from `train`, test rows from `test`.

        Raises
        ------
        ScenarioError
            If more samples are asked for than the data has.
        """
