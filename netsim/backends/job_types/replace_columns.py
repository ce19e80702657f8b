"""Rows with a part taken from another value: `Ref.with_part`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor

from netsim.backends.job_type import Call, GroupKernel, Signature, register
from netsim.backends.plain import Plain
from netsim.backends.stacked.resources import Resources
from netsim.learning.columns import Columns, put
from netsim.learning.jobs import Job


@dataclass(frozen=True)
class ReplaceColumns:
    """A row with some columns replaced: inputs the row and the new columns.

    Parameters
    ----------
    columns : Columns
    """

    columns: Columns

    def describe(self) -> str:
        return "replacecolumns"


def _run_one(job: Job[ReplaceColumns], _: Plain) -> Sequence[Tensor]:
    """A copy of the row with the new columns."""
    row = job.inputs[0].tensor().clone()
    put(row, job.work.columns, job.inputs[1].tensor().reshape(-1))
    return [row]


def _signature(job: Job[ReplaceColumns], _: Resources) -> Signature:
    """The same columns of rows of one length."""
    return job.inputs[0].num_values, job.work.columns


def _prepare(_: Signature, jobs: Sequence[Job[ReplaceColumns]], resources: Resources) -> Call:
    """One gather of the rows, and one write into their slab."""
    columns = jobs[0].work.columns

    def run(some: Sequence[Job[ReplaceColumns]], _: int) -> None:
        slab, numbers = resources.store.rows_of([job.inputs[0] for job in some])
        rows = slab.storage.index_select(0, slab.index(numbers))
        for row, job in zip(rows, some, strict=True):
            put(row, columns, job.inputs[1].tensor().reshape(-1))
        slab.write([job.outputs[0] for job in some], rows)

    return Call(run, len(jobs))


register(ReplaceColumns, _run_one, calls_model=False, stacked=GroupKernel(_signature, _prepare))
