"""Powers that a node draws, each for a known time, and their energy in all."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from netsim.channels.sleep import Rhythm
from netsim.units import NS_PER_S


class Load(NamedTuple):
    """A constant power between two instants.

    Attributes
    ----------
    from_ns, to_ns : int
        From when to when.
    watt : float
        A negative one takes back a load.
    woken_w : float
        Further power at those times at which the radio would sleep: what it saves by sleeping.
    """

    from_ns: int
    to_ns: int
    watt: float
    woken_w: float = 0.0

    def joules(self, from_ns: int, to_ns: int, rhythm: Rhythm | None) -> float:
        """Energy of that part of it which lies between two instants.

        Parameters
        ----------
        from_ns, to_ns : int
        rhythm : Rhythm or None
            When the radio is awake; None: always.
        """
        from_ns, to_ns = max(from_ns, self.from_ns), min(to_ns, self.to_ns)
        if to_ns <= from_ns:
            return 0.0
        drawn = self.watt * (to_ns - from_ns)
        if self.woken_w and rhythm is not None:
            drawn += self.woken_w * rhythm.asleep_ns(from_ns, to_ns)
        return drawn / NS_PER_S


new_load: Callable[[tuple[int, int, float, float]], Load] = partial(tuple.__new__, Load)
"""A `Load` of a tuple of all its fields, in a third of the time; there is one for every message."""


KEPT = 32
"""Loads that are kept beside those under way before the ones that have ended are searched for."""


class Loads:
    """Energy of one node by one cause: what has been drawn, and the loads under way.

    Parameters
    ----------
    rhythm : Rhythm or None
        When the node's radio is awake, as far as its sleep saves energy; None: always.

    Attributes
    ----------
    counted_j : float
        Joules of all loads to their ends.
    """

    __slots__ = ("_ahead", "_most", "_rhythm", "counted_j")

    def __init__(self, rhythm: Rhythm | None = None) -> None:
        self.counted_j = 0.0
        self._ahead: list[Load] = []
        self._most = KEPT
        self._rhythm = rhythm

    def add(self, load: Load, joules: float, now_ns: int) -> None:
        """Count a load.

        Parameters
        ----------
        load : Load
        joules : float
            All of its energy.
        now_ns : int
        """
        self.counted_j += joules
        if load.to_ns > now_ns:
            ahead = self._ahead
            ahead.append(load)
            if len(ahead) > self._most:
                self._ahead = [one for one in ahead if one.to_ns > now_ns]
                self._most = 2 * len(self._ahead) + KEPT

    def drawn_j(self, now_ns: int) -> float:
        """Joules that have been drawn by an instant; below 0 where loads draw less than idling."""
        drawn = self.counted_j
        for load in self._ahead:
            drawn -= load.joules(now_ns, load.to_ns, self._rhythm)
        return 0.0 if -1e-9 < drawn < 0.0 else drawn  # sums that cancel leave an error

    def stop(self, now_ns: int) -> list[Load]:
        """Let every load end now; what takes back the rest of each."""
        self.counted_j = self.drawn_j(now_ns)
        rest = [
            Load(max(now_ns, load.from_ns), load.to_ns, -load.watt, -load.woken_w)
            for load in self._ahead
            if load.to_ns > now_ns
        ]
        self._ahead = []
        return rest

    def drop(self, place: int, now_ns: int) -> Load | None:
        """Let one load end now; what takes back the rest of it, None: there is none.

        Parameters
        ----------
        place : int
            Its place among those that have not ended, in order of their begin.
        now_ns : int
        """
        to_come = sorted(load for load in self._ahead if load.to_ns > now_ns)
        if place >= len(to_come):
            return None
        load = to_come[place]
        self.counted_j -= load.joules(now_ns, load.to_ns, self._rhythm)
        self._ahead = to_come[:place] + to_come[place + 1 :]
        return Load(max(now_ns, load.from_ns), load.to_ns, -load.watt, -load.woken_w)
