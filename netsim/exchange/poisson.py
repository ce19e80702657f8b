"""Every node wakes by a Poisson clock of its own."""

import math
from typing import Literal

from netsim.exchange import Clock, Schedule
from netsim.exchange._own_clock import OwnClock
from netsim.registry import Positive
from netsim.rng import Streams


class Poisson(Schedule):
    """Wake-ups of each node at `rate_hz` a second on average, exponential gaps."""

    schedule: Literal["poisson"] = "poisson"
    rate_hz: Positive

    def clock(self, streams: Streams, nodes: int) -> Clock:
        def intervals_s(node: int, counts: range) -> list[float]:
            # NumPy's logarithm differs from the scalar one in the last bit.
            draws = streams.uniforms("wake", node, counters=counts).tolist()
            return [-math.log1p(-u) / self.rate_hz for u in draws]

        return OwnClock(nodes, intervals_s)
