"""Nodes get other samples: another mix of classes, other amounts."""

from collections.abc import Sequence
from typing import Any, Literal

from netsim.data.drifts import Drift, Holdings, Pool
from netsim.registry import choice
from netsim.rng import Streams


class Redraw(Drift):
    """The data set is given out anew, by a partition of this table; labels stay.

    All nodes are counted when it is given out, and those whose data change take their part. A
    sample that one node has trained on is never another's test sample, nor its validation sample.

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
