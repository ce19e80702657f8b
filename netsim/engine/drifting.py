"""Apply data drift to a run: nodes go over to other shards at given times."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from netsim.clock import BEFORE, Clock, then
from netsim.learning.shards import Shards
from netsim.node.node import Node
from netsim.world.drifting import DataChange


class Drifting:
    """The changes of data in one run.

    What nodes have asked for by then is done with the samples that they had: jobs name their
    shard. Evaluations from then on are on the new ones.

    Parameters
    ----------
    clock : Clock
    shards : Shards
        Of the run; says which shard each node has.
    nodes : sequence of Node
    changes : sequence of DataChange
        Each is made before all else of its instant, at 0 s now.

    Attributes
    ----------
    planned : int
        How many changes are events of the clock and still to come.
    """

    def __init__(
        self, clock: Clock, shards: Shards, nodes: Sequence[Node], changes: Sequence[DataChange]
    ) -> None:
        self._shards, self._nodes, self._changes = shards, nodes, changes
        self.planned = 0
        for change in changes:
            if change.at_ns == 0:
                self._make(change)
            else:
                self.planned += 1
                then(clock.due(change.at_ns, BEFORE), self._due(change))

    def _due(self, change: DataChange) -> Any:
        def make(_: object) -> None:
            self.planned -= 1
            self._make(change)

        return make

    def _make(self, change: DataChange) -> None:
        for node, shard in change.held.items():
            self._shards.held[node] = shard
            self._nodes[node].train_size = self._shards.train_size(shard)

    def summary(self) -> list[dict[str, Any]]:
        """The changes for the summary: `at_s kinds nodes train_samples`.

        `nodes` are those that have other samples or labels from then on; of each of them, in this
        order, `train_samples` says how many it has.
        """
        return [
            {
                "at_s": change.at_s,
                "kinds": list(change.kinds),
                "nodes": list(change.held),
                "train_samples": [self._shards.train_size(s) for s in change.held.values()],
            }
            for change in self._changes
        ]
