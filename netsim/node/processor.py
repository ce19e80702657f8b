"""A node's processor in virtual time: one job after another, and only while the node is on."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import simpy

from netsim.clock import FIRST, Clock, Event, add_callback
from netsim.devices.availability import Availability
from netsim.devices.energy.meter import EnergyMeter
from netsim.devices.speed import Speed
from netsim.recording.recorder import Recorder
from netsim.recording.schema import COMPUTE, TRAIN
from netsim.rng import Streams
from netsim.units import to_ns

_MOST = 64
"""So many works are remembered before those that are done are forgotten."""


@dataclass(frozen=True, slots=True)
class _Work:
    """A work that the processor is at, or that waits for it.

    Attributes
    ----------
    number : int
    what : str
        Its name in `intervals/`.
    start_ns, end_ns : int
        As planned.
    on_ns : int
        For how long its node has been on when it is done, where nodes go off unforeseen.
    draws : bool
        Whether it draws energy over its time.
    """

    number: int
    what: str
    start_ns: int
    end_ns: int
    on_ns: int
    draws: bool


class Processor:
    """The processor of one node.

    Parameters
    ----------
    node_id : int
    clock : Clock
    speed : Speed
        How long local steps take.
    speed_factor : float
        How much faster than the reference device this one is.
    availability : Availability
        Work stands still while the node is off.
    streams : Streams
        Random step times are drawn from here.
    recorder : Recorder
        Is told of every training.
    meter : EnergyMeter
        Counts the energy of local steps.

    Attributes
    ----------
    local_steps : int
        Steps of local training so far, those of the job in progress included.
    works : int
        How many works it has been given.
    has_worked : bool
        Whether any work has taken time.
    """

    def __init__(
        self,
        node_id: int,
        clock: Clock,
        speed: Speed,
        speed_factor: float,
        availability: Availability,
        streams: Streams,
        recorder: Recorder,
        meter: EnergyMeter,
    ) -> None:
        self._id, self._clock = node_id, clock
        self._speed, self._speed_factor = speed, speed_factor
        self._availability, self._streams = availability, streams
        self._recorder, self._meter = recorder, meter
        self._intervals = recorder.intervals
        self._free_ns = self._free_on_ns = 0
        self._trainings = 0
        self._ahead: list[_Work] = []  # and some that are done
        self.local_steps = self.works = 0
        self.has_worked = False

    def train(self, steps: int, result: object) -> simpy.Event:
        """Event: the processor is done with so many local steps; its value is `result`."""
        me = self._id
        duration_s = self._speed.train_s(
            steps, self._speed_factor, self._streams, me, self._trainings
        )
        self._trainings += 1
        self.local_steps += steps
        self._recorder.job(self._clock.now, me, steps)
        return self._start_work(TRAIN, duration_s, steps, result)

    def work(self, seconds: float) -> simpy.Event:
        """Event: the processor is done with what takes the nominal device so long [s].

        It draws the energy of as many local steps as the nominal device makes in that time.
        """
        step_s = self._speed.mean_step_s()
        steps = seconds / step_s if step_s > 0 else 0.0
        return self._start_work(COMPUTE, seconds / self._speed_factor, steps, None)

    def _start_work(
        self, what: str, duration_s: float, steps: float, result: object
    ) -> simpy.Event:
        """Queue a work; event: it is done, with the value `result`.

        Parameters
        ----------
        what : str
            Name of the work in `intervals/`.
        duration_s : float
            Time of the work itself, pauses left out.
        steps : float
            Local steps whose energy it draws.
        result : object
        """
        clock, me = self._clock, self._id
        now = clock.now
        self.has_worked |= duration_s > 0.0
        unforeseen = self._availability.unforeseen
        start_ns = max(now, self.busy_until_ns if unforeseen else self._free_ns)
        end_ns = start_ns + to_ns(duration_s)
        if not self._availability.always_on:
            end_ns = self._availability.work_ends(me, start_ns, end_ns - start_ns)
        self._free_ns = end_ns
        if self._meter.step_j:
            self._meter.count_computation(me, steps, start_ns, end_ns)
        if self._intervals is not None:
            self._intervals.works(now, me, what, start_ns, end_ns)
        on_ns = self._queue_work(duration_s) if unforeseen else 0
        draws = self._meter.step_j > 0.0 and end_ns > start_ns
        self._record_work(what, start_ns, end_ns, on_ns, draws)
        if unforeseen:
            return self._completion(what, on_ns, result)
        return clock.event_after(end_ns - now, FIRST, result)

    def _record_work(self, what: str, start_ns: int, end_ns: int, on_ns: int, draws: bool) -> None:
        self.works += 1
        if len(self._ahead) >= _MOST:
            self._ahead = self._to_come()
        self._ahead.append(_Work(self.works, what, start_ns, end_ns, on_ns, draws))

    def _to_come(self) -> list[_Work]:
        """Works that are not done yet, in order."""
        if not self._availability.unforeseen:
            return [work for work in self._ahead if work.end_ns > self._clock.now]
        on_ns = self._availability.on_ns(self._id, self._clock.now)
        return [work for work in self._ahead if work.on_ns > on_ns]

    def steps_begun(self) -> int:
        """Steps of local training so far, those of the job in progress included."""
        return self.local_steps

    @property
    def busy_until_ns(self) -> int:
        """Time at which it will have done all that it has been given so far."""
        if not self._availability.unforeseen:
            return self._free_ns
        now = self._clock.now
        left_ns = self._free_on_ns - self._availability.on_ns(self._id, now)
        return self._availability.work_ends(self._id, now, left_ns) if left_ns > 0 else now

    def occupy(self, duration_s: float) -> None:
        """Keep the processor busy for so long after what it is at."""
        now, me = self._clock.now, self._id
        self.has_worked |= duration_s > 0.0
        start_ns = max(now, self.busy_until_ns)
        self._free_ns = self._availability.work_ends(me, start_ns, to_ns(duration_s))
        if self._intervals is not None:
            self._intervals.works(now, me, COMPUTE, start_ns, self._free_ns)
        on_ns = 0
        if self._availability.unforeseen:
            on_ns = self._queue_work(duration_s)
            self._completion(COMPUTE, on_ns)
        self._record_work(COMPUTE, start_ns, self._free_ns, on_ns, False)

    # -- nodes that go off unforeseen ------------------------------------------------------------

    def _queue_work(self, duration_s: float) -> int:
        """Queue a work; returns the time [ns] for which its node must have been on at its end."""
        on_ns = self._availability.on_ns(self._id, self._clock.now)
        self._free_on_ns = max(on_ns, self._free_on_ns) + to_ns(duration_s)
        return self._free_on_ns

    def _completion(self, what: str | None, target_ns: int, result: object = None) -> Event:
        """Event: the node has been on for so long; intervals of the work are recorded."""
        event = self._clock.new_event("its processor")
        end = partial(self._clock.trigger, event, FIRST, result)
        self._end_if_complete(end, what, target_ns, None, None)
        return event

    def _end_if_complete(
        self,
        end: Callable[[], None],
        what: str | None,
        target_ns: int,
        begun_ns: int | None,
        _: object,
    ) -> None:
        """End a work if its node has been on for so long, else check again when it may have been.

        Parameters
        ----------
        end : callable
        what : str or None
        target_ns : int
        begun_ns : int or None
            When the work was looked at first; None: now.
        """
        clock, availability, me = self._clock, self._availability, self._id
        now = clock.now
        left_ns = target_ns - availability.on_ns(me, now)
        again = partial(
            self._end_if_complete, end, what, target_ns, now if begun_ns is None else begun_ns
        )
        if left_ns <= 0:
            end()
        elif me in availability.off:
            add_callback(availability.event_when_on(me), again)
        else:
            end_ns = availability.work_ends(me, now, left_ns)
            goes_on = begun_ns is not None and now > begun_ns
            if self._intervals is not None and what is not None and goes_on:
                self._intervals.works(now, me, what, now, end_ns)
            add_callback(clock.event_after(end_ns - now, FIRST), again)

    def concurrent_work(self, duration_s: float | None) -> simpy.Event:
        """Event: a work that runs concurrently with the processor's jobs is done, pauses included.

        Parameters
        ----------
        duration_s : float or None
            Time of the work itself; None: the mean time of one local step.
        """
        if duration_s is None:
            duration_s = self._speed.mean_step_s() / self._speed_factor
        now, availability = self._clock.now, self._availability
        self.has_worked |= duration_s > 0.0
        work_ns = to_ns(duration_s)
        if availability.unforeseen:
            return self._completion(None, availability.on_ns(self._id, now) + work_ns)
        return self._clock.timeout(availability.work_ends(self._id, now, work_ns) - now)

    def drop(self, number: int) -> None:
        """Drop a work: it draws no more energy, and the processor is free for later ones.

        Works that wait behind it keep their times and their energy.

        Parameters
        ----------
        number : int
            As `works` was after it had been given.
        """
        now, me, to_come = self._clock.now, self._id, self._to_come()
        dropped = next((work for work in to_come if work.number == number), None)
        if dropped is None:
            return
        if dropped is to_come[-1]:
            others, on_ns = to_come[:-1], self._availability.on_ns(me, now)
            self._free_ns = max([now, *(work.end_ns for work in others)])
            self._free_on_ns = max([on_ns, *(work.on_ns for work in others)])
        self._ahead = [work for work in to_come if work is not dropped]
        if dropped.draws:
            before = to_come[: to_come.index(dropped)]
            self._meter.drop_computation(me, sum(work.draws for work in before))
        if self._intervals is not None:
            self._intervals.stops(now, me, dropped.what, dropped.start_ns, dropped.end_ns)
