"""One random node wakes every exchange interval (KD-PDFL, Jeong and Kountouris 2023, Alg. 1)."""

from bisect import bisect_right
from typing import Annotated, Literal

import numpy as np

from netsim.registry import Count, Duration, Plausible, Recurs
from netsim.rng import Streams
from netsim.schedules import Clock, Schedule
from netsim.units import to_ns

_CHUNK = 4096


class Star(Schedule):
    """Every `slots_per_exchange` slots one node, drawn uniformly, wakes and is the star.

    Attributes
    ----------
    slot_s
        Length of a slot, the time of one local step.
    slots_per_exchange
        T_ex, slots from one exchange to the next. Source: Jeong and Kountouris, ICC 2023, Algorithm
        1.
    """

    schedule: Literal["star"] = "star"
    slot_s: Annotated[Duration, Recurs("slots"), Plausible(in_run=True)] = 1.0
    slots_per_exchange: Count = 20

    @property
    def interval_s(self) -> float:
        """Time between two wake-ups."""
        return self.slot_s * self.slots_per_exchange

    def mean_interval_s(self, nodes: int) -> float:
        return self.interval_s * nodes

    def clock(self, streams: Streams, nodes: int) -> Clock:
        return StarClock(streams, nodes, to_ns(self.slot_s) * self.slots_per_exchange)


class StarClock:
    """Exchange n = 1, 2, ... is at n times the interval; its star is drawn uniformly.

    Parameters
    ----------
    streams : Streams
    nodes : int
        Number of nodes.
    interval_ns : int
        Time between two exchanges.
    """

    def __init__(self, streams: Streams, nodes: int, interval_ns: int) -> None:
        self._streams, self._nodes, self._interval_ns = streams, nodes, interval_ns
        self._known = 0
        self._exchanges: list[list[int]] = [[] for _ in range(nodes)]

    def _extend(self) -> None:
        numbers = np.arange(self._known + 1, self._known + _CHUNK + 1)
        draws = self._streams.uniforms("star", counters=numbers)
        for n, star in zip(numbers.tolist(), (draws * self._nodes).astype(int), strict=True):
            self._exchanges[star].append(n)
        self._known += _CHUNK

    def next_wakeup(self, node: int, after: int) -> tuple[int, int]:
        mine = self._exchanges[node]
        while not mine or mine[-1] <= after:
            self._extend()
        number = mine[bisect_right(mine, after)]
        return number * self._interval_ns, number

    def last_wakeup(self, node: int, now_ns: int) -> tuple[int, int]:
        exchange = now_ns // self._interval_ns
        while self._known <= exchange:
            self._extend()
        mine = self._exchanges[node]
        i = bisect_right(mine, exchange)
        return (mine[i - 1] * self._interval_ns, mine[i - 1]) if i else (-1, 0)

    def number(self, node: int, now_ns: int) -> int:
        return max(0, now_ns // self._interval_ns)
