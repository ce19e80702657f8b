"""Independent clocks of the nodes: wake-up n of a node is the sum of its first n intervals."""

from bisect import bisect_right
from collections.abc import Callable, Iterable

from netsim.units import to_ns

AHEAD = 16
"""Number of wake-ups of a node in one draw."""


class OwnClock:
    """Wake-up times of each node from its intervals.

    Parameters
    ----------
    nodes : int
    intervals_s : callable
        (node, counts) -> for each count, which is at least 1, the seconds from wake-up count - 1
        (time 0 if there is none) to wake-up count.
    """

    def __init__(self, nodes: int, intervals_s: Callable[[int, range], Iterable[float]]) -> None:
        self._intervals_s = intervals_s
        self._times: list[list[int]] = [[] for _ in range(nodes)]
        # By node, its last answer, and from when to when it holds: the next one is mostly the same.
        self._last: list[tuple[int, int, tuple[int, int]]] = [(0, 0, (-1, 0))] * nodes

    def _extend(self, node: int) -> None:
        times = self._times[node]
        last = times[-1] if times else 0
        for interval_s in self._intervals_s(node, range(len(times) + 1, len(times) + 1 + AHEAD)):
            last += max(1, to_ns(interval_s))
            times.append(last)

    def next_wakeup(self, node: int, after: int) -> tuple[int, int]:
        times = self._times[node]
        while len(times) <= after:
            self._extend(node)
        return times[after], after + 1

    def last_wakeup(self, node: int, now_ns: int) -> tuple[int, int]:
        from_ns, until_ns, answer = self._last[node]
        if from_ns <= now_ns < until_ns:
            return answer
        times = self._times[node]
        while not times or times[-1] <= now_ns:
            self._extend(node)
        count = bisect_right(times, now_ns)
        answer = (times[count - 1], count) if count else (-1, 0)
        self._last[node] = max(0, answer[0]), times[count], answer
        return answer

    def number(self, node: int, now_ns: int) -> int:
        return self.last_wakeup(node, now_ns)[1]
