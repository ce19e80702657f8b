"""Local training by the native kernel: on samples as they are, or as a loss changes them."""

from __future__ import annotations

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
from netsim.backends.native.portions import Portions
from netsim.backends.parameter_store import ParameterStore, Slab, padded
from netsim.backends.stacked import mixing
from netsim.backends.stacked.loss_training import LossSteps
from netsim.backends.stacked.training import StateAfter
from netsim.learning import optimizers
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
    kernel : Kernel
        Of the architecture.
    shards : Shards
        The samples of all nodes.
    store : ParameterStore
        Where models and states lie: trained models are written there by the kernel.
    divergences : Divergences
        To be told of every training.
    portions : Portions
        What the kernel needs beside rows of the data set.
    """

    def __init__(
        self,
        kernel: Kernel,
        shards: Shards,
        store: ParameterStore,
        divergences: Divergences,
        portions: Portions,
    ) -> None:
        self._kernel, self._shards, self._store = kernel, shards, store
        self._divergences, self._portions = divergences, portions
        self._data, self._loss = Data(shards.x, shards.y), loss_of(shards.task)
        self._starts: Tensor | None = None

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
            states = stored(store, jobs, -1)
            with_states = True
        if first.anchor_strength is not None:
            anchors = self._anchors(jobs, -2 if first.has_state else -1)
        # Before results are given rows: values that are computed on the way take rows, too.
        sums_of_rows = None if self._portions.are_needed else self._sums(jobs)
        models = sums_of_rows or Rows(self._gathered(jobs, width))
        counts = np.array([work.batches.steps for work in works], dtype=np.int64)
        index, sizes = self._shards.minibatches.table(
            [work.batches for work in works], int(counts.max())
        )
        out = Results(store.slab(self._kernel.num_values), [job.outputs[0] for job in jobs])
        kept = [job.outputs[-1] for job in jobs]
        after = None
        if with_states and any(cell is not None for cell in kept):
            size = optimizers.state_size(first.optimizer.kind, self._kernel.graph.num_parameters)
            after = Results(store.slab(size), kept)
        steps, rates = Steps(index, sizes, counts), np.array([work.rate for work in works])
        how = _How(first.optimizer, rates, anchors, first.anchor_strength or 0.0)
        states_out = None if after is None else after.rows
        if self._portions.are_needed:
            sums = self._in_portions(jobs, steps, how, models.storage, states, states_out)
            out.write(models.storage)
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
        terms = mixing.terms(self._store, mixtures)
        first = np.concatenate([[0], np.cumsum(terms.counts)])
        return Sums(terms.slab.storage, np.array(terms.rows), terms.weights, first)

    def _in_portions(
        self,
        jobs: Sequence[Job[LossSteps]],
        steps: Steps,
        how: _How,
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
        sums, everyone = np.zeros(n), np.arange(n)
        size = optimizers.state_size(c.kind, kernel.graph.num_parameters)
        between = Rows(torch.empty((n, padded(size)), dtype=models.dtype), everyone)
        if states_out is not None:
            between = states_out
        for portion in self._portions.of(jobs, steps):
            active, after = portion.active, some_rows(between, portion.active)
            sums[active] = kernel.train(
                portion.data,
                Rows(models, active),
                Rows(models, active),
                portion.steps,
                c,
                how.rates[active],
                loss=self._loss,
                states=None if states is None else some_rows(states, active),
                states_out=after,
                anchors=None if how.anchors is None else some_rows(how.anchors, active),
                anchor_strength=how.anchor_strength,
                masks=portion.masks,
            )
            states = between
        return sums

    def _gathered(self, jobs: Sequence[Job[LossSteps]], width: int) -> Tensor:
        """Return the starts of jobs, rows (n, padded D); postponed mixtures are computed there."""
        columns = padded(self._kernel.num_values)
        if self._starts is None or len(self._starts) < len(jobs):
            self._starts = None  # its memory is free before new memory is asked for
            at_hand = STARTS_AT_HAND_BYTES // (columns * self._store.dtype.itemsize)
            shape = max(min(width, at_hand), len(jobs)), columns
            self._starts = allocate(shape, self._store.device, self._store.dtype)
        rows = self._starts[: len(jobs)]
        mixing.gather(self._store, [job.inputs[0] for job in jobs], rows)
        return rows

    def _anchors(self, jobs: Sequence[Job[Any]], position: int) -> Rows:
        """Parameters towards which models are drawn: whole models, or their parameters."""
        refs = [job.inputs[position] for job in jobs]
        if all(ref.ranges is None for ref in refs):
            return stored(self._store, jobs, position)
        shape = len(refs), padded(refs[0].num_values)
        rows = torch.empty(shape, device=self._store.device, dtype=self._store.dtype)
        self._store.gather(refs, rows)
        return Rows(rows)


class _How(NamedTuple):
    """Options that the jobs of a call share, and their rates."""

    optimizer: Optimizer
    rates: NDArray[np.float64]
    anchors: Rows | None
    anchor_strength: float


def some_rows(rows: Rows, which: Numbers) -> Rows:
    """Rows of some jobs."""
    return Rows(rows.storage, which if rows.at is None else rows.at[which])


def stored(store: ParameterStore, jobs: Sequence[Job[Any]], position: int) -> Rows:
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

    def write(self, rows: Tensor) -> None:
        """Copy what was written elsewhere."""
        self._slab.storage.numpy()[self._numbers] = rows.numpy()

    def hand_over(self) -> None:
        """Give the rows to their cells; those of results that nobody holds are free again."""
        for cell, number in zip(self._cells, self._numbers, strict=True):
            if cell is None:
                self._slab.release(number)
            else:
                cell.store_in(self._slab, number)
