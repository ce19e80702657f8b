"""States of one radio over time, where it may be told to do several things at once.

A radio is in one state at a time. Two packets that reach it together are received once, and while
it sends it receives nothing. What is spread over a time counts by its share of it.
"""

from collections.abc import Callable
from enum import Enum
from typing import NamedTuple

from netsim.devices.energy.steps import Steps

KEPT = 64
"""Instants that are kept before those that matter no longer are searched for."""


class Does(Enum):
    """State of a radio, by the field of `Activity` that counts it."""

    SEND = "sending"
    RECEIVE = "receiving"
    OVERHEAR = "overhearing"


class Activity(NamedTuple):
    """Demands on a radio at one time, summed over messages: shares of the time, and a power.

    Attributes
    ----------
    sending : float
        Share that it should send for.
    sending_w : float
        Power of that, times its share.
    receiving : float
        Share that it should receive for, which it wakes up for.
    overhearing : float
        Share that it would receive for what is meant for others.
    """

    sending: float = 0.0
    sending_w: float = 0.0
    receiving: float = 0.0
    overhearing: float = 0.0

    def add(self, other: "Activity", times: float = 1.0) -> "Activity":
        """Add another one, multiplied by `times`."""
        a, b = self, other
        return Activity(
            a[0] + times * b[0], a[1] + times * b[1], a[2] + times * b[2], a[3] + times * b[3]
        )

    def power_draw(self, receiving_w: float) -> tuple[float, float]:
        """Power beyond waiting [W], and the share for which the radio has to be awake.

        Parameters
        ----------
        receiving_w : float
            Power of receiving beyond that of waiting.
        """
        sends = min(1.0, max(0.0, self.sending))
        watt = self.sending_w / max(1.0, self.sending)
        hears = max(0.0, self.receiving) + max(0.0, self.overhearing)
        watt += receiving_w * min(hears, 1.0 - sends)
        return watt, min(1.0, sends + max(0.0, self.receiving))


class Change(NamedTuple):
    """Another power than was counted before, between two instants.

    Attributes
    ----------
    from_ns, to_ns : int
    watt : float
        How much more is drawn.
    awake : float
        For how much more of the time the radio has to be awake.
    """

    from_ns: int
    to_ns: int
    watt: float
    awake: float


class States:
    """Demands on one radio, as far back as further ones may reach.

    Parameters
    ----------
    receiving_w : float
        Power of receiving beyond that of waiting [W].
    """

    __slots__ = ("_most", "_receiving_w", "_steps")

    def __init__(self, receiving_w: float) -> None:
        self._receiving_w = receiving_w
        self._steps = Steps((Activity(), (0.0, 0.0)))
        self._most = KEPT

    def add(
        self,
        activity: Activity,
        from_ns: int,
        to_ns: int,
        oldest_ns: Callable[[], int],
        times: float = 1.0,
    ) -> list[Change]:
        """Demand something between two instants, or take it back.

        Parameters
        ----------
        activity : Activity
        from_ns, to_ns : int
        oldest_ns : callable
            The instant [ns] before which no later demand begins.
        times : float
            -1.0 where it is taken back.

        Returns
        -------
        list of Change
            What it changes, in order.
        """
        steps = self._steps
        if len(steps.from_ns) > self._most:
            steps.forget(min(oldest_ns(), from_ns))
            self._most = 2 * len(steps.from_ns) + KEPT
        found = []
        for k in steps.range_between(from_ns, to_ns):
            before, (watt_before, awake_before) = steps.then[k]
            after = before.add(activity, times)
            watt, awake = after.power_draw(self._receiving_w)
            steps.then[k] = after, (watt, awake)
            begins_ns, ends_ns = steps.from_ns[k : k + 2]
            change = Change(begins_ns, ends_ns, watt - watt_before, awake - awake_before)
            if change.watt or change.awake:
                found.append(change)
        return found
