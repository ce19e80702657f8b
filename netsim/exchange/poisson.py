"""Every node wakes by a Poisson clock of its own."""

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
        return OwnClock(nodes, lambda i, n: streams.exponential("wake", i, n) / self.rate_hz)
