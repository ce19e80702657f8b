"""The record of pending jobs, and when they run.

Jobs are recorded when an algorithm asks, each at its level: one above the highest level among the
jobs whose results it needs. They run level by level, many at a time, when a number is due, when
an evaluation needs the published models, or when half as many jobs as there are nodes are ready.
Inputs are immutable and batches are named at submission, so when they run cannot change what they
give.
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
from netsim.learning.jobs import Job, JobFailedError, ReplaceColumns, Work, describe
from netsim.learning.minibatches import Rows
from netsim.learning.refs import Cell, Ref
from netsim.units import to_s

LEAST_WIDTH = 16
"""Fewer ready jobs are not worth a call of their own."""

DEEPEST = 4
"""Pending jobs, in multiples of the nodes, at which the ready ones run however few they are."""


class Backend(Protocol):
    """What executes jobs: fills the cells of each job's outputs."""

    name: str
    divergences: Divergences
    one_by_one: dict[str, str]

    def execute(self, jobs: Sequence[Job]) -> int:
        """Run jobs of one level, whose inputs are all computed; returns in how many calls.

        Raises
        ------
        JobFailedError
            Naming the job that can't be run.
        """

    def predictions(self, asked: Sequence[tuple[Ref, Rows]]) -> list[Tensor]:
        """Outputs (n_i, L), on the CPU, of computed models on samples by number."""


@dataclass(frozen=True)
class Limits:
    """How many jobs may pile up.

    Attributes
    ----------
    ready : int
        The ready ones run when they are so many.
    pending : int
        Or when so many are recorded in all, ready or not.
    """

    ready: int
    pending: int

    @classmethod
    def of(cls, num_nodes: int) -> Limits:
        """Half the nodes wide."""
        ready = max(LEAST_WIDTH, num_nodes // 2)
        return cls(ready, max(DEEPEST * num_nodes, ready))


class Scheduler:
    """Pending jobs of one run.

    Parameters
    ----------
    backend : Backend or None
        None plays the network without learning (`--timing-only`): jobs are dropped.
    limits : Limits
    now_ns : callable
        The virtual clock.
    """

    def __init__(self, backend: Backend | None, limits: Limits, now_ns: Callable[[], int]) -> None:
        self.backend = backend
        self._limits = limits
        self._now_ns = now_ns
        self._levels: deque[list[Job]] = deque()  # the first is that of the ready jobs
        self._done = 0  # levels that have run
        self._pending = 0
        self.flushes = 0
        self.jobs = 0
        self._calls = 0

    def submit(
        self, work: Work, node: int, inputs: tuple[Ref, ...], outputs: Sequence[Cell]
    ) -> None:
        """Record one job."""
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
        job = Job(work, node, self._now_ns(), inputs, tuple(map(weak, outputs)), shapes)
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
                f"node {job.node} at {to_s(job.time_ns):g} s: {describe(job.work)} failed: "
                f"{type(error).__name__}: {error}"
            ) from error

    def diverged(self) -> list[dict[str, Any]]:
        """Nodes whose training left the finite numbers; see `Divergences.found`."""
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
        """A new row equal to `row` but for columns [start, stop), which come from `part`."""
        cell = Cell(self, row.shape, row.architecture)
        self.submit(ReplaceColumns(start, stop), row.owner, (row, part), (cell,))
        return Ref(row.owner, cell)
