"""Every node wakes by a Poisson clock of its own."""

import math
from functools import lru_cache
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray

from netsim.registry import Plausible, Positive, Recurs
from netsim.rng import Streams
from netsim.schedules import Clock, Schedule
from netsim.schedules._own_clock import OwnClock

TOGETHER = 64
"""Number of nodes whose wake-ups are drawn in one call: all advance at about the same pace."""

KEPT = 4
"""Number of calls whose draws are kept for each group of nodes."""


class Poisson(Schedule):
    """Wake-ups of each node with exponential gaps.

    Attributes
    ----------
    rate_hz
        Mean number of wake-ups of each node per second.
    """

    schedule: Literal["poisson"] = "poisson"
    rate_hz: Annotated[
        Positive, Recurs("wake-ups", per_node=True, rate=True), Plausible(in_run=True)
    ]

    def mean_interval_s(self, nodes: int) -> float:
        return 1.0 / self.rate_hz

    def clock(self, streams: Streams, nodes: int) -> Clock:
        @lru_cache(maxsize=KEPT * -(-nodes // TOGETHER))
        def draws(first: int, counts: range) -> NDArray[np.float64]:
            some = np.arange(first, min(first + TOGETHER, nodes))
            return streams.uniform_table("wake", some, counters=counts)

        def intervals_s(node: int, counts: range) -> list[float]:
            place = node % TOGETHER
            # NumPy's logarithm differs from the scalar one in the last bit.
            mine = draws(node - place, counts)[place].tolist()
            return [-math.log1p(-u) / self.rate_hz for u in mine]

        return OwnClock(nodes, intervals_s)
