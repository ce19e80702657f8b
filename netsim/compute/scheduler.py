"""The record of pending jobs, and when they run.

Jobs are recorded when an algorithm asks and run when a number is due, when an evaluation needs
the published models, or when half as many jobs as there are nodes have piled up. Inputs are
immutable and batches are named at submission, so when they run cannot change what they give.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from netsim.compute.jobs import Job, ReplaceColumns, Train, Work
from netsim.compute.refs import Cell, Ref
from netsim.errors import ComputeError, NetsimError
from netsim.units import to_s


class Backend(Protocol):
    """What executes jobs: fills the cells of each job's outputs."""

    name: str

    def execute(self, jobs: Sequence[Job]) -> None:
        """Run jobs whose inputs are computed or are outputs of earlier jobs in the list."""


class Scheduler:
    """Pending jobs of one run.

    Parameters
    ----------
    backend : Backend or None
        None plays the network without learning (`--timing-only`): jobs are dropped.
    num_nodes : int
        Sets how many jobs may pile up.
    now_ns : callable
        The virtual clock.
    """

    def __init__(self, backend: Backend | None, num_nodes: int, now_ns: Callable[[], int]) -> None:
        self.backend = backend
        self._limit = max(16, num_nodes // 2)
        self._now_ns = now_ns
        self._pending: list[Job] = []
        self.flushes = 0
        self.jobs = 0
        self._batches = 0

    def submit(
        self, work: Work, node: int, inputs: tuple[Ref, ...], outputs: tuple[Cell, ...]
    ) -> None:
        """Record one job."""
        if self.backend is None:
            return
        level = 1 + max((r.cell.level for r in inputs), default=0)
        for cell in outputs:
            cell.level = level
        self._pending.append(Job(work, node, self._now_ns(), inputs, outputs, level))
        if len(self._pending) >= self._limit:
            self.flush()

    def flush(self) -> None:
        """Run everything pending, in order of submission.

        Raises
        ------
        ComputeError
            If a job fails; names node, virtual time and job.
        """
        if not self._pending or self.backend is None:
            return
        jobs, self._pending = self._pending, []
        self.flushes += 1
        self.jobs += len(jobs)
        self._batches += len({(j.level, type(j.work)) for j in jobs})
        for job in jobs:
            try:
                self.backend.execute((job,))
            except NetsimError:
                raise
            except Exception as error:
                raise ComputeError(
                    f"node {job.node} at {to_s(job.time_ns):g} s: {describe(job.work)} failed: "
                    f"{type(error).__name__}: {error}"
                ) from error
            for cell in job.outputs:
                cell.level = 0

    @property
    def mean_batch_width(self) -> float:
        """Jobs per (level, kind of work): how wide a batched backend could have run."""
        return self.jobs / self._batches if self._batches else 0.0

    def replace_columns(self, row: Ref, part: Ref, start: int, stop: int) -> Ref:
        """A new row equal to `row` but for columns [start, stop), which come from `part`."""
        cell = Cell(self, row.shape, row.architecture)
        self.submit(ReplaceColumns(start, stop), row.owner, (row, part), (cell,))
        return Ref(row.owner, cell)


def describe(work: Work) -> str:
    """A job in a few words, for error messages."""
    if isinstance(work, Train):
        loss = f" with loss {work.loss.__qualname__}" if work.loss else ""
        return f"training of {len(work.batches)} steps{loss}"
    function = getattr(work, "function", None)
    return f"{type(work).__name__.lower()}" + (f" {function.__qualname__}" if function else "")
