"""Slices that overlap side by side: a thread of a trace shows slices within each other only."""

import heapq
from collections.abc import Iterable, Iterator


def lanes(spans: Iterable[tuple[int, int]]) -> Iterator[int]:
    """The lane of each span, the lowest that is free.

    Parameters
    ----------
    spans : iterable of (int, int)
        Begin and end, in order of their beginnings.

    Yields
    ------
    int
        From 0.
    """
    free: list[int] = []
    taken: list[tuple[int, int]] = []
    many = 0
    for begin, end in spans:
        while taken and taken[0][0] <= begin:
            heapq.heappush(free, heapq.heappop(taken)[1])
        if free:
            lane = heapq.heappop(free)
        else:
            lane, many = many, many + 1
        heapq.heappush(taken, (end, lane))
        yield lane
