"""What the rest of the program calls: train, look at and differentiate many models at once.

Models, anchors and optimiser states are rows of 2-d tensors, one a row, of which a call names those
that its jobs read and write. Minibatches are tables of row numbers of one data set.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from netsim.backends.native.graph import Graph
from netsim.backends.native.library import Library, load
from netsim.backends.native.plan import Packing, Table, largest_minibatch
from netsim.backends.native.records import STATUS, Call, Loss, Mode
from netsim.backends.native.records import Table as TableRecord
from netsim.backends.native.trace import Entry, trace
from netsim.backends.native.workers import Workers
from netsim.learning.jobs import Optimizer

Numbers = NDArray[np.int64]


@dataclass(frozen=True)
class Data:
    """The samples of all nodes.

    Attributes
    ----------
    x : torch.Tensor
        (n, ...) contiguous, of the kernel's scalar type; int64 for an embedding.
    y : torch.Tensor or None
        (n,) int64 labels, or (n, L) targets of the mean squared error.
    """

    x: Tensor
    y: Tensor | None = None


@dataclass(frozen=True)
class Steps:
    """Minibatches of n jobs.

    Attributes
    ----------
    index : (n, S, B) int64
        Row numbers of samples; those behind the end of a smaller minibatch are not read.
    sizes : (n, S) int64
        Samples of each minibatch.
    counts : (n,) int64
        Steps that each job takes, at most S.
    """

    index: Numbers
    sizes: Numbers
    counts: Numbers


@dataclass(frozen=True)
class Rows:
    """Rows of a tensor.

    Attributes
    ----------
    storage : torch.Tensor
        (m, length or more), rows contiguous.
    at : (n,) int64, optional
        Which row belongs to each job; without, they are in order.
    """

    storage: Tensor
    at: Numbers | None = None


class _Plans:
    """A graph's tables for one direction: looking or learning."""

    def __init__(self, graph: Graph, lanes: int, learns: bool) -> None:
        self.graph, self.learns, self._lanes = graph, learns, lanes
        self.packing = Packing(graph, lanes)
        self._offsets: list[int] = []
        self._tables: list[Table] = []
        self._number: dict[int, int] = {}
        self.records: Any = None
        self.offsets: Numbers = np.zeros(1, dtype=np.int64)

    def numbers(self, sizes: Numbers) -> Numbers:
        """Which table serves minibatches of these sizes; makes those that are missing."""
        wanted, which = np.unique(sizes, return_inverse=True)
        for size in wanted.tolist():
            if size not in self._number:
                self._add(size)
        numbers = np.array([self._number[s] for s in wanted.tolist()], dtype=np.int64)
        return numbers[which.reshape(sizes.shape)]

    def _add(self, samples: int) -> None:
        table = Table(
            self.graph, self.packing, self._lanes, samples, self.learns, self._offsets
        )
        self._number[samples] = len(self._tables)
        self._tables.append(table)
        self.offsets = np.array(self._offsets or [0], dtype=np.int64)
        self.records = (TableRecord * len(self._tables))(
            *(
                TableRecord(t.ops.ctypes.data, len(t.ops), t.samples, t.id, t.num_values)
                for t in self._tables
            )
        )

    def room(self, numbers: Numbers) -> int:
        """Scalars of the largest of these tables."""
        return max((self._tables[k].num_values for k in np.unique(numbers).tolist()), default=0)


class Kernel:
    """The native form of one architecture.

    Parameters
    ----------
    module : torch.nn.Module
        Its layers; its own numbers are never used. Rows are laid out as by
        `netsim.learning.architecture.Architecture`.
    input_shape : tuple of int
        Of one sample.
    dtype : torch.dtype
        float32 or float64.
    entry : callable, optional
        What is run in place of the module's forward pass; see `trace`. With several results,
        outputs and their gradients hold them side by side.
    variant : str, optional
        An instruction set; without, the best one, or what NETSIM_NATIVE_VARIANT says.
    threads : int
        Cores that share a call. Bits do not depend on it.
    library : Library, optional
    workers : Workers, optional
        To share workspaces and threads with other kernels.

    Raises
    ------
    UnsupportedError
        If the module holds something that the kernel does not know.
    LibraryMissingError
        If there is no compiled kernel.
    ValueError
        If this machine can't run the variant.
    """

    def __init__(
        self,
        module: nn.Module,
        input_shape: tuple[int, ...],
        dtype: torch.dtype,
        entry: Entry | None = None,
        variant: str | None = None,
        threads: int = 1,
        library: Library | None = None,
        workers: Workers | None = None,
    ) -> None:
        library = library or load()
        self.variant = library.variant(variant)
        self.dtype, self._scalar_bytes = dtype, dtype.itemsize
        self._workers = workers or Workers(library, threads)
        lanes = self.variant.vector_bytes // self._scalar_bytes
        graphs = {t: trace(module, input_shape, t, entry) for t in (True, False)}
        self.graph = graphs[True]
        self._input_shape = input_shape
        self._plans = {
            (training, learns): _Plans(graphs[training], lanes, learns)
            for training in (True, False)
            for learns in (True, False)
        }

    @property
    def num_values(self) -> int:
        """Length of a row: parameters and buffers."""
        return self.graph.num_values

    @property
    def mask_shapes(self) -> tuple[tuple[tuple[int, ...], float], ...]:
        """Shape of a sample's mask and probability of each dropout, in the order of drawing."""
        return self.graph.masks

    def train(
        self,
        data: Data,
        models: Rows,
        out: Rows,
        steps: Steps,
        optimizer: Optimizer,
        learning_rate: NDArray[np.float64],
        *,
        loss: Loss = Loss.CROSS_ENTROPY,
        states: Rows | None = None,
        states_out: Rows | None = None,
        anchors: Rows | None = None,
        anchor_strength: float = 0.0,
        masks: Tensor | None = None,
        output_gradients: Tensor | None = None,
    ) -> NDArray[np.float64]:
        """Train n models, each by its own minibatches.

        Parameters
        ----------
        data : Data
        models, out : Rows
            Where jobs begin, and where they write what they learned; may be the same rows.
        steps : Steps
        optimizer : Optimizer
            Its learning rate is not used.
        learning_rate : (n,) float64
        loss : Loss
            `GIVEN_GRADIENT` needs `output_gradients`.
        states, states_out : Rows, optional
            Of the optimiser, `netsim.learning.optimizers.state_size` entries; without, jobs start
            afresh, and nobody wants them after.
        anchors : Rows, optional
            Parameters towards which models are drawn.
        anchor_strength : float
        masks : torch.Tensor, optional
            (n, S, B x mask values), needed with dropout: of each step the masks of the first
            dropout (size, *shape), then those of the second, without gaps; 0 or 1 / (1 - p).
        output_gradients : torch.Tensor, optional
            (n, S, B, L) of the loss by the outputs.

        Returns
        -------
        (n,) float64
            Sums of the parameters: not finite if one of them is not.

        Raises
        ------
        IndexError
            If the number of a sample is not one of the data set's.
        ValueError
            If a label is not a class, or shapes do not fit.
        """
        n, S, B = steps.index.shape
        plans = self._plans[True, True]
        run = _Run(self, plans, data, n)
        run.models("rows", models, self.num_values, "source")
        run.models("out", out, self.num_values, "target")
        length = self.graph.num_parameters
        state_length = length if optimizer.kind == "sgd" else 1 + 2 * length
        run.models("states", states, state_length, "state")
        run.models("states_out", states_out, state_length, "state_target")
        run.models("anchors", anchors, length, "anchor")
        counts = np.minimum(steps.counts, S)
        taken = np.arange(S) < counts[:, None]
        starts = np.arange(n * S, dtype=np.int64).reshape(n, S) * B
        run.steps(counts, steps.sizes[taken], starts[taken], steps.index)
        if self.graph.masks:
            if masks is None:
                raise ValueError("dropout needs masks")
            per = self.graph.mask_values * B
            run.tensor("masks", masks, n * S * per)
            run.numbers("step_masks", (np.arange(n * S).reshape(n, S) * per)[taken])
        if output_gradients is not None:
            run.tensor("given", output_gradients, n * S * B * self.graph.export_width)
            run.numbers("step_export", starts[taken])
        run.reals("learning_rate", learning_rate)
        c = run.call
        c.mode, c.loss, c.updates_buffers = Mode.TRAIN, loss, 1
        c.optimizer = ("sgd", "adam").index(optimizer.kind)
        c.momentum, c.weight_decay = optimizer.momentum, optimizer.weight_decay
        c.beta1, c.beta2 = optimizer.beta1, optimizer.beta2
        c.clip_norm, c.anchor_strength = optimizer.clip_norm or 0.0, anchor_strength
        sums = np.zeros(n)
        run.reals("sums", sums)
        run.go(loss)
        return sums

    def outputs(
        self,
        data: Data,
        models: Rows,
        index: Numbers,
        sizes: Numbers | None = None,
        *,
        training: bool = False,
        masks: Tensor | None = None,
    ) -> Tensor:
        """Outputs of n models.

        Parameters
        ----------
        data : Data
        models : Rows
        index : (n, B) or (1, B) int64
            Samples of each model, or of all of them.
        sizes : (n,) int64, optional
            How many of them each looks at; without, all.
        training : bool
            As in a step of training: one minibatch, its own statistics, masks; running statistics
            stay as they are.
        masks : torch.Tensor, optional
            (n, B x mask values), as in `train`.

        Returns
        -------
        torch.Tensor
            (n, B, L); zeros behind a smaller number of samples.
        """
        run, n = self._look(data, models, index, sizes, training, False, masks)
        found = torch.zeros((n, index.shape[1], self.graph.export_width), dtype=self.dtype)
        run.tensor("exports", found, found.numel())
        run.call.mode, run.call.loss = Mode.LOOK, Loss.NONE
        run.go(Loss.NONE)
        return found

    def losses(
        self,
        data: Data,
        models: Rows,
        index: Numbers,
        sizes: Numbers | None = None,
        *,
        loss: Loss = Loss.CROSS_ENTROPY,
    ) -> NDArray[np.float64]:
        """Mean losses (n,) of n models in evaluation mode; arguments as of `outputs`."""
        run, n = self._look(data, models, index, sizes, False, False, None)
        found = np.zeros(n)
        run.reals("losses", found)
        run.call.mode = Mode.LOOK
        run.go(loss)
        return found

    def gradients(
        self,
        data: Data,
        models: Rows,
        out: Rows,
        index: Numbers,
        sizes: Numbers | None = None,
        *,
        loss: Loss = Loss.CROSS_ENTROPY,
        training: bool = False,
        masks: Tensor | None = None,
        output_gradients: Tensor | None = None,
    ) -> None:
        """Write gradients of the mean loss over each model's samples; zero by its buffers.

        Parameters
        ----------
        data, models, index, sizes, training, masks
            As of `outputs`.
        out : Rows
            Whose rows become the gradients.
        loss : Loss
        output_gradients : torch.Tensor, optional
            (n, B, L), with `Loss.GIVEN_GRADIENT`: of any loss by the outputs.
        """
        run, n = self._look(data, models, index, sizes, training, True, masks)
        run.models("out", out, self.num_values, "target")
        if output_gradients is not None:
            run.tensor("given", output_gradients, n * index.shape[1] * self.graph.export_width)
        run.call.mode = Mode.GRADIENT
        run.go(loss)

    def _look(
        self,
        data: Data,
        models: Rows,
        index: Numbers,
        sizes: Numbers | None,
        training: bool,
        learns: bool,
        masks: Tensor | None,
    ) -> tuple[_Run, int]:
        """A call whose jobs go through their samples, in parts unless these depend on each other."""
        n = len(models.storage) if models.at is None else len(models.at)
        if index.ndim != 2 or len(index) not in (1, n):
            raise ValueError(f"index of shape {index.shape} for {n} models")
        B = index.shape[1]
        sizes = np.full(n, B, dtype=np.int64) if sizes is None else sizes
        if len(sizes) != n or (n and int(sizes.max()) > B):
            raise ValueError("as many sizes as models, none of them larger than the index")
        plans = self._plans[training, learns]
        run = _Run(self, plans, data, n)
        run.models("rows", models, self.num_values, "source")
        most = B if training else largest_minibatch(plans.graph, B)
        counts = -(-sizes // max(most, 1))
        whole = np.repeat(np.arange(n), counts)
        position = np.arange(len(whole)) - np.repeat(np.cumsum(counts) - counts, counts)
        parts = np.minimum(sizes[whole] - position * most, most)
        of = whole if len(index) == n else np.zeros_like(whole)
        run.steps(counts, parts, of * B + position * most, index)
        run.numbers("step_export", whole * B + position * most)
        if plans.graph.masks:
            if masks is None:
                raise ValueError("dropout needs masks")
            per = plans.graph.mask_values * B
            run.tensor("masks", masks, n * per)
            run.numbers("step_masks", whole * per)
        return run, n


class _Run:
    """One call in the making; holds what it points to."""

    def __init__(self, kernel: Kernel, plans: _Plans, data: Data, jobs: int) -> None:
        self._kernel, self._plans, self._held = kernel, plans, []  # type: ignore[var-annotated]
        self.call = c = Call()
        packing, graph = plans.packing, plans.graph
        c.segments, c.num_segments = packing.segments.ctypes.data, len(packing.segments)
        c.num_packed, c.num_packed_parameters = packing.num_values, packing.num_parameters
        c.num_values, c.num_parameters = graph.num_values, graph.num_parameters
        c.num_jobs, c.num_samples = jobs, len(data.x)
        c.export_width = graph.export_width
        self._data = data
        x = data.x
        if x.dtype not in (kernel.dtype, torch.int64) or tuple(x.shape[1:]) != kernel._input_shape:
            raise ValueError(f"samples of shape {tuple(x.shape[1:])} and type {x.dtype}")
        self._check(x)
        c.x = x.data_ptr()
        self._room = 0

    def _check(self, tensor: Tensor) -> None:
        if tensor.device.type != "cpu" or not tensor.is_contiguous():
            raise ValueError("tensors must be contiguous and on the CPU")

    def _hold(self, array: NDArray[Any]) -> int:
        self._held.append(array)
        return int(array.ctypes.data)

    def numbers(self, name: str, values: NDArray[Any]) -> None:
        """A field that points to integers."""
        setattr(self.call, name, self._hold(np.ascontiguousarray(values, dtype=np.int64)))

    def reals(self, name: str, values: NDArray[np.float64]) -> None:
        """A field that points to one double a job; it may be written to."""
        if values.dtype != np.float64 or values.shape != (self.call.num_jobs,):
            raise ValueError(f"{name}: one float64 a job")
        setattr(self.call, name, self._hold(np.ascontiguousarray(values)))

    def tensor(self, name: str, values: Tensor, length: int) -> None:
        """A field that points to scalars."""
        self._check(values)
        if values.dtype != self._kernel.dtype or values.numel() != length:
            raise ValueError(f"{name}: {length} values of type {self._kernel.dtype}")
        self._held.append(values)
        setattr(self.call, name, values.data_ptr())

    def models(self, name: str, rows: Rows | None, length: int, at: str) -> None:
        """Fields that name rows of a tensor, of at least `length` values each."""
        if rows is None:
            return
        storage, n = rows.storage, self.call.num_jobs
        if storage.dtype != self._kernel.dtype or storage.device.type != "cpu":
            raise ValueError(f"{name}: {self._kernel.dtype} on the CPU")
        if storage.dim() != 2 or storage.shape[1] < length or storage.stride(1) != 1:
            raise ValueError(f"{name}: rows of at least {length} values")
        where = np.arange(n) if rows.at is None else rows.at
        if len(where) != n or (n and not 0 <= where.min() <= where.max() < len(storage)):
            raise ValueError(f"{name}: a row of the tensor for each of {n} jobs")
        self._held.append(storage)
        setattr(self.call, name, storage.data_ptr())
        setattr(self.call, f"{name}_pitch", storage.stride(0))
        self.numbers(at, where)

    def steps(self, counts: Numbers, sizes: Numbers, starts: Numbers, index: Numbers) -> None:
        """Which steps belong to which job, their sizes, where their samples' numbers begin."""
        if len(sizes) and (sizes.min() < 1 or int((starts + sizes).max()) > index.size):
            raise ValueError("minibatches of at least one sample, within the index")
        tables = self._plans.numbers(sizes)
        self._room = self._plans.room(tables)
        self.numbers("first_step", np.concatenate([[0], np.cumsum(counts)]))
        self.numbers("step_table", tables)
        self.numbers("step_start", starts)
        self.numbers("index", index)

    def go(self, loss: Loss) -> None:
        """Run it."""
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
            self._check(y)
        if loss is Loss.CROSS_ENTROPY:
            if y is None or y.dtype != torch.int64 or y.dim() != 1:
                raise ValueError("labels are int64, one a sample")
            c.labels = y.data_ptr()
        elif loss is Loss.MEAN_SQUARED:
            if y is None or y.dtype != self._kernel.dtype or y[0].numel() != outputs:
                raise ValueError(f"targets are {outputs} values a sample")
            c.targets = y.data_ptr()
        elif loss is Loss.GIVEN_GRADIENT and not c.given:
            raise ValueError("this loss needs gradients by the outputs")
        c.tables = self._hold(np.frombuffer(plans.records, dtype=np.int64))
        c.offsets = plans.offsets.ctypes.data
        next_job, status = np.zeros(1, dtype=np.int64), np.zeros(c.num_jobs, dtype=np.int64)
        c.next, c.status = next_job.ctypes.data, status.ctypes.data
        kernel = self._kernel
        kernel._workers.run(c, kernel.variant, kernel._scalar_bytes, self._room)
        for job in np.flatnonzero(status)[:1].tolist():
            error = IndexError if status[job] == 1 else ValueError
            raise error(f"job {job}: {STATUS[int(status[job])]}")


