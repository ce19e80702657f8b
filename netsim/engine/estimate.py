"""The cost of a run before it is played: the network plays, learning is only counted."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

import torch
from torch import Tensor

from netsim.backends.ways import Ways
from netsim.engine.actors.opening import homes_of
from netsim.engine.backend_assembly import open_backend
from netsim.engine.job_times import JobTimes
from netsim.engine.progress import Progress
from netsim.engine.simulation import Simulation
from netsim.errors import NetsimError, ScenarioError
from netsim.learning.columns import Columns, number_of, union
from netsim.learning.divergence import Divergences
from netsim.learning.jobs import Job
from netsim.learning.minibatches import Rows
from netsim.learning.refs import Cell, Ref
from netsim.learning.shards import Shards
from netsim.scenario.tables import AlgorithmEntry
from netsim.world.builder import World

MOVE_S = 0.003
"""Wall time of moving rows from actors to another one, beside their bytes."""

JOB_S = 0.0003
"""Processor time of the event loop for packing one job."""

BYTES_PER_S = 5e8
"""Speed at which rows go from actor to actor through Ray's object store, copies included."""

NETWORK_S = 20.0
"""Processor time for which the network is played at most; the rest is taken to go on alike."""


class _Uncounted(Exception):  # noqa: N818 - ends the counting, and is no error
    """Enough has been played."""


@dataclass
class Counted:
    """Work of one algorithm's run, as far as it was played."""

    jobs: int = 0
    steps: float = 0.0  # local steps
    alone_s: float = 0.0  # what one core takes for all of it
    moved_bytes: int = 0  # rows that go from one actor to another
    # by actor, most that its rows take at a time
    rows_bytes: list[int] = field(default_factory=list)


class Counting:
    """A backend that computes nothing: every value is ones, and what it would take is added up.

    Parameters
    ----------
    homes : sequence of int
        The actor of each node.
    times : JobTimes
        Of jobs on one core.

    Notes
    -----
    The event loop goes on while actors compute, until it reads a value. An actor waits for rows of
    others, and these send them after all that they were to do by then.
    """

    name = "none"

    def __init__(self, homes: Sequence[int], shards: Shards, times: JobTimes) -> None:
        self.divergences, self.one_by_one, self.ways = Divergences(), dict[str, str](), Ways()
        self._homes, self._times = homes, times
        self._item_bytes = shards.x.element_size() if shards.x.is_floating_point() else 4
        self.counted = Counted(rows_bytes=[0] * (max(homes) + 1))
        self._live: Counter[int] = Counter()
        self._rows = [_Ones(self, actor) for actor in range(max(homes) + 1)]
        self._done_s = [0.0] * (max(homes) + 1)  # when each actor has done all it was sent
        self._waited_s, self._began_s, self.spent_s = 0.0, time.process_time(), 0.0

    def execute(self, jobs: Sequence[Job[Any]]) -> int:
        """Count jobs of one level; see `netsim.learning.scheduler.Backend`."""
        began_s, own, found = time.process_time(), defaultdict[int, float](float), self.counted
        self._times.know(jobs)
        moved: dict[tuple[int, Cell], Columns | None] = {}  # once a level, however many use it
        for job in jobs:
            home = self._homes[job.node]
            own[home] += self._times.seconds(job)
            batches = getattr(job.work, "batches", None)
            found.steps += 0 if batches is None else batches.steps
            for ref in job.inputs:
                source = ref.cell.slab
                if isinstance(source, _Ones) and source.actor != home:
                    key = home, ref.cell
                    moved[key] = union(moved.get(key, ()), ref.ranges)
            for cell in job.outputs:
                if cell is not None:
                    self._hold(cell, home)
        found.jobs += len(jobs)
        found.alone_s += sum(own.values())
        self.spent_s += time.process_time() - began_s
        sent_s, done_s = self.packed_s(), list(self._done_s)
        for home, job_s in own.items():
            size, sources = 0, {home}
            for (reader, cell), columns in moved.items():
                if reader == home:
                    sources.add(cell.slab.actor)  # type: ignore[union-attr] # one of `_Ones`
                    size += prod(cell.shape) if columns is None else number_of(columns)
            size *= self._item_bytes
            found.moved_bytes += size
            move_s = MOVE_S + size / BYTES_PER_S if len(sources) > 1 else 0.0
            self._done_s[home] = max(sent_s, *(done_s[a] for a in sources)) + move_s + job_s
        return 1

    def predictions(self, asked: Sequence[tuple[Ref, Rows]]) -> list[Tensor]:
        """Ones in place of outputs; see `netsim.learning.scheduler.Backend`."""
        began_s, own, results = time.process_time(), defaultdict[int, float](float), []
        for ref, rows in asked:
            layout = ref.architecture
            assert layout is not None
            own[self._homes[ref.owner]] += len(rows) * self._times.of_sample(layout)
            results.append(torch.ones(len(rows), layout.num_outputs))
        self.counted.alone_s += sum(own.values())
        self.spent_s += time.process_time() - began_s
        for home, job_s in own.items():
            self._done_s[home] = max(self.packed_s(), self._done_s[home]) + job_s
        self.wait()
        return results

    def loop_s(self) -> float:
        """Return the processor time of the event loop so far [s]."""
        return time.process_time() - self._began_s - self.spent_s

    def packed_s(self) -> float:
        """Return the wall time at which the event loop has sent all jobs so far [s]."""
        return self.loop_s() + self.counted.jobs * JOB_S + self._waited_s

    def wait(self) -> None:
        """Let the event loop wait until all actors have done what they were sent."""
        self._waited_s += max(0.0, max(self._done_s) - self.packed_s())

    def _hold(self, cell: Cell, home: int) -> None:
        size = prod(cell.shape)
        cell.store_in(self._rows[home], size)  # type: ignore[arg-type] # the row says its size
        self._live[home] += self._item_bytes * size
        most = self.counted.rows_bytes
        most[home] = max(most[home], self._live[home])

    def gone(self, actor: int, size: int) -> None:
        """Count a value that nobody holds any more."""
        self._live[actor] -= self._item_bytes * size


class _Ones:
    """Rows of ones, which take no memory; see `learning.refs.RowStorage`."""

    def __init__(self, backend: Counting, actor: int) -> None:
        self._backend, self.actor = backend, actor

    @property
    def rows(self) -> _Ones:
        """Itself: a row is made when it is indexed."""
        return self

    def __getitem__(self, size: int) -> Tensor:
        self._backend.wait()
        return torch.ones(size)

    def release(self, size: int) -> None:
        """Let go of a row of this size."""
        self._backend.gone(self.actor, size)


@dataclass(frozen=True)
class Estimate:
    """Expected cost of one algorithm's run."""

    alone_s: float  # wall time in one process that computes on one core
    shared_s: float  # wall time with actors of one core each
    loop_s: float  # of both, the event loop's part
    moved_bytes: float
    rows_bytes: int  # most that an actor's rows take
    all_rows_bytes: int  # most that all rows take, in one process
    # samples of the fullest actor, and of all nodes
    data_bytes: int
    all_data_bytes: int
    jobs: float
    steps: float
    part: float  # share of the horizon that was played to find out
    # jobs that failed with ones in place of values, and count as no time
    untimed: tuple[str, ...] = ()


def estimated(
    world: World, entry: AlgorithmEntry, actors: int, network_s: float = NETWORK_S
) -> Estimate:
    """Estimate the cost of one algorithm's run, alone and with actors.

    The network is played with ones in place of computed values. A method that decides by such
    values decides otherwise then, and the estimate is of that course.

    Parameters
    ----------
    network_s : float
        Processor time for which the network is played at most [s].

    Raises
    ------
    ScenarioError
        If the course of the method can't go on without values.
    """
    scenario = world.scenario
    homes = homes_of([a.num_values for a in world.architectures], actors)
    shards = world.shards.in_batches_of(scenario.training_of(entry).batch_size)
    times = JobTimes(open_backend(world, shards)[0], shards, world)
    backend, reached = Counting(homes, shards, times), [0.0]

    def enough(progress: Progress) -> None:
        reached[0] = progress.virtual_s
        if backend.loop_s() > network_s:
            raise _Uncounted

    simulation = Simulation(world, entry, None, False, enough, backend=backend)
    try:
        simulation.to_horizon()
        reached[0] = scenario.horizon_s
    except _Uncounted:
        pass
    except NetsimError as error:
        raise ScenarioError(
            f"{entry.name}: its course depends on values that are not computed here: {error}"
        ) from error
    backend.wait()
    loop_s, shared_s = backend.loop_s(), backend.packed_s()
    found, part = backend.counted, reached[0] / scenario.horizon_s
    if part <= 0.0:
        raise ScenarioError(
            f"{entry.name}: in {network_s:g} s the network did not come to its first evaluation"
        )
    sample_bytes = sum(one[:1].nbytes for one in (shards.x, shards.y))
    held = [{n for n, home in enumerate(homes) if home == a} for a in range(max(homes) + 1)]
    data = [int(shards.samples_of(nodes).sum()) * sample_bytes for nodes in held]
    all_s = found.alone_s + loop_s + found.jobs * JOB_S  # the loop takes of the actors' cores
    shared_s = max(shared_s, all_s / actors)
    return Estimate(
        (found.alone_s + loop_s) / part,
        shared_s / part,
        loop_s / part,
        found.moved_bytes / part,
        max(found.rows_bytes),
        sum(found.rows_bytes),
        max(data),
        sum(one.nbytes for one in (shards.x, shards.y)),
        found.jobs / part,
        found.steps / part,
        part,
        tuple(sorted(times.untimed)),
    )
