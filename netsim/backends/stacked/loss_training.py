"""Training of any model by any loss, for many nodes at once through `torch.func`.

A loss is a function of one node's model and one node's minibatch; `vmap` runs it over lanes.
Minibatches of different sizes can't be padded, since only the loss knows what a sample contributes,
so in each step the lanes whose minibatches have the same size run together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor
from torch.func import grad, vmap

from netsim.backends.parameter_store import ParameterStore, padded_length
from netsim.backends.plain import default_loss
from netsim.backends.stacked.batch_invariant import BatchInvariant
from netsim.backends.stacked.functional import ModelFunction
from netsim.backends.stacked.lanes import LEAST_LANES
from netsim.backends.stacked.optimizer_step import GradientStep
from netsim.backends.stacked.workspace import LocalSteps
from netsim.learning import optimizers
from netsim.learning.architecture import Architecture
from netsim.learning.columns import number_of, put, take
from netsim.learning.divergence import Divergences
from netsim.learning.functional_call import call_with
from netsim.learning.functions import fill_slots, require_loss, uniforms_of
from netsim.learning.jobs import Job
from netsim.learning.minibatches import Rows
from netsim.learning.shards import Batch, Shards
from netsim.learning.transfer import to_device


class LossSteps(LocalSteps, Protocol):
    """Additional work of training by a loss of the algorithm's own."""

    @property
    def loss(self) -> Callable[..., Any] | None: ...

    @property
    def given(self) -> tuple[Any, ...]: ...

    @property
    def num_given(self) -> int: ...

    @property
    def learn(self) -> tuple[str, ...]: ...

    @property
    def part(self) -> str | None: ...


Around = Callable[[Sequence[LossSteps], Rows, int], AbstractContextManager[None]]
"""around(works, lanes, step): what holds while some lanes take a step."""


def _no_context(works: Sequence[LossSteps], lanes: Rows, step: int) -> AbstractContextManager[None]:
    return nullcontext()


class LossTraining:
    """Trainer of jobs whose loss is the algorithm's function, and of models without stacked form.

    Parameters
    ----------
    architecture : Architecture
    shards : Shards
        The samples of all nodes.
    store : ParameterStore
        Where models and states lie.
    divergences : Divergences
        To be told of every training.
    around : callable
        What holds while some lanes take a step; nothing in particular unless it is given.
    """

    def __init__(
        self,
        architecture: Architecture,
        shards: Shards,
        store: ParameterStore,
        divergences: Divergences,
        around: Around = _no_context,
    ) -> None:
        self._around = around
        self._architecture, self._shards, self._store = architecture, shards, store
        self._divergences = divergences

    def run(self, jobs: Sequence[Job[LossSteps]]) -> list[list[Tensor]]:
        """Results of jobs of one signature: of each the model, what was learned, and the state."""
        a, work = self._architecture, jobs[0].work
        works = [j.work for j in jobs]
        n, num_learned = len(jobs), len(work.learn)
        rows = self._stack_values([j.inputs[0] for j in jobs])
        given = [
            torch.stack([j.inputs[1 + k].tensor() for j in jobs]) for k in range(work.num_given)
        ]
        at = 1 + work.num_given
        shapes = [r.shape for r in jobs[0].inputs[at : at + num_learned]]
        learned = [
            torch.stack([j.inputs[at + k].tensor().reshape(-1) for j in jobs]).to(rows.dtype)
            for k in range(num_learned)
        ]
        inside = a.trained_columns(work.part)
        is_whole = inside == ((0, a.num_parameters),)
        # Parameters and what is learned beside them, in one row: one optimiser for all.
        together = torch.cat([take(rows, inside), *learned], dim=1)
        length = together.shape[1]
        memory = together.new_zeros((n, padded_length(length)))  # each lane at an aligned address
        trained = memory[:, :length]
        trained.copy_(together)
        buffers = rows[:, a.num_parameters :].clone()
        anchor = None
        if work.anchor_strength is not None:
            anchors = [j.inputs[-2 if work.has_state else -1].tensor() for j in jobs]
            anchor = torch.stack([a.trained_of(t, work.part) for t in anchors]).to(rows.dtype)
        size = optimizers.state_size(work.optimizer.kind, trained.shape[1])
        state = trained.new_zeros((n, size))
        if work.has_state:
            state = torch.stack([j.inputs[-1].tensor() for j in jobs])
        rates = torch.tensor([w.rate for w in works], dtype=rows.dtype)
        rates = rates.to(rows.device, non_blocking=True).unsqueeze(1)
        gradients = self._gradients(work, shapes)
        steps = np.array([w.batches.steps for w in works])
        index, sizes = self._shards.minibatches.table([w.batches for w in works], int(steps.max()))
        where = to_device(index, rows.device)
        for s, columns, lanes, at_lanes in self._groups(steps, sizes):
            batch = self._batch(works, lanes, s, where[at_lanes, s, :columns])
            part, part_state = memory[at_lanes][:, :length], state[at_lanes]
            values = [g[at_lanes] for g in given]
            with self._around(works, lanes, s):
                fixed = part if is_whole else rows[at_lanes]
                found, after = gradients(part, fixed, buffers[at_lanes], *batch, *values)
            update = GradientStep(
                work.optimizer,
                part,
                found,
                part_state,
                rates[at_lanes],
                None if anchor is None else anchor[at_lanes],
                work.anchor_strength or 0.0,
            )
            update.step()
            trained[at_lanes], state[at_lanes], buffers[at_lanes] = part, part_state, after
        size, parameters = number_of(inside), slice(0, a.num_parameters)
        whole = trained[:, :size]
        if not is_whole:
            whole = rows[:, parameters].clone()
            put(whole, inside, trained[:, :size])
        self._divergences.note(jobs, whole.sum(1), rows[:, parameters].sum(1))
        model = torch.cat([whole, buffers], dim=1)
        if work.part is not None:
            model = a.only_part(work.part, rows, model)
        sizes_beside = [int(np.prod(s)) for s in shapes]
        pieces = torch.split(trained[:, size:], sizes_beside, dim=1)
        return [
            [model[i], *(p[i].view(s) for p, s in zip(pieces, shapes, strict=True)), state[i]]
            for i in range(n)
        ]

    def _groups(self, steps: Rows, sizes: Rows) -> list[tuple[int, int, Rows, Tensor]]:
        """Return the portions that run in one call after another, copied to the device at once.

        Parameters
        ----------
        steps : (n,) int64
            Of each job.
        sizes : (n, S) int64
            Samples in each minibatch.

        Returns
        -------
        list of (step, size, (W,) int64, (W,) torch.Tensor)
            The lanes whose minibatches in a step are of one size, on the host and on the device.
        """
        groups = []
        for s in range(int(steps.max())):
            for size in np.unique(sizes[steps > s, s]).tolist():
                lanes = np.flatnonzero((steps > s) & (sizes[:, s] == size))
                lanes = np.pad(lanes, (0, max(0, LEAST_LANES - len(lanes))), mode="edge")
                groups.append((s, size, lanes))
        together = to_device(np.concatenate([lanes for _, _, lanes in groups]), self._store.device)
        on_device = torch.split(together, [len(lanes) for _, _, lanes in groups])
        return [(*group, there) for group, there in zip(groups, on_device, strict=True)]

    def _stack_values(self, refs: Sequence[Any]) -> Tensor:
        length = refs[0].num_values
        rows = torch.empty(
            (len(refs), padded_length(length)), device=self._store.device, dtype=self._store.dtype
        )
        self._store.gather(refs, rows)
        return rows[:, :length]

    def _batch(
        self, works: Sequence[LossSteps], lanes: Rows, step: int, where: Tensor
    ) -> tuple[Tensor, Tensor, Tensor | None]:
        """The minibatches of some lanes: inputs, targets, and draws if the loss asks for them.

        Parameters
        ----------
        works : sequence of LossSteps
        lanes : (W,) int64
            Which of them.
        step : int
        where : torch.Tensor
            (W, n) int64 row numbers of the samples.
        """
        shards, count = self._shards, uniforms_of(works[0].loss)
        uniforms = None
        if count:
            keys = [works[i].batches.key(step) for i in lanes]
            draws = np.stack([shards.draws(k, where.shape[1], count) for k in keys])
            uniforms = shards.as_real(torch.from_numpy(draws))
        return shards.x[where], shards.y[where], uniforms

    def _gradients(self, work: LossSteps, shapes: Sequence[tuple[int, ...]]) -> Callable[..., Any]:
        """A function that gives gradients and buffers after a forward pass, for many lanes.

        Parameters
        ----------
        work : LossSteps
        shapes : sequence of tuple of int
            Of the values that are learned beside the model.
        """
        a, loss_of = self._architecture, work.loss or default_loss
        scale, task = self._shards.scale, self._shards.task
        a.module.train(True)
        called = ModelFunction(a.module, loss_of)
        names, structure = work.learn, work.given
        # Batch normalisation counts batches in an integer buffer, which is not part of a row.
        counters = {
            f"model.{name}": buffer
            for name, buffer in a.module.named_buffers()
            if not buffer.is_floating_point()
        }

        spans = {f"model.{s.name}": s for s in a.slices}
        buffer_names = [n for n, s in spans.items() if s.start >= a.num_parameters]

        def loss(
            trained: dict[str, Tensor],
            buffers: dict[str, Tensor],
            x: Tensor,
            y: Tensor,
            uniforms: Any,
            *given: Tensor,
        ) -> tuple[Tensor, list[Tensor]]:
            learned = {name: trained[name] for name in names}
            tensors = {n: t for n, t in trained.items() if n in spans}
            # Copies: torch drops what batch normalisation writes to a running statistic that is a
            # view of a row.
            tensors |= {n: t.clone() for n, t in (buffers | counters).items()}
            batch = Batch(x, y, uniforms, scale, task)
            value = call_with(called, tensors, (batch, learned, *fill_slots(structure, given)))
            if work.loss is not None:
                value = require_loss(work.loss, value)
            return value, [tensors[n] for n in buffer_names]

        by_lane = grad(loss, has_aux=True)
        has_draws = uniforms_of(work.loss)
        in_dims = (0, 0, 0, 0, 0 if has_draws else None, *[0] * work.num_given)
        places, size = {}, 0  # where the parameters that learn lie among what is trained
        for _, s in a.trained_parameters(work.part):
            places[f"model.{s.name}"] = size
            size += s.stop - s.start

        def gradients_and_buffers(
            part: Tensor, fixed: Tensor, buffers: Tensor, *args: Any
        ) -> tuple[Tensor, Tensor]:
            width, at = len(part), size
            rows, state = {}, {}
            for name, s in spans.items():
                if name in buffer_names:
                    start = s.start - a.num_parameters
                    columns = buffers[:, start : start + s.stop - s.start]
                    state[name] = columns.view(width, *s.shape)
                elif name in places:
                    start = places[name]
                    columns = part[:, start : start + s.stop - s.start]
                    rows[name] = columns.view(width, *s.shape)
                else:  # held as it is, like a running statistic
                    state[name] = fixed[:, s.start : s.stop].view(width, *s.shape)
            for name, shape in zip(names, shapes, strict=True):
                length = int(np.prod(shape))
                rows[name] = part[:, at : at + length].view(width, *shape)
                at += length
            with nullcontext() if a.device.type == "cuda" else BatchInvariant():
                gradient, after = vmap(by_lane, in_dims=in_dims)(rows, state, *args)
            flat = torch.cat([g.detach().reshape(width, -1) for g in gradient.values()], dim=1)
            new = [t.detach().reshape(width, -1) for t in after]
            return flat, torch.cat(new, dim=1) if new else buffers

        return gradients_and_buffers
