"""Data that change while a run plays; one sort of change a file, its name is its `kind`.

A drift happens at given times and says, of what nodes hold until then, what they hold from then on:
other samples, or the same samples under other labels. Everything is drawn before the run.
"""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import BeforeValidator, Field, model_validator

from netsim.data.partitions import Partition, Rows, Shard
from netsim.data.sets import Samples
from netsim.errors import ScenarioError
from netsim.registry import Component, Fraction, Index, NonNegative, kind_of
from netsim.rng import Streams

LISTED_AS = "data.drift"
"""Name of this family in `netsim list`."""


@dataclass(frozen=True, eq=False)
class Holdings:
    """Data of the data-holding nodes at a time; tuples have an entry for each of them.

    Attributes
    ----------
    parts : tuple of Shard
        Whose rows.
    labels : tuple of ((C,) int64 or None)
        The label that a sample of each class bears at the node; None: that of the data set.
    """

    parts: tuple[Shard, ...]
    labels: tuple[NDArray[np.int64] | None, ...]

    def with_parts(self, parts: dict[int, Shard]) -> "Holdings":
        """The same, with other rows for some nodes."""
        return replace(self, parts=tuple(parts.get(i, own) for i, own in enumerate(self.parts)))

    def relabelled(self, labels: dict[int, NDArray[np.int64]]) -> "Holdings":
        """The same samples, whose present label c becomes `labels[node][c]` at some nodes."""
        after = []
        for i, own in enumerate(self.labels):
            if i in labels:
                own = labels[i] if own is None else labels[i][own]
                own = None if (own == np.arange(len(own))).all() else own
            after.append(own)
        return replace(self, labels=tuple(after))


@dataclass(frozen=True, eq=False)
class Pool:
    """The data set that is given out.

    Attributes
    ----------
    samples : Samples
    labels : (n,) int64
        Class of every row; 0 where it has none.
    """

    samples: Samples
    labels: Rows

    def split(self, partition: Partition, nodes: int, streams: Streams) -> list[Shard]:
        """Give each of `nodes` nodes its rows.

        Parameters
        ----------
        partition : Partition
        nodes : int
        streams : Streams

        Raises
        ------
        ScenarioError
            If there are too few samples for the partition, or they lack what it goes by.
        """
        own, by = self.samples, partition.goes_by
        lacks = by == "classes" or (by == "groups" and own.groups is None)
        if lacks and not own.has_classes:
            kind = kind_of(partition)
            grouped = ' or "by_group"' if own.groups is not None else ""
            raise ScenarioError(
                f'[data.partition] kind = "{kind}": goes by {by} of samples, the data set '
                f'"{own.name}" has none; write kind = "iid"{grouped}'
            )
        return partition.split(
            *(self.labels, own.train, own.test, own.num_classes, nodes, streams, own.groups)
        )


def _as_tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else (value,)


Times = Annotated[
    tuple[NonNegative, ...],
    Field(min_length=1),
    BeforeValidator(_as_tuple, json_schema_input_type=NonNegative | list[NonNegative]),
]
"""One instant [s] or several."""


class Drift(Component):
    """Base of the drifts. A subclass states `kind` and says what changes.

    Parameters
    ----------
    at_s : tuple of float, or float
        Times of the change, each of which applies to the data of that time and comes before all
        other events of that instant.
    nodes : tuple of int
        Nodes whose data change; empty: see `fraction`.
    fraction : float
        Share of the data-holding nodes whose data change, rounded to whole nodes, drawn once.

    Attributes
    ----------
    needs_classes : bool
        Whether it is on the classes of samples, which not every task has.
    """

    needs_classes: ClassVar[bool] = False

    at_s: Times
    nodes: tuple[Index, ...] = ()
    fraction: Fraction = 1.0

    @model_validator(mode="after")
    def _one_choice(self) -> "Drift":
        if self.nodes and self.changed(["fraction"]):
            raise ValueError("nodes and fraction both say whose data change; leave one out")
        return self

    def affected(self, learners: Sequence[int], streams: Streams) -> list[int]:
        """Places among the data-holding nodes of those whose data change, ascending.

        Parameters
        ----------
        learners : sequence of int
            The data-holding nodes.
        streams : Streams
            Of this drift.

        Raises
        ------
        ScenarioError
            If a node in `nodes` holds no data.
        """
        kind = kind_of(self)
        place = {node: i for i, node in enumerate(learners)}
        for node in self.nodes:
            if node not in place:
                raise ScenarioError(
                    f'[[data.drift]] kind = "{kind}": nodes names {node}, which holds no data; '
                    f"{len(place)} nodes do, {learners[0]} to {learners[-1]}"
                )
        if self.nodes:
            return sorted({place[node] for node in self.nodes})
        order = streams.permutation("nodes", n=len(place))
        return sorted(order[: round(self.fraction * len(place))].tolist())

    @abstractmethod
    def change(self, now: Holdings, who: Sequence[int], pool: Pool, streams: Streams) -> Holdings:
        """Return the nodes' data from then on.

        Parameters
        ----------
        now : Holdings
            What they have until then.
        who : sequence of int
            Places in `now` of the nodes whose data change, ascending.
        pool : Pool
            The data set.
        streams : Streams
            Of this drift and this one of its times.
        """
