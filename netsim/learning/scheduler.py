"""The record of pending jobs, and when they run.

A job is recorded when an algorithm asks for it, at a level: one above the highest level among the
jobs whose results it reads. Jobs run level by level, many at a time: when an algorithm needs a
number, when an evaluation needs the published models, or when half as many jobs as there are nodes
are ready. Inputs are immutable and minibatches are named at submission, so results do not depend
on when a job runs.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol
from weakref import ref as weak

from torch import Tensor

from netsim.errors import ComputeError, NetsimError
from netsim.learning.divergence import Divergences
from netsim.learning.jobs import Job, JobFailedError, Work
from netsim.learning.minibatches import Rows
from netsim.learning.refs import Cell, Ref
from netsim.units import to_s

FEWEST_READY_JOBS = 16
"""Fewer ready jobs are not worth a call of their own."""

MOST_PENDING_PER_NODE = 4
"""Pending jobs per node at which the ready ones run, however few they are."""


class Backend(Protocol):
    """Runs jobs: fills the cells of each job's outputs.

    Attributes
    ----------
    name : str
        As in `[run] backend`.
    divergences : Divergences
        Nodes whose models became nan or infinite.
    """

    name: str
    divergences: Divergences

    @property
    def one_by_one(self) -> dict[str, str]:
        """What could only be run node after node, and why."""

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
    """How many jobs may wait before the ready ones run.

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
    """

    def __init__(
        self,
        backend: Backend | None,
        limits: Limits,
        now_ns: Callable[[], int],
        column_work: Callable[[int, int], Work],
    ) -> None:
        self.backend = backend
        self._column_work = column_work
        self._limits = limits
        self._now_ns = now_ns
        self._levels: deque[list[Job[Any]]] = deque()  # the first is that of the ready jobs
        self._done = 0  # levels that have run
        self._pending = 0
        self.flushes = 0
        self.jobs = 0
        self._calls = 0

    def submit(
        self, work: Work, node: int, inputs: tuple[Ref, ...], outputs: Sequence[Cell]
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
        """
        if self.backend is None:
            return
        above = done = self._done
        for ref in inputs:
            below = ref.cell.level
            if below > above:
                above = below
        for cell in outputs:
            cell.level = above + 1
        levels = self._levels
        while len(levels) <= above - done:
            levels.append([])
        shapes = tuple([cell.shape for cell in outputs])
        job: Job[Any] = Job(work, node, self._now_ns(), inputs, tuple(map(weak, outputs)), shapes)
        levels[above - done].append(job)
        self._pending += 1
        if len(levels[0]) >= self._limits.ready or self._pending >= self._limits.pending:
            self._run_ready()

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
        assert self.backend is not None
        jobs = self._levels.popleft()
        self._done += 1
        self._pending -= len(jobs)
        if not jobs:
            return
        self.jobs += len(jobs)
        try:
            self._calls += self.backend.execute(jobs)
        except JobFailedError as failure:
            job, error = failure.job, failure.__cause__
            if isinstance(error, NetsimError):
                raise error from None
            raise ComputeError(
                f"node {job.node} at {to_s(job.time_ns):g} s: {job.work.describe()} failed: "
                f"{type(error).__name__}: {error}"
            ) from error

    def diverged(self) -> list[dict[str, Any]]:
        """Nodes whose models became nan or infinite; see `Divergences.found`."""
        return [] if self.backend is None else self.backend.divergences.found()

    @property
    def one_by_one(self) -> dict[str, str]:
        """What a batched backend could only run node after node, and why."""
        return {} if self.backend is None else self.backend.one_by_one

    @property
    def mean_batch_width(self) -> float:
        """Jobs per call of the backend."""
        return self.jobs / self._calls if self._calls else 0.0

    def replace_columns(self, row: Ref, part: Ref, start: int, stop: int) -> Ref:
        """A new row equal to `row` but for some columns; lazy.

        Parameters
        ----------
        row : Ref
            (D,)
        part : Ref
            (stop - start,) the new columns.
        start, stop : int
            Where they go: columns [start, stop).
        """
        cell = Cell(self, row.shape, row.architecture)
        self.submit(self._column_work(start, stop), row.owner, (row, part), (cell,))
        return Ref(row.owner, cell)
