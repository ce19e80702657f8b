"""What the parts of one running simulation share."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from netsim.attacks import Attack
from netsim.backends.dispatch import Routes
from netsim.clock import Clock as VirtualClock
from netsim.devices.availability import Power
from netsim.devices.energy.meter import Meter
from netsim.devices.speed import Speed
from netsim.learning.architecture import Architecture
from netsim.learning.jobs import Optimizer
from netsim.learning.refs import Cell
from netsim.learning.scheduler import Scheduler
from netsim.learning.shards import Shards
from netsim.links.link import Link
from netsim.recording.recorder import Recorder
from netsim.rng import Streams
from netsim.schedules import Clock, Schedule
from netsim.traces.contacts import Meetings

if TYPE_CHECKING:
    from netsim.messaging.barrier import Barrier
    from netsim.node.node import Node


@dataclass(eq=False)
class Context:
    """One run.

    Attributes
    ----------
    initial : list of Cell
        Each node's initial model.
    left_out : frozenset of int
        Servers, where the algorithm knows none: nobody's neighbours, without processes.
    barrier : Barrier or None
        Set under `rounds`; `clock` otherwise.
    weights_due : list of (time_ns, node, ids, Ref or numbers)
        Collaboration weights that are to be logged once they are computed.
    counts : Counter
        Things worth a line in the summary: skipped wake-ups, late replies, overwritten steps.
    """

    env: VirtualClock
    streams: Streams
    recorder: Recorder
    scheduler: Scheduler
    link: Link
    power: Power
    meter: Meter
    schedule: Schedule
    clock: Clock | None
    slot_ns: int
    shards: Shards
    speed: Speed
    speed_factor: tuple[float, ...]
    roles: tuple[str, ...]
    neighbours: list[tuple[int, ...]]
    meetings: Meetings | None
    architectures: list[Architecture]
    initial: list[Cell]
    routes: Routes
    optimizer: Optimizer
    parameter_bits: int
    on_arrival: str
    attack: Attack | None = None
    malicious: frozenset[int] = frozenset()
    left_out: frozenset[int] = frozenset()
    barrier: Barrier | None = None
    nodes: list[Node] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    weights_due: list[Any] = field(default_factory=list)

    @property
    def timing_only(self) -> bool:
        """Whether the network is played without learning."""
        return self.scheduler.backend is None
