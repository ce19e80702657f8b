"""The link of one run, and the devices that it connects."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial

from netsim.clock import Clock
from netsim.devices.availability import Availability
from netsim.devices.energy.meter import EnergyMeter
from netsim.devices.energy.watched_meter import WatchedMeter
from netsim.devices.speed import Speed
from netsim.learning.flops import step_flops
from netsim.links.hybrid import HybridLink
from netsim.links.link import Link
from netsim.links.radio.link import RadioLink
from netsim.links.wired.plan import Wiring
from netsim.links.wired.shared import ChangingWiredLink, SharedWiredLink
from netsim.links.wired.wire import WiredLink
from netsim.recording.recorder import Recorder
from netsim.scenario.tables import AlgorithmEntry
from netsim.schedules import Schedule
from netsim.schedules.rounds import Rounds
from netsim.units import dbm_to_w, to_ns
from netsim.world.builder import SERVER, World
from netsim.world.placement import distances


@dataclass(frozen=True)
class Devices:
    """Processors, switches and energy of the nodes of one run."""

    speed: Speed  # how long local steps take
    speed_factor: tuple[float, ...]  # how much faster than the reference device each node is
    slot_ns: int  # length of a slot [ns]: the schedule's, or one local step
    availability: Availability  # which nodes are on
    meter: EnergyMeter


def open_network(
    world: World,
    entry: AlgorithmEntry,
    clock: Clock,
    recorder: Recorder,
    last_wakeup: Callable[[int, int], tuple[int, int]],
) -> tuple[Link, Devices]:
    """A new link, and the devices that it connects.

    Parameters
    ----------
    entry : AlgorithmEntry
        Whose minibatch size tells what a local step costs.
    last_wakeup : callable
        (node, time_ns) -> (time_ns, round) of the node's last wake-up.
    """
    scenario, num_nodes = world.scenario, world.scenario.nodes.count
    batch_size = scenario.training_of(entry).batch_size
    mortal = any(joules is not None for joules in world.batteries_j)
    supply, batteries_j = world.supply, world.batteries_j
    empty = []
    if supply is not None and supply.law.start_level <= supply.law.off_level:
        empty = [i for i, joules in enumerate(batteries_j) if joules is not None]
    availability = Availability(
        clock, recorder, num_nodes, world.churn, mortal, supply is not None, empty
    )
    distance_m = distances(world.positions_m, world.track, world.heights_m)
    watched = recorder.intervals
    meter = (EnergyMeter if watched is None else partial(WatchedMeter, watched))(
        clock,
        scenario.energy,
        availability,
        [dbm_to_w(dbm) for dbm in world.tx_power_dbm] or [0.0] * num_nodes,
        distance_m,
        batteries_j,
        batch_size,
        world.rhythms,
        supply,
        world.scenario.servers_on_wires,
    )
    speed, speed_factor = _speeds(world, batch_size)
    slot_s = scenario.exchange.slot_s or speed.mean_step_s() or 1.0
    slot_ns = max(1, to_ns(slot_s))  # slots of no time would never pass
    devices = Devices(speed, speed_factor, slot_ns, availability, meter)
    link = _open_link(world, clock, recorder, devices, last_wakeup)
    recorder.airtime_ahead_ns = link.airtime_ahead_ns
    # The link first: it takes back from the meter what a switch cuts short.
    availability.add_listener(link.on_switch)
    availability.add_listener(meter.on_switch)
    return link, devices


def round_times_ns(schedule: Schedule) -> tuple[int, int | None]:
    """Return the least and the greatest length of rounds [ns]; None: unlimited."""
    assert isinstance(schedule, Rounds)
    deadline_s = schedule.deadline_s
    return to_ns(schedule.interval_s), None if deadline_s is None else to_ns(deadline_s)


def exchange_interval_ns(schedule: Schedule) -> int | None:
    """Time between exchanges, where a schedule with a clock has a fixed one [ns]."""
    interval_s = getattr(schedule, "interval_s", None)
    return to_ns(interval_s) if interval_s else None


def _speeds(world: World, batch_size: int) -> tuple[Speed, tuple[float, ...]]:
    """The law of step times and each node's speed, for what it trains."""
    shape, kind = tuple(world.shards.x.shape[1:]), world.shards.x.dtype
    flops = lru_cache(lambda architecture: step_flops(architecture, shape, batch_size, kind))
    return world.scenario.compute.for_models(
        world.speed_factor, lambda node: flops(world.architectures[node])
    )


def _open_link(
    world: World,
    clock: Clock,
    recorder: Recorder,
    devices: Devices,
    last_wakeup: Callable[[int, int], tuple[int, int]],
) -> Link:
    """Radios, wires, or radios with wires to the servers."""
    wires = radio = None
    servers = frozenset(i for i, role in enumerate(world.roles) if role == SERVER)
    if world.wiring is not None:
        wires = _open_wires(world, world.wiring, clock, recorder, devices)
    if world.budget is not None:
        table = world.scenario.radio
        assert table is not None
        radio = RadioLink(
            table,
            world.budget,
            last_wakeup,
            clock,
            recorder,
            world.streams,
            meter=devices.meter,
            off=devices.availability.off,
            meetings=world.meetings,
            distance_m=distances(world.positions_m, world.track, world.heights_m),
            rhythms=world.rhythms,
            base_stations=servers,
            wired=world.scenario.servers_on_wires,
        )
    if wires is not None and radio is not None:
        return HybridLink(radio, wires, servers)
    link = radio or wires
    assert link is not None
    return link


def _open_wires(
    world: World, wiring: Wiring, clock: Clock, recorder: Recorder, devices: Devices
) -> Link:
    nodes, streams = len(world.roles), world.streams
    always_on = world.churn is None and not any(world.batteries_j)
    wirings = [wiring, *(w.wiring for _, w in world.later if w.wiring is not None)]
    if world.meetings is None and always_on:  # else a message may be cut short
        if all(each.is_plain for each in wirings):
            return WiredLink(wiring.wire, nodes, clock, recorder, streams)
        if any(each.is_plain for each in wirings):
            return ChangingWiredLink(wiring, nodes, clock, recorder, streams)
    off = devices.availability.off
    return SharedWiredLink(wiring, nodes, clock, recorder, streams, off, world.meetings)
