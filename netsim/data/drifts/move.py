"""Data move from node to node: users change devices, devices change places."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from netsim.data.drifts import Drift, Holdings, Pool
from netsim.rng import Streams


class Move(Drift):
    """Each node takes over all training, validation and test samples of another one.

    Parameters
    ----------
    order : {"next", "random"}
        From the node with the next higher number (the last one from the first), or each from
        another at random, so that they go round in one circle.
    """

    kind: Literal["move"] = "move"
    order: Literal["next", "random"] = "next"

    def change(self, now: Holdings, who: Sequence[int], pool: Pool, streams: Streams) -> Holdings:
        """See the base class.

        Parameters
        ----------
        now, who, pool, streams
            As there.
        """
        circle = np.array(who, dtype=np.int64)
        if self.order == "random":
            circle = circle[streams.permutation("order", n=len(circle))]
        source = np.arange(len(now.parts))
        source[circle] = np.roll(circle, -1)
        return replace(
            now,
            parts=tuple(now.parts[i] for i in source),
            labels=tuple(now.labels[i] for i in source),
        )
