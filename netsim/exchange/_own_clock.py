"""Clocks that every node keeps for itself: wake-up n is a cumulative sum of its intervals."""

from bisect import bisect_right
from collections.abc import Callable

from netsim.units import to_ns


class OwnClock:
    """Wake-up times per node from a law of intervals.

    Parameters
    ----------
    nodes : int
    interval_s : callable
        (node, count) -> seconds between wake-ups count - 1 and count, count = 1, 2, ...
    """

    def __init__(self, nodes: int, interval_s: Callable[[int, int], float]) -> None:
        self._interval_s = interval_s
        self._times: list[list[int]] = [[] for _ in range(nodes)]

    def _extend(self, node: int) -> None:
        times = self._times[node]
        interval_s = self._interval_s(node, len(times) + 1)
        times.append((times[-1] if times else 0) + max(1, to_ns(interval_s)))

    def next_wakeup(self, node: int, after: int) -> tuple[int, int]:
        times = self._times[node]
        while len(times) <= after:
            self._extend(node)
        return times[after], after + 1

    def last_wakeup(self, node: int, now_ns: int) -> tuple[int, int]:
        times = self._times[node]
        while not times or times[-1] <= now_ns:
            self._extend(node)
        count = bisect_right(times, now_ns)
        return (times[count - 1], count) if count else (-1, 0)
