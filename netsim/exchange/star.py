"""One random node wakes every exchange interval (KD-PDFL, Jeong and Kountouris 2023, Alg. 1)."""

from typing import Literal

import numpy as np

from netsim.exchange import Clock, Schedule
from netsim.registry import Count, Positive
from netsim.rng import Streams
from netsim.units import to_ns

_CHUNK = 4096


class Star(Schedule):
    """Every `slots_per_exchange` slots one node, drawn uniformly, wakes and is the star.

    `slot_s` is the time of one local step, `slots_per_exchange` the paper's T_ex.
    """

    schedule: Literal["star"] = "star"
    slot_s: Positive = 1.0
    slots_per_exchange: Count = 20

    @property
    def interval_s(self) -> float:
        """Time between two wake-ups."""
        return self.slot_s * self.slots_per_exchange

    def clock(self, streams: Streams, nodes: int) -> Clock:
        return StarClock(streams, nodes, to_ns(self.slot_s) * self.slots_per_exchange)


class StarClock:
    """Exchange n = 1, 2, ... is at n * interval, its star is `stars[n]`."""

    def __init__(self, streams: Streams, nodes: int, interval_ns: int) -> None:
        self._streams, self._nodes, self._interval_ns = streams, nodes, interval_ns
        self._known = 0
        self._exchanges: list[list[int]] = [[] for _ in range(nodes)]
        self._next = [0] * nodes
        self._last = [0] * nodes
        self._asked = [0] * nodes

    def _extend(self) -> None:
        numbers = np.arange(self._known + 1, self._known + _CHUNK + 1)
        draws = self._streams.uniforms("star", counters=numbers)
        for n, star in zip(numbers.tolist(), (draws * self._nodes).astype(int), strict=True):
            self._exchanges[star].append(n)
        self._known += _CHUNK

    def next_wakeup(self, node: int, after: int) -> tuple[int, int]:
        mine = self._exchanges[node]
        i = self._next[node]
        while i >= len(mine) or mine[i] <= after:
            if i < len(mine):
                i += 1
            else:
                self._extend()
        self._next[node] = i
        return mine[i] * self._interval_ns, mine[i]

    def last_wakeup(self, node: int, now_ns: int) -> tuple[int, int]:
        exchange = now_ns // self._interval_ns
        while self._known <= exchange:
            self._extend()
        mine = self._exchanges[node]
        i = self._asked[node]
        while i < len(mine) and mine[i] <= exchange:
            self._last[node] = mine[i]
            i += 1
        self._asked[node] = i
        last = self._last[node]
        return (last * self._interval_ns, last) if last else (-1, 0)
