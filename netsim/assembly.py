"""World -> Context: a fresh clock, log, scheduler and link for one run."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np

from netsim.clock import Clock
from netsim.compute.jobs import Optimizer
from netsim.compute.refs import Cell
from netsim.compute.routes import Routes, choose
from netsim.compute.scheduler import Backend, Limits, Scheduler
from netsim.compute.sequential import Sequential
from netsim.compute.shards import Shards
from netsim.compute.stacked.backend import Stacked
from netsim.context import Context
from netsim.links.air import Air
from netsim.links.link import Link
from netsim.links.wire import WiredLink
from netsim.results.log import Recorder
from netsim.scenario.tables import AlgorithmEntry, Training
from netsim.units import to_ns
from netsim.world import World


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
    scheduler = Scheduler(None if timing_only else backend, Limits.of(num_nodes), lambda: env.now)
    schedule = scenario.exchange
    clock = None if schedule.barrier else schedule.clock(world.streams, num_nodes)
    slot_s = schedule.slot_s or scenario.compute.mean_step_s() or 1.0
    ctx = Context(
        env=env,
        streams=world.streams,
        recorder=recorder,
        scheduler=scheduler,
        link=None,  # type: ignore[arg-type] # opened below, for it asks the context for rounds
        schedule=schedule,
        clock=clock,
        slot_ns=to_ns(slot_s),
        shards=shards,
        speed=scenario.compute,
        speed_factor=world.speed_factor,
        roles=world.roles,
        neighbours=world.neighbours,
        architectures=list(world.architectures),
        initial=_initial(world, scheduler),
        routes=routes,
        optimizer=optimizer_of(training),
        parameter_bits=scenario.training.parameter_bits,
        on_arrival=scenario.training.on_arrival,
        attack=scenario.attack,
        malicious=world.malicious,
    )
    ctx.link = _open_link(world, ctx)
    return ctx


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
    scenario = world.scenario
    if scenario.radio is None:
        assert scenario.link is not None
        return WiredLink(scenario.link, scenario.nodes.count, ctx.env, ctx.recorder, world.streams)
    assert world.budget is not None

    def last_round(node: int, time_ns: int) -> tuple[int, int]:
        assert ctx.barrier is not None
        return 0, ctx.barrier.round

    last_wakeup = last_round if ctx.clock is None else ctx.clock.last_wakeup
    return Air(
        scenario.radio,
        world.budget,
        last_wakeup,
        ctx.env,
        ctx.recorder,
        world.streams,
        _distances(world),
    )


def _distances(world: World) -> Callable[[int, int, int], float] | None:
    """(node, node, time) -> how far apart they are; None where nodes have no places."""
    at = world.positions_m
    if at is None:
        return None
    return lambda i, j, time_ns: float(np.hypot(*(at[i] - at[j])))
