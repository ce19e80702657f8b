"""Local training by a loss of a method's own, by the native kernel."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from netsim.backends.memory_pool import allocate
from netsim.backends.native.data import Rows, Steps
from netsim.backends.native.own_loss import OwnLoss
from netsim.backends.native.portions import Portions
from netsim.backends.native.records import Loss
from netsim.backends.native.training import Results, some_rows, stored
from netsim.backends.parameter_store import ParameterStore, padded
from netsim.backends.stacked import mixing
from netsim.backends.stacked.loss_training import LossSteps
from netsim.backends.stacked.resources import LONG_VALUE
from netsim.backends.stacked.training import StateAfter
from netsim.learning import optimizers
from netsim.learning.architecture import Architecture
from netsim.learning.divergence import Divergences
from netsim.learning.jobs import Job
from netsim.learning.shards import Shards


class OwnLossTraining:
    """Trainer of jobs by one loss, for models of one architecture; each node whole by one core.

    Parameters
    ----------
    architecture : Architecture
    loss : OwnLoss
    shards : Shards
        The samples of all nodes.
    store : ParameterStore
        Where models and states lie.
    divergences : Divergences
        To be told of every training.
    portions : Portions
        What the kernel needs beside rows of the data set.
    """

    def __init__(
        self,
        architecture: Architecture,
        loss: OwnLoss,
        shards: Shards,
        store: ParameterStore,
        divergences: Divergences,
        portions: Portions,
    ) -> None:
        self._architecture, self._loss = architecture, loss
        self._shards, self._store = shards, store
        self._divergences, self._portions = divergences, portions
        self._models: Tensor | None = None

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
        works, kernel, store = [job.work for job in jobs], self._loss.kernel, self._store
        first, n, everyone = works[0], len(jobs), np.arange(len(jobs))
        parameters = self._architecture.num_parameters
        states = anchors = None
        if first.has_state:
            states = stored(store, jobs, -1)
            with_states = True
        if first.anchor_strength is not None:
            anchors = self._anchors(jobs, -2 if first.has_state else -1)
        models, inputs = self._starts(jobs), self._inputs(jobs)
        counts = np.array([work.batches.steps for work in works], dtype=np.int64)
        index, sizes = self._shards.minibatches.table(
            [work.batches for work in works], int(counts.max())
        )
        rates = np.array([work.rate for work in works])
        size = optimizers.state_size(first.optimizer.kind, kernel.graph.num_parameters)
        kept = [job.outputs[-1] for job in jobs]
        after = None
        if with_states and any(cell is not None for cell in kept):
            after = Results(store.slab(size), kept)
        between = Rows(torch.empty((n, padded(size)), dtype=models.dtype), everyone)
        if after is not None:
            between = after.rows
        for portion in self._portions.of(jobs, Steps(index, sizes, counts)):
            active, steps = portion.active, portion.minibatches
            taken = np.arange(steps.index.shape[1]) < steps.counts[:, None]
            kernel.train(
                portion.data,
                Rows(models, active),
                Rows(models, active),
                portion.steps,
                first.optimizer,
                rates[active],
                loss=Loss.GIVEN_GRADIENT,
                states=None if states is None else some_rows(states, active),
                states_out=some_rows(between, active),
                anchors=None if anchors is None else some_rows(anchors, active),
                anchor_strength=first.anchor_strength or 0.0,
                masks=portion.masks,
                own_loss=self._loss.call(steps, taken, inputs[torch.from_numpy(active)]),
            )
            states = between
        self._divergences.note(jobs, models[:, :parameters].sum(1))
        self._hand_over(jobs, models)
        if after is not None:
            after.hand_over()
        elif not with_states:
            for job, cell in zip(jobs, kept, strict=True):
                if cell is not None:
                    cell.defer(StateAfter(self, job, plan_key, width))

    def _starts(self, jobs: Sequence[Job[LossSteps]]) -> Tensor:
        """Rows (n, padded length) of parameters, what is learned beside them, and buffers."""
        columns, n = padded(self._loss.kernel.num_values), len(jobs)
        if self._models is None or len(self._models) < n:
            self._models = None  # its memory is free before new memory is asked for
            self._models = allocate((n, columns), self._store.device, self._store.dtype)
        models = self._models[:n]
        learned = self._loss.num_learned
        if not learned:
            mixing.gather(self._store, [job.inputs[0] for job in jobs], models)
            return models
        whole, a = self._architecture.num_values, self._architecture
        rows = allocate((n, padded(whole)), self._store.device, self._store.dtype)
        mixing.gather(self._store, [job.inputs[0] for job in jobs], rows)
        behind = a.num_parameters + learned
        models[:, : a.num_parameters] = rows[:, : a.num_parameters]
        models[:, behind : behind + whole - a.num_parameters] = rows[:, a.num_parameters : whole]
        at = 1 + jobs[0].work.num_given
        for row, job in zip(models, jobs, strict=True):
            values = job.inputs[at : at + len(job.work.learn)]
            row[a.num_parameters : behind] = torch.cat([v.tensor().reshape(-1) for v in values])
        return models

    def _inputs(self, jobs: Sequence[Job[LossSteps]]) -> Tensor:
        """Return what the loss of each job is given, (n, ...); at least one number."""
        count = jobs[0].work.num_given
        if not count:
            return torch.zeros((len(jobs), 1), dtype=self._store.dtype)
        rows = [
            torch.cat([ref.tensor().reshape(-1) for ref in job.inputs[1 : 1 + count]])
            for job in jobs
        ]
        return torch.stack(rows)

    def _anchors(self, jobs: Sequence[Job[LossSteps]], position: int) -> Rows:
        """Parameters towards which models are drawn."""
        rows = [job.inputs[position].tensor()[: self._architecture.num_parameters] for job in jobs]
        return Rows(torch.stack(rows))

    def _hand_over(self, jobs: Sequence[Job[LossSteps]], models: Tensor) -> None:
        """Give models, and what was learned beside them, to their cells."""
        a, store, at = self._architecture, self._store, self._architecture.num_parameters
        behind = at + self._loss.num_learned
        out = Results(store.slab(a.num_values), [job.outputs[0] for job in jobs])
        rest = a.num_values - at
        whole = torch.cat([models[:, :at], models[:, behind : behind + rest]], dim=1)
        out.write(torch.nn.functional.pad(whole, (0, padded(a.num_values) - a.num_values)))
        out.hand_over()
        for row, job in zip(models, jobs, strict=True):
            start = at
            for k in range(len(job.work.learn)):
                cell, shape = job.outputs[1 + k], job.shapes[1 + k]
                stop = start + int(np.prod(shape))
                if cell is not None:
                    cell.fill(row[start:stop].view(shape).clone())
                    if len(shape) == 1 and shape[0] >= LONG_VALUE:
                        store.adopt(cell)
                start = stop
