"""Piecewise linear trajectories: straight legs, each at a constant speed."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

Knot = tuple[int, float, float]
"""Time [ns] and place [m, m] of a node; in between it goes straight on."""


class Ways:
    """The trajectories of all nodes, computed as far as they are asked for.

    Parameters
    ----------
    knots : sequence of iterator of Knot
        One a node, by ascending time; the first at time 0. After the last a node stands still.
    fastest_m_per_s : float
    """

    def __init__(self, knots: Sequence[Iterator[Knot]], fastest_m_per_s: float) -> None:
        self.fastest_m_per_s = fastest_m_per_s
        self._coming = list(knots)
        first = [next(coming) for coming in self._coming]
        self._times = [[time_ns] for time_ns, _, _ in first]
        self._places = [[(x, y)] for _, x, y in first]

    def at(self, nodes: Sequence[int], time_ns: int) -> NDArray[np.float64]:
        """Positions [m] of some nodes at one instant; shape (len(nodes), 2)."""
        found = np.empty((len(nodes), 2))
        for row, node in enumerate(nodes):
            found[row] = self._position(node, time_ns)
        return found

    def knots(self, node: int, until_ns: int) -> list[Knot]:
        """Return a node's times and places up to an instant: all its turns, and its last place."""
        x, y = self._position(node, until_ns)
        times, places = self._times[node], self._places[node]
        before = bisect_right(times, until_ns - 1)
        found = [(t, *place) for t, place in zip(times[:before], places, strict=False)]
        return [*found, (until_ns, x, y)]

    def _position(self, node: int, time_ns: int) -> tuple[float, float]:
        times, places = self._times[node], self._places[node]
        while times[-1] <= time_ns:
            knot = next(self._coming[node], None)
            if knot is None:
                return places[-1]
            if knot[0] > times[-1]:  # else: a leg of less than a nanosecond
                times.append(knot[0])
                places.append(knot[1:])
        leg = bisect_right(times, time_ns)
        (x, y), (next_x, next_y) = places[leg - 1], places[leg]
        part = (time_ns - times[leg - 1]) / (times[leg] - times[leg - 1])
        return x + part * (next_x - x), y + part * (next_y - y)
