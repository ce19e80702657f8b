"""The record of pending jobs, and when they run.

A job is recorded when an algorithm asks for it, at a level: one above the highest level among the
jobs whose results it reads. Jobs run level by level, many at a time: when an algorithm needs a
number, when an evaluation needs the published models, or when half as many jobs as there are nodes
are ready. Inputs are immutable and minibatches are named at submission, so results do not depend
on when a job runs.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, repeat
from math import prod
from typing import Any, NamedTuple, Protocol
from weakref import ref as weak

import torch
from torch import Tensor

from netsim.learning.architecture import Architecture
from netsim.learning.calling_line import Place
from netsim.learning.columns import Columns
from netsim.learning.divergence import Divergences
from netsim.learning.jobs import Job, JobFailedError, Work
from netsim.learning.level import Levels, failure_error
from netsim.learning.minibatches import Rows
from netsim.learning.origins import Origin
from netsim.learning.read_globals import ReadGlobals
from netsim.learning.ref_sums import RefSums
from netsim.learning.refs import Cell, Ref
from netsim.learning.replay import Numbers, Replay

FEWEST_READY_JOBS = 16
"""Fewer ready jobs are not worth a call of their own."""

BROUGHT_VALUES = 1 << 25
"""Numbers that come from other processes together, from which on no more are added."""

MOST_PENDING_PER_NODE = 4
"""Pending jobs per node at which the ready ones run, however few they are."""


class Described(Protocol):
    """Something that can say what it has noted."""

    def as_dict(self) -> dict[str, str]:
        """Notes, each by its subject."""


class Backend(Protocol):
    """Runs jobs: fills the cells of each job's outputs.

    Attributes
    ----------
    name : str
        As in `[run] backend`.
    """

    name: str

    @property
    def divergences(self) -> Divergences:
        """Nodes whose models became nan, infinite or huge."""

    @property
    def one_by_one(self) -> dict[str, str]:
        """Return the jobs that could only run node after node, and the reasons."""

    @property
    def ways(self) -> Described:
        """Record of how jobs were computed."""

    def execute(self, jobs: Sequence[Job[Any]]) -> int:
        """Run jobs of one level, whose inputs are all computed.

        Returns
        -------
        int
            Number of calls that it took.

        Raises
        ------
        JobFailedError
            Naming the job that can't be run.
        """

    def predictions(self, asked: Sequence[tuple[Ref, Rows]]) -> list[Tensor]:
        """Outputs of models in evaluation mode.

        Parameters
        ----------
        asked : sequence of (Ref, (n_i,) int64)
            Computed models, each with the row numbers of its samples.

        Returns
        -------
        list of torch.Tensor
            (n_i, L) each, on the CPU.
        """


@dataclass(frozen=True)
class Limits:
    """Number of jobs that may wait before the ready ones run.

    Attributes
    ----------
    ready : int
        Jobs whose inputs are computed.
    pending : int
        All recorded jobs.
    """

    ready: int
    pending: int

    @classmethod
    def of(cls, num_nodes: int) -> Limits:
        """The limits for a number of nodes: half as many ready jobs."""
        ready = max(FEWEST_READY_JOBS, num_nodes // 2)
        return cls(ready, max(MOST_PENDING_PER_NODE * num_nodes, ready))


class Counters(NamedTuple):
    """Counters of a scheduler; see `Scheduler`."""

    flushes: int
    jobs: int
    calls: int
    one_by_one: dict[str, str]
    diverged: list[dict[str, Any]]
    caught: list[dict[str, Any]] = []
    ways: dict[str, str] = {}


class Scheduler:
    """Pending jobs of one run.

    Parameters
    ----------
    backend : Backend or None
        None plays the network without learning (`--timing-only`): jobs are dropped.
    limits : Limits
    now_ns : callable
        The virtual clock, in ns.
    column_work : callable
        (start, stop) -> the work of a row with columns [start, stop) replaced, for `with_part`.
    replay : Replay or None
        What has been, to be played again without tensor work until `go_on` is called.
    sum_work : callable or None
        (weights) -> the work of a weighted sum, for the arithmetic of Refs.

    Attributes
    ----------
    sums : RefSums
        What the arithmetic of Refs asks for.
    cells : int
        How many cells jobs have been submitted for: the number of the next one.
    handed_out : list of array
        The numbers that `read_values` has given, for whoever empties the list; None: not kept.
    flushes, jobs, calls : int
        How often everything pending was run, jobs run, and calls of the backend for them.
    """

    def __init__(
        self,
        backend: Backend | None,
        limits: Limits,
        now_ns: Callable[[], int],
        column_work: Callable[[Columns], Work],
        replay: Replay | None = None,
        sum_work: Callable[[tuple[float, ...]], Work] | None = None,
    ) -> None:
        self.backend = backend
        self.replay = replay
        self._column_work = column_work
        self.sums = RefSums(self, sum_work)
        self._limits = limits
        self._globals = ReadGlobals()
        self._now_ns = now_ns
        self._levels: deque[list[Job[Any]]] = deque()  # the first is that of the ready jobs
        self._done = 0  # levels that have run
        self._pending = 0
        self.flushes = 0
        self.jobs = 0
        self.calls = 0
        self.cells = 0
        self.handed_out: list[Numbers] | None = None
        levels = None if backend is None else Levels(backend)
        self._run_level = None if levels is None else levels.run
        self._one_by_one_before = {} if levels is None else levels.one_by_one
        self._ways_before: dict[str, str] = {}

    def results(
        self,
        work: Work,
        node: int,
        inputs: tuple[Ref, ...],
        shapes: Sequence[Any],
        models: Sequence[Architecture | None] = (),
        place: Place | None = None,
    ) -> list[Ref]:
        """Record a node's job; Refs to its results, which are computed when they are needed.

        Parameters
        ----------
        work : Work
            What is to be done.
        node : int
            The node that asks for it.
        inputs : tuple of Ref
            The node's own.
        shapes : sequence of tuple of int
            One a result.
        models : sequence of Architecture or None
            One a result: set where it is a whole model. May be shorter than `shapes`.
        place : Place or None
            The calling line, for jobs that may fail when they run.

        Raises
        ------
        ProtocolError
            If an input is another node's.
        """
        for ref in inputs:
            if ref.owner != node:
                ref.require_owner(node)
        cells: list[Cell] = []
        refs: list[Ref] = []
        for shape, model in zip(shapes, chain(models, repeat(None)), strict=False):
            cell = Cell(self, tuple(shape), model)
            cells.append(cell)
            refs.append(Ref(node, cell))
        self.submit(work, node, inputs, cells, place)
        return refs

    def submit(
        self,
        work: Work,
        node: int,
        inputs: tuple[Ref, ...],
        outputs: Sequence[Cell],
        place: Place | None = None,
    ) -> None:
        """Record one job.

        Parameters
        ----------
        work : Work
        node : int
            The node that asks for it.
        inputs : tuple of Ref
            What the job reads.
        outputs : sequence of Cell
            Where its results go; the job holds no more than weak references to them.
        place : Place or None
            The line of an algorithm's file that asks for it, for the error if the job fails.

        Raises
        ------
        ProtocolError
            If its function reads a number or text of its module that has changed since it was
            recorded first.
        """
        for ref in inputs:
            if ref.bringer is not None:
                weights: Sequence[float] = getattr(work, "weights", None) or ()
                uses = ref.bringer.uses
                uses.read(node, inputs, self._now_ns(), work.describe(), weights)
                break
        if self.backend is None:
            return
        if self.replay is not None:
            self._submit_during_replay(self.replay, work, node, inputs, outputs)
            return
        if (function := getattr(work, "function", None)) is not None:
            self._globals.note_function(function)
        above = done = self._done
        for ref in inputs:
            below = ref.cell.level
            if below > above:
                above = below
        number = first = self.cells
        now_ns, results = self._now_ns(), tuple(map(weak, outputs))
        origin = Origin(work, node, now_ns, [ref.cell.origin for ref in inputs], results)
        for cell in outputs:
            cell.level = above + 1
            cell.number = number
            cell.origin = origin
            number += 1
        self.cells = number
        levels = self._levels
        while len(levels) <= above - done:
            levels.append([])
        shapes = tuple([cell.shape for cell in outputs])
        job: Job[Any] = Job(work, node, now_ns, inputs, results, shapes, first, place, origin)
        levels[above - done].append(job)
        self._pending += 1
        if len(levels[0]) >= self._limits.ready or self._pending >= self._limits.pending:
            self._run_ready()

    def _submit_during_replay(
        self,
        replay: Replay,
        work: Work,
        node: int,
        inputs: tuple[Ref, ...],
        outputs: Sequence[Cell],
    ) -> None:
        """Number the results of a job of the replay; arguments as of `submit`."""
        first = self.cells
        now_ns, results = self._now_ns(), tuple(map(weak, outputs))
        origin = Origin(work, node, now_ns, [ref.cell.origin for ref in inputs], results)
        for cell in outputs:
            cell.number = self.cells
            cell.origin = origin
            self.cells += 1
        if not replay.kept.isdisjoint(range(first, self.cells)):
            shapes = tuple([cell.shape for cell in outputs])
            replay.jobs[first] = Job(
                work, node, now_ns, inputs, results, shapes, first, None, origin
            )

    @property
    def now_ns(self) -> int:
        """The virtual time [ns]."""
        return self._now_ns()

    @property
    def computes(self) -> bool:
        """Return whether values are computed: not under `--timing-only`, nor during a replay."""
        return self.backend is not None and self.replay is None

    def pending_numbers(self) -> list[int]:
        """Numbers of the jobs that have not run, in order."""
        return sorted(job.number for level in self._levels for job in level)

    def read_values(self, refs: Sequence[Ref]) -> list[Numbers]:
        """The values of some Refs, each of its shape.

        Raises
        ------
        ComputeError
            If a job fails on the way.
        ReplayError
            If the run is being replayed, and differs.
        """
        if self.replay is not None:
            return self.replay.recorded_values(refs)
        self.flush()
        cells = self.fetch_cells([ref.cell for ref in refs])
        # Contiguous, as they are in a replay: sums of numpy go by the order in memory; and copies,
        # since who asked may write to them.
        found = [
            ref.tensor().detach().to("cpu", torch.float64, copy=True).contiguous().numpy()
            for ref, _ in zip(refs, cells, strict=True)
        ]
        if self.handed_out is not None:
            self.handed_out += [numbers.flatten() for numbers in found]
        return found

    def fetch_cells(self, cells: Iterable[Cell]) -> Iterator[Cell]:
        """Yield cells whose values are read next; fetch those of other processes in batches.

        Parameters
        ----------
        cells : iterable of Cell
            Computed ones.
        """
        bring = getattr(self.backend, "bring", None)
        if bring is None:
            yield from cells
            return
        some, size = list[Cell](), 0
        for cell in cells:
            some.append(cell)
            size += prod(cell.shape)
            if size >= BROUGHT_VALUES:
                bring(some)
                yield from some
                some, size = [], 0
        bring(some)
        yield from some

    def go_on(self, pending: Collection[int]) -> None:
        """End the replay of the past, once its values are there.

        Jobs that were kept and are not pending run now: they had left a value for later.

        Parameters
        ----------
        pending : collection of int
            Numbers of the jobs that had not run.

        Raises
        ------
        ComputeError
            If a job fails.
        """
        assert self.replay is not None
        jobs, self.replay = self.replay.jobs, None
        for number, job in jobs.items():
            if number not in pending:
                self._enqueue(job)
        while self._levels:
            self._run_ready()
        for number in pending:
            self._enqueue(jobs[number])

    def _enqueue(self, job: Job[Any]) -> None:
        """Put a job among the pending ones; `submit` does the same without a call."""
        above = max((ref.cell.level for ref in job.inputs), default=0)
        above = max(above, self._done)
        for cell in job.outputs:
            if cell is not None:
                cell.level = above + 1
        while len(self._levels) <= above - self._done:
            self._levels.append([])
        self._levels[above - self._done].append(job)
        self._pending += 1

    def flush(self) -> None:
        """Run everything pending.

        Raises
        ------
        ComputeError
            If a job fails; names node, virtual time and job.
        """
        if self._levels:
            self.flushes += 1
        while self._levels:
            self._run_ready()

    def _run_ready(self) -> None:
        assert self._run_level is not None
        jobs = self._levels.popleft()
        self._done += 1
        self._pending -= len(jobs)
        if not jobs:
            return
        self.jobs += len(jobs)
        self._globals.require_unchanged()
        try:
            self.calls += self._run_level(jobs)
        except JobFailedError as failure:
            error = failure_error(failure)
            raise error from (None if error is failure.__cause__ else failure.__cause__)

    def will_call(self, function: Callable[..., Any]) -> None:
        """Note a function that is called later, by whoever measures models.

        Raises
        ------
        ProtocolError
            If a value of a module that it reads has changed since it was noted first.
        """
        if self.backend is not None and self.replay is None:
            self._globals.note_function(function)

    def require_unchanged(self) -> None:
        """Refuse to go on where a value that a noted function reads has changed; as `will_call`."""
        self._globals.require_unchanged()

    def diverged_entries(self) -> list[dict[str, Any]]:
        """Nodes whose training made nan, infinite or huge models; see `Divergences`."""
        return [] if self.backend is None else self.backend.divergences.diverged_entries()

    def caught_entries(self) -> list[dict[str, Any]]:
        """Nodes that got such models from others; see `Divergences`."""
        return [] if self.backend is None else self.backend.divergences.caught_entries()

    @property
    def one_by_one(self) -> dict[str, str]:
        """Return the jobs that a batched backend could only run one by one, and the reasons."""
        now = {} if self.backend is None else self.backend.one_by_one
        return {**self._one_by_one_before, **now}

    @property
    def ways(self) -> dict[str, str]:
        """Return how each sort of jobs with a model was computed, and why not by the kernel."""
        now = {} if self.backend is None else self.backend.ways.as_dict()
        return {**self._ways_before, **now}

    def counters(self) -> Counters:
        """Return the counters so far."""
        counted = self.flushes, self.jobs, self.calls, self.one_by_one
        return Counters(*counted, self.diverged_entries(), self.caught_entries(), self.ways)

    def restore(self, counters: Counters) -> None:
        """Count on from what another run of the same course had counted."""
        self.flushes, self.jobs, self.calls, before = counters[:4]
        self._one_by_one_before.update(before)
        self._ways_before = counters.ways
        if self.backend is not None:
            self.backend.divergences.restore(counters.diverged, counters.caught)

    @property
    def mean_batch_width(self) -> float:
        """Jobs per call of the backend."""
        return self.jobs / self.calls if self.calls else 0.0

    def replace_columns(self, row: Ref, part: Ref, columns: Columns) -> Ref:
        """A new row equal to `row` but for some columns; lazy.

        Parameters
        ----------
        row : Ref
            (D,)
        part : Ref
            (n,) the new columns.
        columns : Columns
            Where they go.
        """
        cell = Cell(self, row.shape, row.architecture)
        self.submit(self._column_work(columns), row.owner, (row, part), (cell,))
        return Ref(row.owner, cell)

    def weighted_sum(self, terms: Sequence[tuple[Ref, float]]) -> Ref:
        """The sum of Refs times numbers; lazy. See `RefSums.weighted_total`."""
        return self.sums.weighted_total(terms)
