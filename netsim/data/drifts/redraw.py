"""Nodes get other samples: another mix of classes, other amounts."""

from collections.abc import Sequence
from typing import Any, Literal

from netsim.data.drifts import Drift, Holdings, Pool
from netsim.registry import choice
from netsim.rng import Streams


class Redraw(Drift):
    """A new division of the data set by a partition of this table; labels stay.

    The partition divides the data among all nodes, and the nodes whose data change take their part.
    A sample on which one node has trained never becomes a test or validation sample of another.

    Parameters
    ----------
    partition : Partition
        As `[data.partition]`; of the same kind it is drawn anew.
    """

    kind: Literal["redraw"] = "redraw"
    partition: choice("netsim.data.partitions")  # type: ignore[valid-type]

    def change(self, now: Holdings, who: Sequence[int], pool: Pool, streams: Streams) -> Holdings:
        """See the base class.

        Parameters
        ----------
        now, who, pool, streams
            As there.
        """
        partition: Any = self.partition
        drawn = pool.split(partition, len(now.parts), streams)
        return now.with_parts({i: drawn[i] for i in who})
