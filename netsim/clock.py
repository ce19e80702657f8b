"""The virtual clock: SimPy's environment in whole nanoseconds, its events, and their ranks.

Events of one instant happen in the order of their ranks: nodes are switched on and off (`BEFORE`),
work ends (`FIRST`), messages and wake-ups come (SimPy's normal rank), and what has to see the
instant's outcome goes on (`LAST`: slots, barriers). Events of one rank happen in the order in which
they were scheduled.
"""

from collections.abc import Callable
from heapq import heappop, heappush
from operator import attrgetter
from typing import Any

import simpy
from simpy.events import EventPriority

from netsim.errors import ProtocolError

BEFORE = EventPriority(-1)
FIRST = EventPriority(0)
NORMAL = EventPriority(1)
LAST = EventPriority(2)


class Event(simpy.Event):
    """An event that says what it is, and whether its process does nothing but listen.

    Parameters
    ----------
    env : simpy.Environment
    what : str
        What is waited for, shown where a process waits in vain.
    listener : bool
        Whether the process waits without a time-out for messages that may never come: such a
        process keeps no round and no run going.
    """

    def __init__(self, env: simpy.Environment, what: str, listener: bool = False) -> None:
        self.env = env
        self.callbacks = []
        self.what, self.listener = what, listener

    def __bool__(self) -> bool:
        raise ProtocolError(
            "an event is neither true nor false; did you forget yield? Its value comes by yield: "
            'if (yield node.send(...)) == "delivered"'
        )


class _CertainEvent(Event):
    """An event that is certain to happen, `delay_ns` from its creation, at a rank."""

    what = "an instant"
    listener = False
    _ok = True

    def __init__(
        self, env: simpy.Environment, delay_ns: int, rank: EventPriority, value: Any
    ) -> None:
        self.env = env
        self.callbacks = []
        self._value = value
        heappush(env._queue, (env._now + delay_ns, rank, next(env._eid), self))


class _Call(simpy.Event):
    """A call that is made when its time has come."""

    _ok, _value = True, None

    def __init__(self, action: Callable[..., object], arguments: tuple[Any, ...]) -> None:
        self._action, self._arguments = action, arguments

    @property
    def callbacks(self) -> list[Callable[[simpy.Event], None]]:
        """The call itself, for SimPy's own loop; `Clock.play` makes it directly."""
        return [self._make]

    @callbacks.setter
    def callbacks(self, _: object) -> None:
        """Do nothing: SimPy marks an event whose time has come."""

    def is_of(self, package: str) -> bool:
        """Return whether the function is one of a package."""
        return getattr(self._action, "__module__", "").startswith(f"{package}.")

    def _make(self, _: simpy.Event) -> None:
        self._action(*self._arguments)


class Clock(simpy.Environment):
    """Virtual time of one run.

    Attributes
    ----------
    is_stopped : bool
        Whether `play` returns after the event under way.
    """

    def __init__(self) -> None:
        super().__init__(initial_time=0)
        self.is_stopped = False

    def stop(self) -> None:
        """Let `play` return after the event under way; for handlers of signals."""
        self.is_stopped = True

    now: int = property(attrgetter("_now"), doc="Virtual time in nanoseconds.")  # type: ignore[assignment]

    active_process: simpy.Process | None = property(  # type: ignore[assignment]
        attrgetter("_active_proc"), doc="The process that goes on now."
    )

    @property
    def num_queued(self) -> int:
        """Number of events in the queue."""
        return len(self._queue)

    @property
    def is_failing(self) -> bool:
        """Return whether a process has failed, which ends the run when its event comes."""
        return any(not event._ok and not event.defused for *_, event in self._queue)

    def next_resumed(self) -> simpy.Process | None:
        """The process that the next event lets go on, if it does."""
        callbacks = self._queue[0][3].callbacks if self._queue else None
        for callback in callbacks or ():
            process = getattr(callback, "__self__", None)
            if isinstance(process, simpy.Process):
                return process
        return None

    def next_call_ns(self, package: str) -> int | None:
        """Instant of the next call that waits of a function of a package; None: there is none."""
        return min(
            (
                at_ns
                for at_ns, _, _, event in self._queue
                if isinstance(event, _Call) and event.is_of(package)
            ),
            default=None,
        )  # type: ignore[return-value]

    def play(self, until_ns: int, most: int) -> int:
        """Let events happen, as `step` does one by one.

        Parameters
        ----------
        until_ns : int
            The last instant whose events happen.
        most : int
            Most events to happen.

        Returns
        -------
        int
            How many have happened: fewer than `most` if none is left up to that instant, or if the
            clock was stopped.
        """
        queue = self._queue
        for count in range(most):
            if not queue or self.is_stopped or queue[0][0] > until_ns:
                return count
            self._now, _, _, event = heappop(queue)
            if type(event) is _Call:
                event._action(*event._arguments)
                continue
            callbacks, event.callbacks = event.callbacks, None  # type: ignore[assignment]
            for callback in callbacks:
                callback(event)
            if not event._ok and not event.defused:
                # SimPy raises a copy, whose traceback begins here.
                raise type(event._value)(*event._value.args) from event._value
        return most

    def new_event(self, what: str) -> Event:
        """Make an event, which the caller triggers later."""
        return Event(self, what)

    def trigger(self, event: Event, rank: EventPriority, value: Any = None) -> None:
        """Trigger a pending event at this instant, at its rank.

        Parameters
        ----------
        event : Event
        rank : EventPriority
        value : object
            The event's value.
        """
        event._ok, event._value = True, value
        self.schedule(event, priority=rank)

    def triggered_event(self, value: Any = None) -> Event:
        """An event that happens at this instant, with a value."""
        return _CertainEvent(self, 0, NORMAL, value)

    def event_after(self, delay_ns: int, rank: EventPriority, value: Any = None) -> Event:
        """An event that happens `delay_ns` from now, at its rank of that instant.

        Parameters
        ----------
        delay_ns : int
        rank : EventPriority
            `BEFORE`, `FIRST`, `NORMAL` or `LAST`.
        value : object
            The event's value.
        """
        return _CertainEvent(self, delay_ns, rank, value)

    def call_after(
        self,
        delay_ns: int,
        action: Callable[..., object],
        *arguments: Any,
        rank: EventPriority = NORMAL,
    ) -> None:
        """Call a function later.

        Parameters
        ----------
        delay_ns : int
            From now.
        action : callable
        *arguments
            What it is called with.
        rank : EventPriority
            At which it is called, of that instant.

        Raises
        ------
        ValueError
            If the delay is negative.
        """
        if delay_ns < 0:
            raise ValueError(f"Negative delay {delay_ns}")
        call = _Call(action, arguments)
        heappush(self._queue, (self._now + delay_ns, rank, next(self._eid), call))

    def call_at_end(self, action: Callable[..., object], rank: EventPriority = LAST) -> None:
        """Call a function at the end of this instant, or after what is planned at its `rank`."""
        heappush(self._queue, (self._now, rank, next(self._eid), _Call(action, ())))


def add_callback(event: simpy.Event, action: Callable[[simpy.Event], object]) -> simpy.Event:
    """Call `action(event)` when an event happens, before callbacks added later."""
    callbacks = event.callbacks
    assert callbacks is not None, "the event has not happened yet"
    callbacks.append(action)  # type: ignore[arg-type] # what it returns is of no interest
    return event
