"""Wake-up times of nodes; one schedule a file, its name is its `schedule` in a scenario.

Wake-up times are a function of (seed, node, count) alone, whatever happens in the run; except under
`rounds`, whose barrier the engine keeps.
"""

from abc import abstractmethod
from typing import Annotated, ClassVar, NamedTuple, Protocol

from netsim.registry import Component, Duration, Recurs
from netsim.rng import Streams

LISTED_AS = "exchange"
"""Name of this family in `netsim list`: the scenario table that chooses from it."""


class Wake(NamedTuple):
    """One wake-up.

    Attributes
    ----------
    round : int
        Number of the wake-up: of the exchange (`star`), of the barrier round (`rounds`), or of
        the node's own clock.
    slot : int
        Number of the slot in which it falls, from time 0.
    """

    round: int
    slot: int


class Clock(Protocol):
    """Wake-up times of all nodes, in nanoseconds."""

    def next_wakeup(self, node: int, after: int) -> tuple[int, int]:
        """(time in ns, number) of the node's first wake-up whose number is greater than `after`."""

    def last_wakeup(self, node: int, now_ns: int) -> tuple[int, int]:
        """(time in ns, number) of its last wake-up up to `now_ns`; (-1, 0) before the first."""

    def number(self, node: int, now_ns: int) -> int:
        """Return the number of the node's last wake-up up to `now_ns`."""


class Schedule(Component):
    """Base of the exchange schedules.

    Attributes
    ----------
    barrier : bool
        Whether nodes wait for each other at the end of rounds; then there is no `clock`.
    slot_s : float or None
        Length of a slot, the unit of `node.tick()`. Absent: the time of one local step.
    """

    barrier: ClassVar[bool] = False
    slot_s: Annotated[Duration, Recurs("slots")] | None = None

    @abstractmethod
    def clock(self, streams: Streams, nodes: int) -> Clock:
        """The wake-up times of so many nodes."""

    def mean_interval_s(self, nodes: int) -> float | None:
        """Mean time between two wake-ups of one of so many nodes [s]; None: it is not known.

        Three of them are the age up to which a message counts in an exchange, where an algorithm
        does not say another (`max_age_s`); None sets no such limit.
        """
        return None


class ChangingClock:
    """Wake-ups by one clock before an instant, by another from then on.

    Both are absolute: the second one's wake-ups are where they would be had it run from time 0.
    Numbers go on from those of the first, so that no wake-up has the number of an earlier one.

    Parameters
    ----------
    before : Clock
    change_ns : int
        The first instant at which the second clock holds.
    after : Clock
    """

    def __init__(self, before: Clock, change_ns: int, after: Clock) -> None:
        self._before, self._change_ns, self._after = before, change_ns, after

    def next_wakeup(self, node: int, after: int) -> tuple[int, int]:
        time_ns, number = self._before.next_wakeup(node, after)
        if time_ns < self._change_ns:
            return time_ns, number
        passed, more = self._passed(node)
        time_ns, number = self._after.next_wakeup(node, max(after - more, passed))
        return time_ns, number + more

    def last_wakeup(self, node: int, now_ns: int) -> tuple[int, int]:
        if now_ns >= self._change_ns:
            passed, more = self._passed(node)
            time_ns, number = self._after.last_wakeup(node, now_ns)
            if number > passed:
                return time_ns, number + more
        return self._before.last_wakeup(node, min(now_ns, self._change_ns - 1))

    def number(self, node: int, now_ns: int) -> int:
        if now_ns < self._change_ns:
            return self._before.number(node, now_ns)
        return self._after.number(node, now_ns) + self._passed(node)[1]

    def _passed(self, node: int) -> tuple[int, int]:
        """Number of the second clock before the change, and how much larger the first one's is."""
        last_ns = self._change_ns - 1
        passed = self._after.number(node, last_ns)
        return passed, self._before.number(node, last_ns) - passed
