"""Local training by the native kernel, by the task's loss or one of a method's own."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from netsim.backends.memory_pool import allocate
from netsim.backends.native.data import Data, Numbers, Rows, Steps, Sums
from netsim.backends.native.kernel import Kernel
from netsim.backends.native.losses import loss_of
from netsim.backends.native.own_loss import OwnLoss
from netsim.backends.native.portions import Portions
from netsim.backends.native.records import Loss
from netsim.backends.native.row_sums import sums_of
from netsim.backends.parameter_store import ParameterStore, Slab, padded_length
from netsim.backends.stacked import mixing
from netsim.backends.stacked.loss_training import LossSteps
from netsim.backends.stacked.resources import LONG_VALUE
from netsim.backends.stacked.training import StateAfter
from netsim.learning import optimizers
from netsim.learning.architecture import Architecture
from netsim.learning.divergence import Divergences
from netsim.learning.jobs import Job, Optimizer
from netsim.learning.refs import Cell
from netsim.learning.shards import Shards

STARTS_AT_HAND_BYTES = 1 << 30
"""Memory for models that jobs start from, which is asked for at once; more where jobs need more."""


class NativeTraining:
    """Trainer of jobs of one architecture, each node whole by one core.

    Parameters
    ----------
    architecture : Architecture
    kernel : Kernel
        Of the architecture; of the loss, where there is one.
    shards : Shards
        The samples of all nodes.
    store : ParameterStore
        Where models and states lie: trained models are written there by the kernel.
    divergences : Divergences
        To be told of every training.
    portions : Portions
        What the kernel needs beside rows of the data set.
    own : OwnLoss or None
        A loss of a method's own; None: the task's.
    """

    def __init__(
        self,
        architecture: Architecture,
        kernel: Kernel,
        shards: Shards,
        store: ParameterStore,
        divergences: Divergences,
        portions: Portions,
        own: OwnLoss | None = None,
    ) -> None:
        self._architecture, self._kernel, self._own = architecture, kernel, own
        self._shards, self._store = shards, store
        self._divergences, self._portions = divergences, portions
        self._loss = loss_of(shards.task) if own is None else Loss.GIVEN_GRADIENT
        self._data = Data(shards.x, shards.y)
        self._num_learned = 0 if own is None else own.num_learned
        self._starts: Tensor | None = None
        self._given: Tensor | None = None

    def run(
        self,
        jobs: Sequence[Job[LossSteps]],
        plan_key: tuple[object, ...],
        width: int,
        with_states: bool = False,
    ) -> None:
        """Train the models of some jobs and fill their cells.

        The state of an optimiser that started anew is left to a recipe unless `with_states`, as in
        `netsim.backends.stacked.training.Training.run`.

        Parameters
        ----------
        jobs : sequence of Job
            At most `width`, of one signature.
        plan_key : tuple
            Their signature.
        width : int
            Most jobs of a call.
        with_states : bool
            Whether to store the states of optimisers that started anew.
        """
        works = [job.work for job in jobs]
        first, store = works[0], self._store
        states = anchors = None
        if first.has_state:
            states = stored_rows(store, jobs, -1)
            with_states = True
        if first.anchor_strength is not None:
            anchors = self._anchors(jobs, -2 if first.has_state else -1)
        in_portions = self._own is not None or self._portions.are_needed
        # Before results are given rows: values that are computed on the way take rows, too.
        sums_of_rows = None if in_portions else self._sums(jobs)
        models = sums_of_rows or Rows(self._gather_starts(jobs, width))
        counts = np.array([work.batches.steps for work in works], dtype=np.int64)
        index, sizes = self._shards.minibatches.table(
            [work.batches for work in works], int(counts.max())
        )
        out = Results(store.slab(self._architecture.num_values), [job.outputs[0] for job in jobs])
        kept = [job.outputs[-1] for job in jobs]
        after = None
        if with_states and any(cell is not None for cell in kept):
            size = optimizers.state_size(first.optimizer.kind, self._kernel.graph.num_parameters)
            after = Results(store.slab(size), kept)
        steps, rates = Steps(index, sizes, counts), np.array([work.rate for work in works])
        how = _CallOptions(first.optimizer, rates, anchors, first.anchor_strength or 0.0)
        states_out = None if after is None else after.rows
        if in_portions:
            sums = self._in_portions(jobs, steps, how, models.storage, states, states_out)
            sums = self._write(jobs, models.storage, out, sums)
        else:
            sums = self._kernel.train(
                self._data,
                models,
                out.rows,
                steps,
                how.optimizer,
                rates,
                loss=self._loss,
                states=states,
                states_out=states_out,
                anchors=anchors,
                anchor_strength=how.anchor_strength,
            )
        self._divergences.note(jobs, torch.from_numpy(sums))
        out.hand_over()
        if after is not None:
            after.hand_over()
        elif not with_states:
            for job, cell in zip(jobs, kept, strict=True):
                if cell is not None:
                    cell.defer(StateAfter(self, job, plan_key, width))

    def _sums(self, jobs: Sequence[Job[LossSteps]]) -> Sums | None:
        """Return the mixtures from which jobs start, if all of them were left for later."""
        recipes = [job.inputs[0].cell.recipe for job in jobs]
        mixtures = [recipe for recipe in recipes if isinstance(recipe, mixing.Mixture)]
        if len(mixtures) < len(jobs):
            return None
        return sums_of(mixing.terms(self._store, mixtures))

    def _in_portions(
        self,
        jobs: Sequence[Job[LossSteps]],
        steps: Steps,
        how: _CallOptions,
        models: Tensor,
        states: Rows | None,
        states_out: Rows | None,
    ) -> NDArray[np.float64]:
        """Train models in place; gives the sums of their parameters.

        Parameters
        ----------
        jobs : sequence of Job
            n of them.
        steps : Steps
        how : _How
        models : torch.Tensor
            (n, padded D)
        states, states_out : Rows or None
            Of the optimiser, before and after; None: fresh ones, and nobody wants them.
        """
        kernel, n, c = self._kernel, len(jobs), how.optimizer
        sums, inputs = np.zeros(n), self._inputs(jobs)
        between = states_out
        for portion in self._portions.split(jobs, steps):
            active, given, taken = portion.active, portion.minibatches, None
            if between is None and not portion.is_last:
                size = padded_length(optimizers.state_size(c.kind, kernel.graph.num_parameters))
                rows = allocate((n, size), self._store.device, self._store.dtype)
                between = Rows(rows, np.arange(n))
            if self._own is not None:
                taken = self._own.call(
                    given,
                    np.arange(given.index.shape[1]) < given.counts[:, None],
                    inputs if len(active) == n else inputs[torch.from_numpy(active)],
                )
            sums[active] = kernel.train(
                portion.data,
                Rows(models, active),
                Rows(models, active),
                portion.steps,
                c,
                how.rates[active],
                loss=self._loss,
                states=None if states is None else some_rows(states, active),
                states_out=None if between is None else some_rows(between, active),
                anchors=None if how.anchors is None else some_rows(how.anchors, active),
                anchor_strength=how.anchor_strength,
                masks=portion.masks,
                moves=portion.moves,
                own_loss=taken,
            )
            states = between
        return sums

    def _inputs(self, jobs: Sequence[Job[LossSteps]]) -> Tensor:
        """Return what the loss of each job is given, (n, ...); at least one number."""
        count = jobs[0].work.num_given
        if self._own is None or not count:
            return torch.zeros((len(jobs), 1), dtype=self._store.dtype)
        length = sum(math.prod(ref.shape) for ref in jobs[0].inputs[1 : 1 + count])
        if self._given is None or len(self._given) < len(jobs):
            self._given = torch.empty((len(jobs), length), dtype=self._store.dtype)
        rows = self._given[: len(jobs)]
        for row, job in zip(rows, jobs, strict=True):
            start = 0
            for ref in job.inputs[1 : 1 + count]:
                value = ref.tensor().reshape(-1)
                row[start : start + len(value)] = value
                start += len(value)
        return rows

    def _gather_starts(self, jobs: Sequence[Job[LossSteps]], width: int) -> Tensor:
        """Return the starts of jobs, rows (n, padded D); postponed mixtures are computed there.

        What is learned beside a model lies between its parameters and its buffers.
        """
        device, dtype = self._store.device, self._store.dtype
        columns, refs = padded_length(self._kernel.num_values), [job.inputs[0] for job in jobs]
        if self._starts is None or len(self._starts) < len(jobs):
            self._starts = None  # its memory is free before new memory is asked for
            at_hand = STARTS_AT_HAND_BYTES // (columns * dtype.itemsize)
            shape = max(min(width, at_hand), len(jobs)), columns
            self._starts = allocate(shape, device, dtype)
        rows = self._starts[: len(jobs)]
        if not self._num_learned:
            mixing.gather(self._store, refs, rows)
            return rows
        models = allocate((len(jobs), padded_length(self._architecture.num_values)), device, dtype)
        mixing.gather(self._store, refs, models)
        for from_, to in self._column_pairs():
            rows[:, to] = models[:, from_]
        at = self._architecture.num_parameters
        start = 1 + jobs[0].work.num_given
        for row, job in zip(rows, jobs, strict=True):
            values = job.inputs[start : start + len(job.work.learn)]
            row[at : at + self._num_learned] = torch.cat([v.tensor().reshape(-1) for v in values])
        return rows

    def _column_pairs(self) -> list[tuple[slice, slice]]:
        """Columns of a model, and where the kernel's rows have them: parameters, then buffers."""
        at, end = self._architecture.num_parameters, self._architecture.num_values
        behind = at + self._num_learned
        return [(slice(at), slice(at)), (slice(at, end), slice(behind, behind + end - at))]

    def _write(
        self,
        jobs: Sequence[Job[LossSteps]],
        rows: Tensor,
        out: Results,
        sums: NDArray[np.float64],
    ) -> NDArray[np.float64]:
        """Store trained models, and give cells what was learned beside them.

        Parameters
        ----------
        jobs : sequence of Job
            n of them.
        rows : torch.Tensor
            (n, padded D) as the kernel leaves them.
        out : Results
            Of the models.
        sums : (n,) float64
            Of all that was trained.

        Returns
        -------
        (n,) float64
            Sums of the models' parameters.
        """
        if not self._num_learned:
            out.write(rows, [(slice(None), slice(None))])
            return sums
        out.write(rows, [(to, from_) for from_, to in self._column_pairs()])
        at = self._architecture.num_parameters
        for row, job in zip(rows, jobs, strict=True):
            start = at
            for k in range(len(job.work.learn)):
                cell, shape = job.outputs[1 + k], job.shapes[1 + k]
                stop = start + math.prod(shape)
                if cell is not None:
                    cell.fill(row[start:stop].view(shape).clone())
                    if len(shape) == 1 and shape[0] >= LONG_VALUE:
                        self._store.adopt(cell)
                start = stop
        found: NDArray[np.float64] = rows[:, :at].sum(1).double().numpy()
        return found

    def _anchors(self, jobs: Sequence[Job[Any]], position: int) -> Rows:
        """Parameters towards which models are drawn: whole models, or their parameters."""
        refs = [job.inputs[position] for job in jobs]
        if all(ref.ranges is None for ref in refs):
            return stored_rows(self._store, jobs, position)
        shape = len(refs), padded_length(refs[0].num_values)
        rows = torch.empty(shape, device=self._store.device, dtype=self._store.dtype)
        self._store.gather(refs, rows)
        return Rows(rows)


class _CallOptions(NamedTuple):
    """Options that the jobs of a call share, and their rates."""

    optimizer: Optimizer
    rates: NDArray[np.float64]
    anchors: Rows | None
    anchor_strength: float


def some_rows(rows: Rows, which: Numbers) -> Rows:
    """Rows of some jobs."""
    return Rows(rows.storage, which if rows.at is None else rows.at[which])


def stored_rows(store: ParameterStore, jobs: Sequence[Job[Any]], position: int) -> Rows:
    """One input of each job where it lies in the store.

    Parameters
    ----------
    store : ParameterStore
    jobs : sequence of Job
    position : int
        Of the input.
    """
    slab, numbers = store.rows_of([job.inputs[position] for job in jobs])
    return Rows(slab.storage, np.array(numbers, dtype=np.int64))


class Results:
    """Rows that the kernel writes to, of which those that somebody holds are handed over.

    Parameters
    ----------
    slab : Slab
    cells : sequence of Cell or None
        None for a result that nobody holds any more; it is computed all the same.
    """

    def __init__(self, slab: Slab, cells: Sequence[Cell | None]) -> None:
        self._slab, self._cells = slab, cells
        self._numbers = slab.take(len(cells))

    @property
    def rows(self) -> Rows:
        """Rows for the kernel to write to; ask for them when nothing more is taken of the slab."""
        return Rows(self._slab.storage, np.array(self._numbers, dtype=np.int64))

    def write(self, rows: Tensor, columns: Sequence[tuple[slice, slice]]) -> None:
        """Copy what was written elsewhere.

        Parameters
        ----------
        rows : torch.Tensor
            (n, padded length)
        columns : sequence of (slice, slice)
            Where they belong; those not named are zero.
        """
        storage, found, most = self._slab.storage.numpy(), rows.numpy(), 0
        for from_, to in columns:
            most = max(most, to.stop or 0)
            storage[self._numbers, to] = found[:, from_]
        if most:
            storage[self._numbers, most:] = 0.0

    def hand_over(self) -> None:
        """Give the rows to their cells; those of results that nobody holds are free again."""
        for cell, number in zip(self._cells, self._numbers, strict=True):
            if cell is None:
                self._slab.release(number)
            else:
                cell.store_in(self._slab, number)
