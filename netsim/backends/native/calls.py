"""One call of the kernel in the making: everything that is pointed to, checked first."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from netsim.backends.native.data import Data, Numbers, Rows, Sums
from netsim.backends.native.graph import Graph
from netsim.backends.native.library import Variant
from netsim.backends.native.loss_call import LossCall
from netsim.backends.native.packing import Packing, round_up
from netsim.backends.native.plan import Table
from netsim.backends.native.records import STATUS, Call, Loss
from netsim.backends.native.records import Table as TableRecord
from netsim.backends.native.workers import Workers


class Plans:
    """A graph's tables for one direction: inference or training.

    Parameters
    ----------
    graph : Graph
    lanes : int
        Scalars of a vector.
    learns : bool
        Whether there is a way back.
    plain_rows : bool
        Whether every tensor keeps its order in a packed row.

    Attributes
    ----------
    reads_numbers : bool
        Whether samples are numbers of words, int64.
    beside : dict of int to int
        Scalars behind a table's values for passes of a loss, by the number of samples.
    """

    def __init__(self, graph: Graph, lanes: int, learns: bool, plain_rows: bool) -> None:
        self.graph, self.learns, self._lanes = graph, learns, lanes
        self.packing = Packing(graph, lanes, plain_rows)
        self.reads_numbers = graph.reads_numbers
        self.beside: dict[int, int] = {}
        self._offsets: list[int] = []
        self.tables: list[Table] = []
        self._number: dict[int, int] = {}
        self.records: Any = None
        self.offsets: Numbers = np.zeros(1, dtype=np.int64)

    def table_numbers(self, sizes: Numbers) -> Numbers:
        """Return the numbers of the tables for minibatches of these sizes; make missing ones."""
        wanted, which = np.unique(sizes, return_inverse=True)
        for size in wanted.tolist():
            if size not in self._number:
                self._add_table(size)
        numbers = np.array([self._number[s] for s in wanted.tolist()], dtype=np.int64)
        return numbers[which.reshape(sizes.shape)]

    def _add_table(self, samples: int) -> None:
        table = Table(self.graph, self.packing, self._lanes, samples, self.learns, self._offsets)
        table.beside = round_up(table.num_values, 16)
        table.num_values = table.beside + self.beside.get(samples, 0)
        self._number[samples] = len(self.tables)
        self.tables.append(table)
        self.offsets = np.array(self._offsets or [0], dtype=np.int64)
        self.records = (TableRecord * len(self.tables))(
            *(
                TableRecord(t.ops.ctypes.data, len(t.ops), t.samples, t.id, t.num_values)
                for t in self.tables
            )
        )

    def table(self, samples: int) -> Table:
        """Return the table for minibatches of one size."""
        return self.tables[int(self.table_numbers(np.array([samples]))[0])]

    def record_address(self, number: int) -> int:
        """Address of a table's record, until another table is made."""
        return ctypes.addressof(self.records[number])

    def largest_table_size(self, numbers: Numbers) -> int:
        """Scalars of the largest of these tables."""
        return max((self.tables[k].num_values for k in np.unique(numbers).tolist()), default=0)


class CallBuilder:
    """A call that is being built; keeps the memory alive that it points to.

    Parameters
    ----------
    plans : Plans
        Of the direction in which it goes.
    data : Data
    jobs : int
    input_shape : tuple of int
        Of one sample.
    dtype : torch.dtype
    variant : Variant
    workers : Workers
    """

    def __init__(
        self,
        plans: Plans,
        data: Data,
        jobs: int,
        input_shape: tuple[int, ...],
        dtype: torch.dtype,
        variant: Variant,
        workers: Workers,
    ) -> None:
        self._plans, self._data, self._dtype = plans, data, dtype
        self._variant, self._workers = variant, workers
        self._held: list[Any] = []
        self._room = 0
        self.call = c = Call()
        packing, graph = plans.packing, plans.graph
        c.segments, c.num_segments = packing.segments.ctypes.data, len(packing.segments)
        c.num_packed, c.num_packed_parameters = packing.num_values, packing.num_parameters
        c.num_values, c.num_parameters = graph.num_values, graph.num_parameters
        c.num_jobs, c.num_samples = jobs, len(data.x)
        c.export_width = graph.export_width
        x, wanted = data.x, torch.int64 if plans.reads_numbers else dtype
        if x.dtype != wanted or tuple(x.shape[1:]) != input_shape:
            raise ValueError(f"samples of shape {tuple(x.shape[1:])} and type {x.dtype}")
        self._check_tensor(x)
        c.x = x.data_ptr()

    def _check_tensor(self, tensor: Tensor) -> None:
        if tensor.device.type != "cpu" or not tensor.is_contiguous():
            raise ValueError("tensors must be contiguous and on the CPU")

    def _keep_alive(self, array: NDArray[Any]) -> int:
        self._held.append(array)
        return int(array.ctypes.data)

    def set_integers(self, name: str, values: NDArray[Any]) -> None:
        """Set a field that points to integers."""
        setattr(self.call, name, self._keep_alive(np.ascontiguousarray(values, dtype=np.int64)))

    def set_reals(self, name: str, values: NDArray[np.float64]) -> None:
        """Set a field that points to one double a job, which may be written to."""
        if values.dtype != np.float64 or values.shape != (self.call.num_jobs,):
            raise ValueError(f"{name}: one float64 a job")
        setattr(self.call, name, self._keep_alive(np.ascontiguousarray(values)))

    def set_tensor(self, name: str, values: Tensor, length: int) -> None:
        """Set a field that points to scalars.

        Parameters
        ----------
        name : str
            Of the field.
        values : torch.Tensor
            Contiguous, on the CPU.
        length : int
            How many there must be.

        Raises
        ------
        ValueError
        """
        self._check_tensor(values)
        if values.dtype != self._dtype or values.numel() != length:
            raise ValueError(f"{name}: {length} values of type {self._dtype}")
        self._held.append(values)
        setattr(self.call, name, values.data_ptr())

    def set_models(self, name: str, rows: Rows | None, length: int, at: str) -> None:
        """Set the fields that name rows of a tensor.

        Parameters
        ----------
        name : str
            Of the field that points to the tensor.
        rows : Rows or None
            None leaves the fields empty.
        length : int
            Fewest values of a row.
        at : str
            Of the field that points to the row numbers.

        Raises
        ------
        ValueError
        """
        if rows is None:
            return
        n = self.call.num_jobs
        where = np.arange(n) if rows.at is None else rows.at
        if len(where) != n:
            raise ValueError(f"{name}: a row of the tensor for each of {n} jobs")
        self._set_rows(name, rows.storage, where, length, at)

    def _set_rows(self, name: str, storage: Tensor, where: Numbers, length: int, at: str) -> None:
        """Set the fields that name rows, as `set_models` has it."""
        if storage.dtype != self._dtype or storage.device.type != "cpu":
            raise ValueError(f"{name}: {self._dtype} on the CPU")
        if storage.dim() != 2 or storage.shape[1] < length or storage.stride(1) != 1:
            raise ValueError(f"{name}: rows of at least {length} values")
        if len(where) and not 0 <= where.min() <= where.max() < len(storage):
            raise ValueError(f"{name}: a row of the tensor for each job that reads or writes one")
        self._held.append(storage)
        setattr(self.call, name, storage.data_ptr())
        setattr(self.call, f"{name}_pitch", storage.stride(0))
        self.set_integers(at, where)

    def set_starts(self, models: Rows | Sums, length: int) -> None:
        """Set the fields of the models that jobs begin with.

        Parameters
        ----------
        models : Rows or Sums
        length : int
            Fewest values of a row.

        Raises
        ------
        ValueError
        """
        if isinstance(models, Rows):
            self.set_models("rows", models, length, "source")
            return
        counts = np.diff(models.first)
        if len(counts) != self.call.num_jobs or (len(counts) and counts.min() < 0):
            raise ValueError(f"a sum for each of {self.call.num_jobs} jobs")
        if models.first[0] != 0 or models.first[-1] != len(models.at):
            raise ValueError("sums of all rows that are named")
        self._set_rows("rows", models.storage, models.at, length, "source")
        self.set_integers("first_source", models.first)
        self.set_tensor("source_weights", models.weights, len(models.at))

    def set_steps(self, counts: Numbers, sizes: Numbers, starts: Numbers, index: Numbers) -> None:
        """Set the fields of the minibatches.

        Parameters
        ----------
        counts : (n,) int64
            Steps of each job.
        sizes : (steps of all jobs,) int64
            Samples of each.
        starts : (steps of all jobs,) int64
            Where their numbers begin in `index`.
        index : int64
            Numbers of samples.

        Raises
        ------
        ValueError
        """
        if len(sizes) and (sizes.min() < 1 or int((starts + sizes).max()) > index.size):
            raise ValueError("minibatches of at least one sample, within the index")
        tables = self._plans.table_numbers(sizes)
        self._room = self._plans.largest_table_size(tables)
        self.set_integers("first_step", np.concatenate([[0], np.cumsum(counts)]))
        self.set_integers("step_table", tables)
        self.set_integers("step_start", starts)
        self.set_integers("index", index)

    def set_programs(self, call: LossCall) -> None:
        """Set the fields of programs by which a loss is computed; after the steps are set."""
        c = self.call
        c.programs = self._keep_alive(call.records)
        self._held.append(call.operations)
        self.set_integers("step_program", call.of_step)
        self.set_tensor("loss_constants", call.constants, call.constants.numel())
        self.set_tensor("loss_inputs", call.inputs, call.inputs.numel())
        c.loss_inputs_pitch = call.inputs.shape[1]
        c.loss_work = round_up(self._room, 16)
        self._room = c.loss_work + call.size

    def execute(self, loss: Loss) -> None:
        """Run the call."""
        c, plans, y = self.call, self._plans, self._data.y
        if plans.records is None or not c.num_jobs:
            if c.num_jobs and c.out:
                raise ValueError("jobs without a single step")
            return
        c.loss = loss
        outputs = plans.graph.export_width
        if loss in (Loss.CROSS_ENTROPY, Loss.MEAN_SQUARED):
            outputs = plans.graph.values[plans.graph.exports[-1]].size
            if y is None or len(y) != c.num_samples:
                raise ValueError("this loss needs labels or targets, one a sample")
            self._check_tensor(y)
        if loss is Loss.CROSS_ENTROPY:
            if y is None or y.dtype != torch.int64 or y.dim() != 1:
                raise ValueError("labels are int64, one a sample")
            c.labels = y.data_ptr()
        elif loss is Loss.MEAN_SQUARED:
            if y is None or y.dtype != self._dtype or y[0].numel() != outputs:
                raise ValueError(f"targets are {outputs} values a sample")
            c.targets = y.data_ptr()
        elif c.programs and y is not None:
            self._check_tensor(y)
            setattr(c, "labels" if y.dtype == torch.int64 else "targets", y.data_ptr())
        elif loss is Loss.GIVEN_GRADIENT and not (c.given or c.programs):
            raise ValueError("this loss needs gradients by the outputs")
        c.tables = self._keep_alive(np.frombuffer(plans.records, dtype=np.int64))
        c.offsets = plans.offsets.ctypes.data
        next_job, status = np.zeros(1, dtype=np.int64), np.zeros(c.num_jobs, dtype=np.int64)
        c.next, c.status = next_job.ctypes.data, status.ctypes.data
        self._workers.run(c, self._variant, self._dtype.itemsize, self._room)
        for job in np.flatnonzero(status)[:1].tolist():
            error = IndexError if status[job] == 1 else ValueError
            raise error(f"job {job}: {STATUS[int(status[job])]}")
