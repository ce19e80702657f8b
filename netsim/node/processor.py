"""A node's processor in virtual time: one job after another, and only while the node is on."""

import simpy

from netsim.clock import FIRST, Clock
from netsim.devices.availability import Availability
from netsim.devices.energy.meter import EnergyMeter
from netsim.devices.speed import Speed
from netsim.recording.recorder import Recorder
from netsim.recording.schema import COMPUTE, TRAIN
from netsim.rng import Streams
from netsim.units import to_ns


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
        self._free_ns = 0
        self._trainings = 0
        self.local_steps = 0

    def train(self, steps: int, result: object) -> simpy.Event:
        """Event: the processor is done with so many local steps; its value is `result`."""
        clock, me = self._clock, self._id
        now = clock.now
        duration_s = self._speed.train_s(
            steps, self._speed_factor, self._streams, me, self._trainings
        )
        self._trainings += 1
        self.local_steps += steps
        self._recorder.job(now, me, steps)
        start_ns = max(now, self._free_ns)
        end_ns = self._free_ns = self._availability.work_ends(me, start_ns, to_ns(duration_s))
        self._meter.computed(me, steps, start_ns, end_ns)
        if self._intervals is not None:
            self._intervals.works(now, me, TRAIN, start_ns, end_ns)
        return clock.due(end_ns - now, FIRST, result)

    def steps_begun(self) -> int:
        """Steps of local training so far, those of the job in progress included."""
        return self.local_steps

    @property
    def busy_until_ns(self) -> int:
        """Time at which it will have done all that it has been given so far."""
        return self._free_ns

    def occupy(self, duration_s: float) -> None:
        """Keep the processor busy for so long after what it is at."""
        now, me = self._clock.now, self._id
        start_ns = max(now, self._free_ns)
        self._free_ns = self._availability.work_ends(me, start_ns, to_ns(duration_s))
        if self._intervals is not None:
            self._intervals.works(now, me, COMPUTE, start_ns, self._free_ns)

    def delay_ns(self, duration_s: float | None) -> int:
        """How long work beside the processor's jobs takes from now on, pauses included [ns].

        Parameters
        ----------
        duration_s : float or None
            Time of the work itself; None: the mean time of one local step.
        """
        if duration_s is None:
            duration_s = self._speed.mean_step_s() / self._speed_factor
        now = self._clock.now
        return self._availability.work_ends(self._id, now, to_ns(duration_s)) - now

    def drop_job(self) -> None:
        """Drop what the processor is at: it is free from now on."""
        self._free_ns = self._clock.now
        if self._intervals is not None:
            self._intervals.stops(self._clock.now, self._id)
