"""Nodes wake one after the other, round and round."""

from typing import Annotated, Literal

from netsim.registry import Duration, Recurs
from netsim.rng import Streams
from netsim.schedules import Clock, Schedule
from netsim.units import to_ns


class Starting(Schedule):
    """Every `turn_s` it is the next node's turn.

    Attributes
    ----------
    turn_s : float
        In s.
    """

    schedule: Literal["starting"] = "starting"
    turn_s: Annotated[Duration, Recurs("wake-ups")] = 0.25

    def mean_interval_s(self, nodes: int) -> float:
        """Mean time between two wake-ups of a node [s]."""
        return self.turn_s * nodes

    def clock(self, streams: Streams, nodes: int) -> Clock:
        """The wake-up times of so many nodes, in ns; wake-ups are numbered from 1."""
        return _Turns(max(1, to_ns(self.turn_s)), nodes)


class _Turns:
    """Wake-up k of node i is turn (k - 1) n + i + 1."""

    def __init__(self, turn_ns: int, nodes: int) -> None:
        self._turn_ns, self._nodes = turn_ns, nodes

    def next_wakeup(self, node: int, after: int) -> tuple[int, int]:
        """(time in ns, number) of the node's first wake-up whose number is greater than `after`."""
        return (after * self._nodes + node + 1) * self._turn_ns, after + 1

    def last_wakeup(self, node: int, now_ns: int) -> tuple[int, int]:
        """(time in ns, number) of its last wake-up up to `now_ns`; (-1, 0) before the first."""
        count = self.number(node, now_ns)
        return self.next_wakeup(node, count - 1) if count else (-1, 0)

    def number(self, node: int, now_ns: int) -> int:
        """Return the number of wake-ups of a node up to `now_ns`."""
        turns = now_ns // self._turn_ns - node - 1
        return turns // self._nodes + 1 if turns >= 0 else 0
