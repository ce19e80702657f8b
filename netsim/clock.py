"""The virtual clock: SimPy's environment, in whole nanoseconds and with ranks within an instant.

What happens at one instant happens in this order: nodes are switched on and off (`BEFORE`), work
ends (`FIRST`), messages and wake-ups come (SimPy's normal rank), what waits for the instant to be
over goes on (`LAST`: slots, barriers). Within a
rank, in the order in which it was scheduled.
"""

from collections.abc import Callable
from typing import Any

import simpy
from simpy.events import EventPriority

BEFORE = EventPriority(-1)
FIRST = EventPriority(0)
LAST = EventPriority(2)


class _Deed(simpy.Event):
    """Something that is done at its time."""

    def __init__(
        self, env: simpy.Environment, action: Callable[..., object], arguments: tuple[Any, ...]
    ) -> None:
        self.env = env
        self.callbacks = [self._do]
        self._ok, self._value = True, None
        self._action, self._arguments = action, arguments

    def _do(self, _: simpy.Event) -> None:
        self._action(*self._arguments)


class Clock(simpy.Environment):
    """Virtual time of one run."""

    def __init__(self) -> None:
        super().__init__(initial_time=0)

    @property
    def now(self) -> int:
        """Virtual time in nanoseconds."""
        return self._now  # type: ignore[return-value]

    @property
    def waiting(self) -> int:
        """How many events are still to come."""
        return len(self._queue)

    def due(self, delay_ns: int, rank: EventPriority, value: Any = None) -> simpy.Event:
        """Event: `delay_ns` from now, at its rank of that instant."""
        event = self.event()
        event._ok, event._value = True, value
        self.schedule(event, priority=rank, delay=delay_ns)
        return event

    def after(self, delay_ns: int, action: Callable[..., object], *arguments: Any) -> None:
        """Call `action(*arguments)` `delay_ns` from now."""
        if delay_ns < 0:
            raise ValueError(f"Negative delay {delay_ns}")
        self.schedule(_Deed(self, action, arguments), delay=delay_ns)


def then(event: simpy.Event, action: Callable[[simpy.Event], object]) -> simpy.Event:
    """Do something when an event happens, before whoever is told later; returns the event."""
    callbacks = event.callbacks
    assert callbacks is not None, "the event has not happened yet"
    callbacks.append(action)  # type: ignore[arg-type] # what it returns is of no interest
    return event
