"""State of one run, made new from a world, which is only read."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import numpy as np

from netsim.backends.comparison import compare
from netsim.backends.dispatch import Routes
from netsim.backends.job_types.mix import Mix
from netsim.backends.job_types.replace_columns import ReplaceColumns
from netsim.engine.actors.opening import with_actors
from netsim.engine.backend_assembly import open_backend, optimizer_of
from netsim.errors import UnsuitableError
from netsim.learning.jobs import Optimizer
from netsim.learning.refs import Cell
from netsim.learning.replay import Replay
from netsim.learning.scheduler import Backend, Limits, Scheduler
from netsim.learning.shards import Shards
from netsim.protocols.declaration import declaration_of
from netsim.protocols.learning_rates import Rate
from netsim.recording.recorder import Recorder
from netsim.registry import Table
from netsim.scenario.tables import AlgorithmEntry
from netsim.schedules import ChangingClock, Schedule
from netsim.schedules import Clock as WakeupTimes
from netsim.units import to_ns
from netsim.world.builder import SERVER, World


@dataclass(frozen=True)
class Learning:
    """The learning of one run: samples, jobs, and the models that nodes begin with."""

    shards: Shards  # every node's samples, in the minibatches that are trained on
    scheduler: Scheduler  # its backend is None under `--timing-only`
    routes: Routes  # which model's jobs go to which backend
    optimizer: Optimizer  # the constants of local training
    schedule: Rate  # of its learning rate
    initial: list[Cell]  # each node's initial model
    parameter_bits: int  # size of a real number in a message

    def close(self) -> None:
        """End what works for this run beside its process."""
        close = getattr(self.scheduler.backend, "close", None)
        if close is not None:
            close()

    @property
    def timing_only(self) -> bool:
        """Return whether the network is played without learning."""
        return self.scheduler.backend is None


@dataclass(frozen=True)
class Membership:
    """Nodes that take part in one run."""

    neighbours: list[tuple[int, ...]]  # each node's, ascending
    # servers, where the algorithm knows none: nobody's neighbours, without processes
    left_out: frozenset[int]


def open_recorder(
    world: World, entry: AlgorithmEntry, folder: Path | None, is_replay: bool = False
) -> Recorder:
    """A new log of one algorithm's run.

    Parameters
    ----------
    world : World
        Only read.
    entry : AlgorithmEntry
        Its Params say beyond which age messages are not used, as `age_limit_s` reads them.
    folder : Path or None
        The run folder; None: in memory only.
    is_replay : bool
        Whether the folder holds the tables of the past, which is played again first.
    """
    scenario = world.scenario
    radios = [w.scenario.radio for w in (world, *(later for _, later in world.later))]
    recorder = Recorder(
        folder,
        log_messages=scenario.run.log_messages,
        is_replay=is_replay,
        timeline=scenario.metrics.timeline,
        hops=any(radio is not None and radio.routing.relays for radio in radios),
    )
    parameter_bits = scenario.training_of(entry).parameter_bits
    recorder.traffic.model_bits = np.array(
        [a.num_parameters * parameter_bits for a in world.architectures]
    )
    limit_s = age_limit_s(entry.params, scenario.exchange, len(world.roles))
    recorder.limit_age(math.inf if math.isinf(limit_s) else to_ns(limit_s))
    return recorder


AGE_INTERVALS = 3
"""Mean intervals of the schedule up to which a message counts, where Params do not say."""


def age_limit_s(params: Table, schedule: Schedule, nodes: int) -> float:
    """Greatest age of a message that counts for an exchange [s]; infinite: any counts.

    Parameters
    ----------
    params : Table
        Of the algorithm. Their `max_age_s` is the limit where it is set; `absent = "last"` means a
        peer's last message however old it is.
    schedule : Schedule
        Under `rounds` an exchange ends with its round, so there is no limit beside it.
    """
    limit_s: float | None = getattr(params, "max_age_s", None)
    if limit_s is not None:
        return limit_s
    interval_s = schedule.mean_interval_s(nodes)
    if interval_s is None or schedule.barrier or getattr(params, "absent", None) == "last":
        return math.inf
    return AGE_INTERVALS * interval_s


def open_learning(
    world: World,
    entry: AlgorithmEntry,
    timing_only: bool,
    now_ns: Callable[[], int],
    replay: Replay | None = None,
    instead: Backend | None = None,
) -> Learning:
    """A new scheduler with its backend, and the initial models.

    Parameters
    ----------
    world : World
        Only read.
    entry : AlgorithmEntry
        Whose training settings hold.
    timing_only : bool
        Without a backend for tensor work.
    now_ns : callable
        () -> virtual time [ns], for errors.
    replay : Replay or None
        What stands in for tensor work at first.
    instead : Backend or None
        In place of the one that the scenario asks for.

    Raises
    ------
    ScenarioError
        If the user's table of routes can't be read, or a model can't be played as plain PyTorch
        plays it.
    """
    training = world.scenario.training_of(entry)
    shards = world.shards.in_batches_of(training.batch_size)
    own, routes = open_backend(world, shards)
    backend: Backend = own
    optimizer = optimizer_of(training)
    if instead is not None:
        backend = instead
    elif not timing_only:
        for architecture in dict.fromkeys(world.architectures):
            compare(architecture, shards, world.streams, optimizer, own, routes)
        own.ways.forget()
    if instead is None and not timing_only and world.scenario.run.engine == "ray":
        backend = with_actors(world, entry, shards, backend.name, routes)
    limits = Limits.of(world.scenario.nodes.count)
    backend_or_none = None if timing_only else backend
    scheduler = Scheduler(backend_or_none, limits, now_ns, ReplaceColumns, replay, Mix)
    initial = _initial(world, scheduler)
    return Learning(
        shards, scheduler, routes, optimizer, training.learning_rate_schedule, initial,
        training.parameter_bits,
    )  # fmt: skip


def wakeup_times(world: World) -> WakeupTimes | None:
    """Return the wake-up times of nodes; None under `rounds`, whose barrier decides."""
    schedule = world.scenario.exchange
    if schedule.barrier:
        return None
    times = schedule.clock(world.streams, len(world.roles))
    for at_ns, later in world.later:
        if later.scenario.exchange != schedule:
            schedule = later.scenario.exchange
            times = ChangingClock(times, at_ns, schedule.clock(world.streams, len(world.roles)))
    return times


def membership(world: World, algorithm: ModuleType) -> Membership:
    """Return the nodes that take part: without servers, where the algorithm knows none.

    Raises
    ------
    UnsuitableError
        If that leaves no link.
    """
    servers = frozenset(i for i, role in enumerate(world.roles) if role == SERVER)
    if not servers or declaration_of(algorithm).knows_servers:
        return Membership(world.neighbours, frozenset())
    rest = [
        () if i in servers else tuple(j for j in peers if j not in servers)
        for i, peers in enumerate(world.neighbours)
    ]
    if not any(rest):
        raise UnsuitableError(
            "[topology]: this algorithm works between peers, and the topology links them to "
            "servers only; choose another topology"
        )
    return Membership(rest, servers)


def _initial(world: World, scheduler: Scheduler) -> list[Cell]:
    """A cell for each node's initial model; nodes that start alike share one."""
    cells: dict[int, Cell] = {}
    for row, architecture in zip(world.initial, world.architectures, strict=True):
        cells.setdefault(id(row), Cell(scheduler, tuple(row.shape), architecture, row))
    return [cells[id(row)] for row in world.initial]
