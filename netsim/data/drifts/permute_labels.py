"""A random permutation of all classes."""

from collections.abc import Sequence
from typing import ClassVar, Literal

from netsim.data.drifts import Drift, Holdings, Pool
from netsim.rng import Streams


class PermuteLabels(Drift):
    """A random order of the classes, drawn anew at each time, for all samples of a node.

    Parameters
    ----------
    common : bool
        One order for all nodes whose data change, or one for each.
    """

    kind: Literal["permute_labels"] = "permute_labels"
    common: bool = True

    needs_classes: ClassVar[bool] = True

    def change(self, now: Holdings, who: Sequence[int], pool: Pool, streams: Streams) -> Holdings:
        """See the base class.

        Parameters
        ----------
        now, who, pool, streams
            As there.
        """
        count = pool.samples.num_classes
        return now.relabelled(
            {
                i: streams.permutation("classes", *(() if self.common else (i,)), n=count)
                for i in who
            }
        )
