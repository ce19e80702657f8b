"""A node's time: its wake-ups under the schedule, slots, and conditions between its processes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from array import array
from bisect import bisect_right
from collections import Counter

import simpy

from netsim.clock import LAST, NORMAL, Clock, Event, add_callback
from netsim.devices.availability import Availability
from netsim.messaging.barrier import Barrier
from netsim.recording.recorder import Recorder
from netsim.schedules import Clock as WakeupTimes
from netsim.schedules import Wake


class Condition:
    """Condition by which processes of one node wait for each other, from `node.condition()`."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._waiting: list[Event] = []

    def wait(self) -> simpy.Event:
        """Event: some process calls `notify` after now."""
        event = self._clock.new_event("a condition")
        self._waiting.append(event)
        return event

    def notify(self) -> None:
        """Wake every process that waits."""
        waiting, self._waiting = self._waiting, []
        for event in waiting:
            event.succeed()


class Progress:
    """Progress of one process: the last slot and wake-up that it was given.

    Parameters
    ----------
    slot : int
        The slot in which the process asked first.

    Attributes
    ----------
    wake_ns : int
        When its last wake-up is or was.
    next_wakeup : simpy.Event or None
        The last one that it asked for.
    """

    __slots__ = ("next_wakeup", "slot", "wake", "wake_ns")

    def __init__(self, slot: int) -> None:
        self.slot = slot
        self.wake = self.wake_ns = 0
        self.next_wakeup: simpy.Event | None = None

    def note_wakeup(self, event: simpy.Event) -> None:
        """Note the wake-up that is the value of `event`."""
        self.slot = event._value.slot


class Wakeups(ABC):
    """Wake-ups, slots and waits of one node.

    Parameters
    ----------
    node_id : int
    clock : Clock
    slot_ns : int
        Length of a slot [ns].
    recorder : Recorder

    Attributes
    ----------
    round : int
        Number of the node's last wake-up; 0 before the first.
    """

    def __init__(self, node_id: int, clock: Clock, slot_ns: int, recorder: Recorder) -> None:
        self._id, self._clock, self._slot_ns, self._recorder = node_id, clock, slot_ns, recorder
        self._progress: dict[simpy.Process, Progress] = {}
        self._woke_ns = array("q")
        self.round = self._recorded = 0

    def wakeup(self) -> simpy.Event:
        """See `Node.wakeup`."""
        progress = self._of_active_process()
        asked = progress.next_wakeup
        if asked is not None and asked.callbacks is not None:
            return asked  # it is still to come, as after `wakeup() | sleep(...)`
        asked = add_callback(self._next_wakeup(progress), progress.note_wakeup)
        progress.next_wakeup = asked
        return asked

    @abstractmethod
    def _next_wakeup(self, progress: Progress) -> simpy.Event:
        """Event `Wake`: the next wake-up of a process that has come so far."""

    def tick(self) -> simpy.Event:
        """See `Node.tick`."""
        progress, now, slot_ns = self._of_active_process(), self._clock.now, self._slot_ns
        slot = progress.slot = max(progress.slot + 1, -(-now // slot_ns))
        # What else happens at this instant, instantaneous exchanges included, comes first.
        return self._clock.event_after(slot * slot_ns - now, LAST, slot)

    def note_round_start(self, wake: Wake) -> None:
        """Note that a round of this node starts."""
        self.round = wake.round
        if self._record(self._clock.now, wake.round, "woke"):
            self._woke_ns.append(self._clock.now)

    def _record(self, time_ns: int, number: int, outcome: str) -> bool:
        """Record a wake-up once, however many processes of the node ask for it; else return False.

        Each process asks for all of them, in order.
        """
        if number <= self._recorded:
            return False
        self._recorded = number
        self._recorder.wake(time_ns, self._id, number, outcome)
        return True

    def wakeups_since(self, time_ns: int) -> int:
        """Number of times that the node has woken after a time."""
        return len(self._woke_ns) - bisect_right(self._woke_ns, time_ns)

    def _of_active_process(self) -> Progress:
        process = self._clock.active_process
        assert process is not None, "only processes wait"
        progress = self._progress.get(process)
        if progress is None:
            progress = self._progress[process] = Progress(self._clock.now // self._slot_ns)
            add_callback(process, lambda _: self._progress.pop(process))
        return progress


class RoundWakeups(Wakeups):
    """Wake-ups at the rounds of a barrier, which tells `note_round_start` of each.

    Parameters
    ----------
    barrier : Barrier
    """

    def __init__(
        self, node_id: int, clock: Clock, slot_ns: int, recorder: Recorder, barrier: Barrier
    ) -> None:
        super().__init__(node_id, clock, slot_ns, recorder)
        self._barrier = barrier

    def _next_wakeup(self, progress: Progress) -> simpy.Event:
        return self._barrier.wakeup(self._id)


class ClockWakeups(Wakeups):
    """Wake-ups at times that the schedule alone decides.

    Parameters
    ----------
    times : netsim.schedules.Clock
        The wake-up times of all nodes.
    interval_ns : int or None
        Time between exchanges where the schedule has a fixed one [ns]; may be set anew.
    availability : Availability
        A wake-up at which the node is off is skipped.
    counts : Counter
        Where skipped wake-ups and exchanges that outlast the interval are counted.
    """

    def __init__(
        self,
        node_id: int,
        clock: Clock,
        slot_ns: int,
        recorder: Recorder,
        times: WakeupTimes,
        interval_ns: int | None,
        availability: Availability,
        counts: Counter[str],
    ) -> None:
        super().__init__(node_id, clock, slot_ns, recorder)
        self._times, self.interval_ns = times, interval_ns
        self._availability, self._counts = availability, counts

    def _next_wakeup(self, progress: Progress) -> simpy.Event:
        clock, interval_ns = self._clock, self.interval_ns
        now = clock.now
        if interval_ns is not None and progress.wake and now > progress.wake_ns + interval_ns:
            paused = not self._availability.stays_on(self._id, progress.wake_ns, now)
            self._counts["exchanges_outlasting_interval"] += not paused
        time_ns, number = self._times.next_wakeup(self._id, progress.wake)
        while time_ns < now:
            self._record_skipped(time_ns, number)
            time_ns, number = self._times.next_wakeup(self._id, number)
        progress.wake, progress.wake_ns = number, time_ns
        event: simpy.Event
        if self._availability.always_on:
            event = clock.event_after(time_ns - now, NORMAL, Wake(number, time_ns // self._slot_ns))
        else:
            event = clock.new_event("its next wake-up")
            clock.call_after(time_ns - now, self._wake_or_skip, event, progress)
        return add_callback(event, self._note_wakeup)

    def _wake_or_skip(self, event: Event, progress: Progress) -> None:
        """The wake-up that `event` waits for has come; if the node is off, wait for the next."""
        now = self._clock.now
        if self._id not in self._availability.off:
            event.succeed(Wake(progress.wake, now // self._slot_ns))
            return
        self._record_skipped(now, progress.wake)
        time_ns, progress.wake = self._times.next_wakeup(self._id, progress.wake)
        self._clock.call_after(time_ns - now, self._wake_or_skip, event, progress)

    def _record_skipped(self, time_ns: int, number: int) -> None:
        if self._record(time_ns, number, "skipped"):
            self._counts["wakeups_skipped"] += 1

    def _note_wakeup(self, event: simpy.Event) -> None:
        self.note_round_start(event._value)
