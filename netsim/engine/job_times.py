"""Times of jobs on one core of this machine: the first jobs of each kind are run, shortened."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any
from weakref import ref as weak

import numpy as np
import torch

from netsim.backends.job_type import subject
from netsim.backends.job_types.train import Train
from netsim.learning.architecture import Architecture
from netsim.learning.jobs import Batches, Job, JobFailedError, Optimizer
from netsim.learning.optimizers import state_size
from netsim.learning.refs import Cell, Ref
from netsim.learning.scheduler import Backend
from netsim.learning.shards import Shards
from netsim.world.builder import World

NODES = 6
"""Nodes that train in a timing: more than `routes.toml` calls few."""
TESTED = 20
"""Samples of each that outputs are timed on."""
LONG_S = 0.2
"""A timing that takes so long is long enough; shorter ones are repeated with more steps."""
MOST_STEPS = 64


class JobTimes:
    """Seconds of jobs on one core, in proportion to their work.

    A kind of job is its class, its function, the model and the shapes of its inputs. Its first
    jobs run with the nodes' samples, initial models, and ones in place of other values; trainings
    with few steps.

    Parameters
    ----------
    backend : Backend
        Runs the jobs that are timed.

    Attributes
    ----------
    untimed : set of str
        Jobs that failed with such values.
    """

    def __init__(self, backend: Backend, shards: Shards, world: World) -> None:
        self._backend, self._shards = backend, shards
        models = zip(world.architectures, world.initial, strict=True)
        self._initial = {id(layout): row for layout, row in models}
        self._per_unit: dict[Hashable, float] = {}
        self._per_sample: dict[int, float] = {}
        self.untimed: set[str] = set()

    def know(self, jobs: Sequence[Job[Any]]) -> None:
        """Time the kinds among some jobs that have not been timed."""
        new: dict[Hashable, list[Job[Any]]] = {}
        for job in jobs:
            kind = _kind(job)
            if kind not in self._per_unit:
                new.setdefault(kind, []).append(job)
        for kind, some in new.items():
            try:
                self._per_unit[kind] = self._timed(some[:NODES])
            except JobFailedError:
                self._per_unit[kind] = 0.0
                self.untimed.add(subject(some[0]))

    def seconds(self, job: Job[Any]) -> float:
        """Time of one job [s]; its kind has been timed."""
        return self._per_unit[_kind(job)] * self._units(job)

    def of_sample(self, layout: Architecture) -> float:
        """Time of a model's outputs for one sample [s]."""
        if id(layout) not in self._per_sample:
            rows = np.arange(min(TESTED, len(self._shards.x)))
            shape = tuple(self._initial[id(layout)].shape)
            asked = [(Ref(0, self._cell(None, shape, layout)), rows) for _ in range(NODES)]
            device = self._shards.x.device
            self._backend.predictions(asked)
            lasted = lasting(lambda: self._backend.predictions(asked), device)
            self._per_sample[id(layout)] = lasted / NODES / len(rows)
        return self._per_sample[id(layout)]

    def _timed(self, jobs: Sequence[Job[Any]]) -> float:
        """Seconds of one unit of work.

        Raises
        ------
        JobFailedError
        """
        device, steps = self._shards.x.device, 1
        most = min(MOST_STEPS, max(map(_steps, jobs)))

        def run(steps: int) -> tuple[float, float]:
            made = [self._like(job, steps) for job in jobs]
            short = [job for job, _ in made]
            lasted = lasting(lambda: self._backend.execute(short), device)
            return lasted, sum(map(self._units, short))

        run(steps)  # compiles, traces, fills caches
        lasted, units = run(steps)
        while lasted < LONG_S and steps < most:
            steps = min(4 * steps, most)
            lasted, units = run(steps)
        again, _ = run(steps)  # the first training of so many steps may compile, too
        return min(lasted, again) / max(units, 1.0)

    def _like(self, job: Job[Any], steps: int) -> tuple[Job[Any], list[Cell]]:
        """A shorter job of the same kind, and the cells of its results."""
        work = job.work
        batches = getattr(work, "batches", None)
        if batches is not None:
            work = work._replace(batches=batches._replace(steps=min(steps, batches.steps)))
        inputs = tuple(
            Ref(ref.owner, self._cell(ref.cell.scheduler, ref.cell.shape, model), ref.ranges)
            for ref in job.inputs
            for model in (ref.cell.architecture,)
        )
        scheduler: Any = job.inputs[0].cell.scheduler if job.inputs else None
        cells = [Cell(scheduler, shape) for shape in job.shapes]
        for cell, output in zip(cells, job.outputs, strict=True):
            cell.architecture = None if output is None else output.architecture
        short = Job(work, job.node, job.time_ns, inputs, tuple(map(weak, cells)), job.shapes)
        return short, cells

    def _cell(self, scheduler: Any, shape: tuple[int, ...], model: Architecture | None) -> Cell:
        """A cell with an initial model, or with ones."""
        if model is not None:
            return Cell(scheduler, shape, model, self._initial[id(model)])
        like = next(iter(self._initial.values()))
        return Cell(scheduler, shape, None, torch.ones(shape, dtype=like.dtype, device=like.device))

    def _units(self, job: Job[Any]) -> float:
        """Amount of work of a job, to which its time is proportional."""
        work: Any = job.work
        models = max(1, sum(1 for ref in job.inputs if ref.architecture is not None))
        if getattr(work, "batches", None) is not None:
            return float(work.batches.steps)
        if getattr(work, "batch", None) is not None:
            return float(models * self._shards.batch_size)
        if hasattr(work, "shard"):
            split = getattr(work, "split", "validation")
            return float(models * max(1, len(self._shards.split_rows(work.shard, split))))
        return float(1 + sum(ref.num_values for ref in job.inputs))


def _steps(job: Job[Any]) -> int:
    """Local steps of a job; 1 where it has none."""
    batches = getattr(job.work, "batches", None)
    return 1 if batches is None else int(batches.steps)


def _kind(job: Job[Any]) -> Hashable:
    """Jobs of one kind take times in proportion to their work."""
    work: Any = job.work
    models = frozenset(id(ref.architecture) for ref in job.inputs)
    names = (getattr(work, name, None) for name in ("function", "part", "anchor_strength"))
    own = tuple(name if isinstance(name, Hashable) else id(name) for name in names)
    return type(work), own, getattr(work, "learn", ()), models


def trainings(
    starts: Mapping[int, Cell],
    optimizer: Optimizer,
    steps: int,
    loss: Callable[..., torch.Tensor] | None = None,
) -> tuple[list[Job[Any]], list[Cell]]:
    """Jobs that train the nodes' models, and the cells of their results, which a caller holds.

    Parameters
    ----------
    starts : mapping of int to Cell
        By node the model that it begins with.
    steps : int
        Local steps of each.
    loss : callable or None
        Of an algorithm's own; None: the task's.
    """
    jobs, kept = [], list[Cell]()
    for node, start in starts.items():
        assert start.architecture is not None
        size = state_size(optimizer.kind, start.architecture.num_parameters)
        made = [Cell(start.scheduler, shape) for shape in (start.shape, (size,))]
        made[0].architecture = start.architecture
        work = Train(Batches(node, "train", 0, steps), optimizer, loss, (), 0, (), None, False)
        refs, shapes = tuple(map(weak, made)), tuple(cell.shape for cell in made)
        jobs.append(Job(work, node, 0, (Ref(node, start),), refs, shapes))
        kept += made
    return jobs, kept


def lasting(run: Callable[[], object], device: torch.device) -> float:
    """Seconds that a call takes, of all cores together; on a GPU as they pass."""
    on_gpu = device.type == "cuda"
    if on_gpu:
        torch.cuda.synchronize(device)
    clock = time.perf_counter if on_gpu else time.process_time
    start = clock()
    run()
    if on_gpu:
        torch.cuda.synchronize(device)
    return clock() - start
