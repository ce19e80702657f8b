"""Local training of many nodes at once with the default loss: mean cross-entropy of a minibatch.

Lanes are sorted by their number of steps, most first, so that those still training are always the
first ones; the results of the others are stored before their rows are overwritten as padding.
Minibatches are padded to one size for all nodes of a run, and there are always two lanes or more,
so on a CPU the bits of a result do not depend on which other nodes train in the same call.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch
from torch import Tensor

from netsim.backends.parameter_store import ParameterStore, padded_length
from netsim.backends.stacked import mixing
from netsim.backends.stacked.stacked_module import StackedModule
from netsim.backends.stacked.workspace import LocalSteps, Plan, Workspace
from netsim.learning import optimizers
from netsim.learning.divergence import Divergences
from netsim.learning.global_draws import generator, mask_seed
from netsim.learning.jobs import Job, dead_reference
from netsim.learning.refs import Cell
from netsim.learning.shards import Shards
from netsim.learning.transfer import to_device
from netsim.rng import Streams


class Training:
    """Trainer of jobs of one architecture.

    Parameters
    ----------
    module : StackedModule
    shards : Shards
        The samples of all nodes.
    streams : Streams
        Seeds the masks of random layers.
    store : ParameterStore
        Where models and states lie.
    divergences : Divergences
        To be told of every training.
    """

    def __init__(
        self,
        module: StackedModule,
        shards: Shards,
        streams: Streams,
        store: ParameterStore,
        divergences: Divergences,
    ) -> None:
        self._module, self._shards, self._streams = module, shards, streams
        self._store, self._divergences = store, divergences
        self._workspaces: dict[tuple[object, ...], Workspace] = {}

    def run(
        self,
        jobs: Sequence[Job[LocalSteps]],
        plan_key: tuple[object, ...],
        width: int,
        with_states: bool = False,
    ) -> None:
        """Train the models of some jobs and fill their cells.

        The state of an optimiser that started anew is left to a recipe unless `with_states`: few
        algorithms go on with it, and then only from their first training.

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
        jobs = sorted(jobs, key=lambda j: -j.work.batches.steps)
        works = [j.work for j in jobs]
        if works[0].has_state:  # its recipe trains, which must happen before this call does
            self._store.settle([j.inputs[-1].cell for j in jobs])
            with_states = True
        recipe = None if with_states else (plan_key, width)
        columns = self._shards.minibatches.columns
        capacity = self._module.width_for(width, columns)
        space = self._workspace(plan_key, works[0], capacity)
        lanes = self._module.width_for(len(jobs), columns)
        self._load(space, jobs, works, lanes)
        size = self._module.architecture.num_parameters
        on_gpu = space.rows.is_cuda
        before = space.rows[: len(jobs), :size].sum(1) if on_gpu else None
        after = []
        steps = [w.batches.steps for w in works]
        index, sizes = self._shards.minibatches.table([w.batches for w in works], steps[0])
        # The minibatches of all steps: one transfer to the device, with a contiguous slice a step.
        device = space.index.device
        fill = [*range(len(jobs)), *[len(jobs) - 1] * (lanes - len(jobs))]
        where = to_device(np.ascontiguousarray(index[fill].swapaxes(0, 1)), device)
        ragged = [bool(some) for some in np.any(sizes < columns, axis=0)]
        if any(ragged):
            is_sample = np.arange(columns) < sizes[fill][..., None]
            mask = to_device(np.ascontiguousarray(is_sample.swapaxes(0, 1)), device).to(space.mask)
            counts = to_device(np.ascontiguousarray(sizes[fill].T), device).to(space.counts)
            weight = mask / counts.unsqueeze(-1)
        else:
            space.weight.fill_(1.0 / columns)
        active = len(jobs)
        for s in range(steps[0]):
            going_on = sum(n > s for n in steps)
            if going_on < active:
                after.append(space.rows[going_on:active, :size].sum(1))
                self._write_results(space, jobs, going_on, active, recipe)
                active = going_on
            wide = self._module.width_for(active, columns)
            given = min(wide, lanes)
            space.index[:given] = where[s, :given]
            if any(ragged):
                space.weight[:given] = weight[s, :given]
                space.mask[:given], space.counts[:given] = mask[s, :given], counts[s, :given]
            if self._module.architecture.is_random:
                self._module.lanes.generators = self._generators(works, s, wide)
                mine = sizes[np.minimum(np.arange(wide), len(jobs) - 1), s]
                self._module.lanes.sizes = mine.tolist() if ragged[s] else ()
            space.step(wide, ragged[s], is_first=s == 0 and not space.plan.has_state)
        after.append(space.rows[:active, :size].sum(1))
        self._divergences.note(jobs, torch.cat(after[::-1]), before)
        self._write_results(space, jobs, 0, active, recipe)

    def _workspace(self, key: tuple[object, ...], work: LocalSteps, capacity: int) -> Workspace:
        """The workspace of a signature, with memory for at most `capacity` lanes."""
        known = self._workspaces.get(key)
        if known is None or len(known.rows) > capacity:
            self._workspaces.pop(key, None)  # its memory is free before new memory is asked for
            known = None
            plan = Plan(work.optimizer, work.anchor_strength, work.has_state)
            self._workspaces[key] = Workspace(self._module, plan, self._shards, capacity)
        return self._workspaces[key]

    def _load(
        self,
        space: Workspace,
        jobs: Sequence[Job[LocalSteps]],
        works: Sequence[LocalSteps],
        lanes: int,
    ) -> None:
        """Copy starting models, states and anchors to the workspace.

        Parameters
        ----------
        space : Workspace
        jobs : sequence of Job
            n of them.
        works : sequence of LocalSteps
            Theirs.
        lanes : int
            n or more; the last job is repeated in the others.
        """
        store, n = self._store, len(jobs)
        mixing.gather(store, [j.inputs[0] for j in jobs], space.rows[:n])
        states = space.accumulators.states(lanes)
        if space.plan.has_state:
            space.accumulators.load(self._states(jobs))
        else:
            space.accumulators.reset(lanes)
        if space.anchor is not None:
            anchors = [j.inputs[-2 if space.plan.has_state else -1] for j in jobs]
            store.gather(anchors, space.anchor[:n, : padded_length(anchors[0].num_values)])
        rates = [w.rate for w in works]
        column = torch.tensor(rates, dtype=space.rows.dtype)
        space.learning_rate[:n, 0].copy_(column, non_blocking=True)
        if lanes > n:
            for tensor in (space.rows, space.anchor, space.learning_rate, *states):
                if tensor is not None:
                    tensor[n:lanes] = tensor[n - 1]

    def _states(self, jobs: Sequence[Job[Any]]) -> Tensor:
        """The optimiser's states that jobs go on with, rows (n, padded length)."""
        store, states = self._store, [j.inputs[-1] for j in jobs]
        shape = len(jobs), padded_length(states[0].num_values)
        rows = torch.zeros(shape, device=store.device, dtype=store.dtype)
        store.gather(states, rows)
        return rows

    def _generators(
        self, works: Sequence[LocalSteps], step: int, wide: int
    ) -> list[torch.Generator]:
        """Generators of masks for one step of `wide` lanes."""
        keys = [list(w.batches.keys())[min(step, w.batches.steps - 1)] for w in works[:wide]]
        keys += [keys[-1]] * (wide - len(keys))
        device = self._module.architecture.device
        return [generator(device, mask_seed(self._streams, k)) for k in keys]

    def _write_results(
        self,
        space: Workspace,
        jobs: Sequence[Job[LocalSteps]],
        start: int,
        stop: int,
        recipe: tuple[tuple[object, ...], int] | None,
    ) -> None:
        """Store the results of lanes [start, stop) in the cells that still exist.

        Parameters
        ----------
        space : Workspace
        jobs : sequence of Job
            One per lane.
        start, stop : int
        recipe : (signature, width) or None
            How states would be computed, if they are left for later; None: they are stored, too.
        """
        done = jobs[start:stop]
        models = [j.outputs[0] for j in done]
        self._store.slab(space.module.architecture.num_values).write(models, space.rows[start:stop])
        states = [j.outputs[-1] for j in done]
        if recipe is not None:
            for job, cell in zip(done, states, strict=True):
                if cell is not None:
                    cell.defer(StateAfter(self, job, *recipe))
        elif any(c is not None for c in states):
            c, size = space.plan.optimizer, space.module.architecture.num_parameters
            rows = space.accumulators.rows(start, stop)
            if not space.accumulators.has_state:
                # The state never changes; the sinks hold the last gradient.
                rows = self._states(done) if space.plan.has_state else rows.zero_()
            self._store.slab(optimizers.state_size(c.kind, size)).write(states, rows)


class Trainer(Protocol):
    """Trainer that can train jobs again, with the same results."""

    def run(
        self,
        jobs: Sequence[Job[Any]],
        plan_key: tuple[object, ...],
        width: int,
        with_states: bool = False,
    ) -> None:
        """Train; arguments as of `Training.run`.

        Parameters
        ----------
        jobs, plan_key, width, with_states
        """


class StateAfter(NamedTuple):
    """The recipe of an optimiser's state: the training is run again.

    Attributes
    ----------
    training : Trainer
    job : Job
        The training.
    plan_key, width
        As for `Training.run`.
    """

    training: Trainer
    job: Job[Any]
    plan_key: tuple[object, ...]
    width: int

    @property
    def kind(self) -> Hashable:
        return id(self.training), self.plan_key

    def make(self, cells: Sequence[Cell]) -> None:
        """Train again for cells whose recipes are of this signature.

        The models that the trainings ended with stay where they are: somebody may be reading them.
        """
        jobs = [_for_its_state(r.job) for cell in cells if isinstance(r := cell.recipe, StateAfter)]
        for start in range(0, len(jobs), self.width):
            some = jobs[start : start + self.width]
            self.training.run(some, self.plan_key, self.width, with_states=True)


def _for_its_state(job: Job[Any]) -> Job[Any]:
    """A training of which only the optimiser's state is wanted."""
    refs: Any = (*(dead_reference for _ in job.output_refs[1:]), job.output_refs[-1])
    return dataclasses.replace(job, output_refs=refs)
