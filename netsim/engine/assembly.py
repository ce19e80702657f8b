"""World -> Context: a fresh clock, log, scheduler and link for one run."""

import importlib
from collections import Counter
from functools import lru_cache
from pathlib import Path

import numpy as np

from netsim.backends.dispatch import Routes, choose
from netsim.backends.job_types.replace_columns import ReplaceColumns
from netsim.backends.sequential import Sequential
from netsim.backends.stacked.backend import Stacked
from netsim.clock import Clock
from netsim.devices.availability import Power
from netsim.devices.energy.meter import Meter
from netsim.errors import ProtocolError
from netsim.learning.flops import step_flops
from netsim.learning.jobs import Optimizer
from netsim.learning.refs import Cell
from netsim.learning.scheduler import Backend, Limits, Scheduler
from netsim.learning.shards import Shards
from netsim.links.hybrid import HybridLink
from netsim.links.link import Link
from netsim.links.radio.budget import LinkBudget
from netsim.links.radio.link import RadioLink
from netsim.links.wired.plan import Wiring
from netsim.links.wired.shared import SharedWiredLink
from netsim.links.wired.wire import WiredLink
from netsim.node.run_state import Context
from netsim.recording.recorder import Recorder
from netsim.scenario import algorithm_files
from netsim.scenario.tables import AlgorithmEntry, Training
from netsim.units import dbm_to_w, to_ns
from netsim.world.builder import SERVER, World
from netsim.world.placement import distances


def open_context(
    world: World, entry: AlgorithmEntry, folder: Path | None, timing_only: bool
) -> Context:
    """Everything that one run changes, new; the world is only read.

    Parameters
    ----------
    world : World
    entry : AlgorithmEntry
        Whose training settings hold.
    folder : Path or None
        Where the log goes.
    timing_only : bool
        Without a backend for tensor work.
    """
    scenario = world.scenario
    env = Clock()
    recorder = Recorder(folder, log_messages=scenario.run.log_messages)
    recorder.traffic.model_bits = np.array(
        [a.num_parameters * scenario.training.parameter_bits for a in world.architectures]
    )
    training = scenario.training_of(entry)
    shards = world.shards.in_batches_of(training.batch_size)
    backend, routes = open_backend(world, shards)
    num_nodes = scenario.nodes.count
    scheduler = Scheduler(
        None if timing_only else backend,
        Limits.of(num_nodes),
        lambda: env.now,
        ReplaceColumns,
    )
    schedule = scenario.exchange
    clock = None if schedule.barrier else schedule.clock(world.streams, num_nodes)
    module = importlib.import_module(type(entry.params).__module__)
    servers = frozenset(i for i, role in enumerate(world.roles) if role == SERVER)
    left_out = frozenset() if algorithm_files.knows_servers(module) else servers
    sample_shape = tuple(shards.x.shape[1:])
    flops = lru_cache(lambda one: step_flops(one, sample_shape, training.batch_size))
    speed, speeds = scenario.compute.for_models(
        world.speed_factor, lambda node: flops(world.architectures[node])
    )
    slot_s = schedule.slot_s or speed.mean_step_s() or 1.0
    ctx = Context(
        env=env,
        streams=world.streams,
        recorder=recorder,
        scheduler=scheduler,
        link=None,  # type: ignore[arg-type] # opened below, for it asks the context for rounds
        power=None,  # type: ignore[arg-type] # opened below
        meter=None,  # type: ignore[arg-type] # opened below
        schedule=schedule,
        clock=clock,
        slot_ns=to_ns(slot_s),
        shards=shards,
        speed=speed,
        speed_factor=speeds,
        roles=world.roles,
        neighbours=_without(left_out, world.neighbours),
        meetings=world.meetings,
        architectures=list(world.architectures),
        initial=_initial(world, scheduler),
        routes=routes,
        optimizer=optimizer_of(training),
        parameter_bits=scenario.training.parameter_bits,
        on_arrival=scenario.training.on_arrival,
        attack=scenario.attack,
        malicious=world.malicious,
        left_out=left_out,
    )
    mortal = any(joules is not None for joules in world.batteries_j)
    ctx.power = Power(env, recorder, num_nodes, world.churn, mortal)
    ctx.meter = Meter(
        env,
        scenario.energy,
        ctx.power,
        [dbm_to_w(dbm) for dbm in world.tx_power_dbm] or [0.0] * num_nodes,
        distances(world.positions_m, world.track),
        world.batteries_j,
        training.batch_size,
        world.rhythms,
    )
    ctx.link = _open_link(world, ctx)
    # The link first: it takes back from the meter what a switch cuts short.
    ctx.power.tell(ctx.link.switched)
    ctx.power.tell(ctx.meter.switched)
    return ctx


def _without(left_out: frozenset[int], neighbours: list[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """The neighbours of every node, some nodes apart.

    Raises
    ------
    ProtocolError
        If that leaves no link.
    """
    if not left_out:
        return neighbours
    rest = [
        () if i in left_out else tuple(j for j in peers if j not in left_out)
        for i, peers in enumerate(neighbours)
    ]
    if not any(rest):
        raise ProtocolError(
            "this algorithm works between peers, and the topology links them to servers only; "
            "choose another topology"
        )
    return rest


def open_backend(world: World, shards: Shards) -> tuple[Backend, Routes]:
    """What executes the jobs of a run, and which model's jobs go which way.

    Parameters
    ----------
    shards : Shards
        In the minibatches that are trained on.

    Raises
    ------
    ScenarioError
        If the user's table of routes can't be read.
    """
    run = world.scenario.run
    alone = Sequential(shards, world.streams)
    nodes = Counter(world.architectures)
    routes = choose(nodes, shards.batch_size, run.threads, run.backend, run.routes)
    if routes.all_sequential:
        return alone, routes
    device, dtype = shards.x.device, world.architectures[0].dtype
    return Stacked(shards, world.streams, routes, device, dtype), routes


def _initial(world: World, scheduler: Scheduler) -> list[Cell]:
    """A cell for each node's initial model; nodes that start alike share one."""
    cells: dict[int, Cell] = {}
    for row, architecture in zip(world.initial, world.architectures, strict=True):
        cells.setdefault(id(row), Cell(scheduler, tuple(row.shape), architecture, row))
    return [cells[id(row)] for row in world.initial]


def optimizer_of(t: Training) -> Optimizer:
    """The constants of the local optimiser."""
    return Optimizer(
        t.optimizer, t.learning_rate, t.momentum, t.weight_decay, t.beta1, t.beta2, t.clip_norm
    )


def _open_link(world: World, ctx: Context) -> Link:
    wires = None if world.wiring is None else _open_wires(world, world.wiring, ctx)
    radio = None if world.budget is None else _open_radio(world, world.budget, ctx)
    if wires is not None and radio is not None:
        servers = frozenset(i for i, role in enumerate(world.roles) if role == SERVER)
        return HybridLink(radio, wires, servers)
    link = radio or wires
    assert link is not None
    return link


def _open_wires(world: World, wiring: Wiring, ctx: Context) -> Link:
    nodes, env, recorder = len(world.roles), ctx.env, ctx.recorder
    always_on = world.churn is None and not any(world.batteries_j)
    if wiring.plain and world.meetings is None and always_on:  # else a message may be cut short
        return WiredLink(wiring.wire, nodes, env, recorder, world.streams)
    off = ctx.power.off
    return SharedWiredLink(wiring, nodes, env, recorder, world.streams, off, world.meetings)


def _open_radio(world: World, budget: LinkBudget, ctx: Context) -> Link:
    radio = world.scenario.radio
    assert radio is not None

    def last_round(node: int, time_ns: int) -> tuple[int, int]:
        assert ctx.barrier is not None
        return 0, ctx.barrier.round

    last_wakeup = last_round if ctx.clock is None else ctx.clock.last_wakeup
    places = distances(world.positions_m, world.track)
    return RadioLink(
        radio,
        budget,
        last_wakeup,
        ctx.env,
        ctx.recorder,
        world.streams,
        meter=ctx.meter,
        off=ctx.power.off,
        meetings=world.meetings,
        distance_m=places,
        rhythms=world.rhythms,
    )
