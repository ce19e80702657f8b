"""Local training of many nodes at once, with the default loss: mean cross-entropy of a minibatch.

Lanes are ordered by how many steps they take, so that those that go on are always the first ones;
what a lane has learned is written before its room serves as padding. A minibatch has the same
number of columns whoever else trains, and no lane is ever alone, so on a CPU the bits of a result
do not depend on the company in which it was computed.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from netsim.backends.parameter_store import Memory, padded
from netsim.backends.stacked import mixing
from netsim.backends.stacked.stacked_module import Form
from netsim.backends.stacked.workspace import Plan, Workspace
from netsim.learning import optimizers
from netsim.learning.divergence import Divergences
from netsim.learning.jobs import Job, Train
from netsim.learning.masks import generator, mask_seed
from netsim.learning.refs import Cell
from netsim.learning.shards import Shards
from netsim.rng import Streams


class Training:
    """Trains jobs of one architecture.

    Parameters
    ----------
    form : Form
    shards : Shards
    streams : Streams
    memory : Memory
    divergences : Divergences
        Told of nodes whose models leave the finite numbers.
    """

    def __init__(
        self,
        form: Form,
        shards: Shards,
        streams: Streams,
        memory: Memory,
        divergences: Divergences,
    ) -> None:
        self._form, self._shards, self._streams = form, shards, streams
        self._memory, self._divergences = memory, divergences
        self._spaces: dict[tuple[object, ...], Workspace] = {}

    def run(
        self,
        jobs: Sequence[Job],
        plan_key: tuple[object, ...],
        width: int,
        with_states: bool = False,
    ) -> None:
        """Train a chunk of at most `width` jobs of one plan and fill their cells.

        The state of an optimiser that started afresh is left to a recipe unless `with_states`:
        few algorithms go on with it, and then only from their first training.
        """
        jobs = sorted(jobs, key=lambda j: -j.work.batches.steps)  # type: ignore[union-attr]
        works: list[Train] = [j.work for j in jobs]  # type: ignore[misc]
        if works[0].has_state:  # its recipe trains, which must not happen in the midst of this
            self._memory.settle([j.inputs[-1].cell for j in jobs])
            with_states = True
        recipe = None if with_states else (plan_key, width)
        columns = self._shards.minibatches.columns
        capacity = self._form.width_for(width, columns)
        space = self._space(plan_key, works[0], capacity)
        lanes = self._form.width_for(len(jobs), columns)
        self._load(space, jobs, works, lanes)
        size = self._form.architecture.num_parameters
        on_gpu = space.rows.is_cuda
        before = space.rows[: len(jobs), :size].sum(1) if on_gpu else None
        after = []
        steps = [w.batches.steps for w in works]
        index, sizes = self._shards.minibatches.table([w.batches for w in works], steps[0])
        # All at once, step by step: one transfer to the device, contiguous slices on it.
        device = space.index.device
        fill = [*range(len(jobs)), *[len(jobs) - 1] * (lanes - len(jobs))]
        where = torch.from_numpy(np.ascontiguousarray(index[fill].swapaxes(0, 1))).to(device)
        ragged = [bool(some) for some in np.any(sizes < columns, axis=0)]
        if any(ragged):
            kept = np.arange(columns) < sizes[fill][..., None]
            mask = torch.from_numpy(np.ascontiguousarray(kept.swapaxes(0, 1))).to(space.mask)
            counts = torch.from_numpy(np.ascontiguousarray(sizes[fill].T)).to(space.counts)
            weight = mask / counts.unsqueeze(-1)
        else:
            space.weight.fill_(1.0 / columns)
        active = len(jobs)
        for s in range(steps[0]):
            going_on = sum(n > s for n in steps)
            if going_on < active:
                after.append(space.rows[going_on:active, :size].sum(1))
                self._store(space, jobs, going_on, active, recipe)
                active = going_on
            wide = space_width(self._form.width_for(active, columns), capacity, device)
            given = min(wide, lanes)
            space.index[:given] = where[s, :given]
            if any(ragged):
                space.weight[:given] = weight[s, :given]
                space.mask[:given], space.counts[:given] = mask[s, :given], counts[s, :given]
            if self._form.architecture.is_random:
                self._form.lanes.generators = self._generators(works, s, wide)
                mine = sizes[np.minimum(np.arange(wide), len(jobs) - 1), s]
                self._form.lanes.sizes = mine.tolist() if ragged[s] else ()
            space.step(wide, ragged[s], afresh=s == 0 and not space.plan.has_state)
        after.append(space.rows[:active, :size].sum(1))
        self._divergences.note(jobs, torch.cat(after[::-1]), before)
        self._store(space, jobs, 0, active, recipe)

    def _space(self, key: tuple[object, ...], work: Train, capacity: int) -> Workspace:
        known = self._spaces.get(key)
        if known is None or len(known.rows) > capacity:
            self._spaces.pop(key, None)  # it makes room before another one is asked for
            known = None
            self._spaces[key] = Workspace(self._form, Plan(work), self._shards, capacity)
        return self._spaces[key]

    def _load(
        self, space: Workspace, jobs: Sequence[Job], works: Sequence[Train], lanes: int
    ) -> None:
        """Starting models, states and anchors to the workspace."""
        memory, n = self._memory, len(jobs)
        mixing.gather(memory, [j.inputs[0] for j in jobs], space.rows[:n])
        states = space.accumulators.states(lanes)
        if space.plan.has_state:
            space.accumulators.load(self._states(jobs))
        else:
            space.accumulators.forget(lanes)
        if space.anchor is not None:
            anchors = [j.inputs[-2 if space.plan.has_state else -1] for j in jobs]
            memory.gather(anchors, space.anchor[:n, : padded(anchors[0].num_values)])
        rates = [w.rate for w in works]
        space.learning_rate[:n, 0] = torch.tensor(rates, dtype=space.rows.dtype)
        if lanes > n:
            for tensor in (space.rows, space.anchor, space.learning_rate, *states):
                if tensor is not None:
                    tensor[n:lanes] = tensor[n - 1]

    def _states(self, jobs: Sequence[Job]) -> Tensor:
        """The optimiser's states that jobs go on with, rows (n, padded length)."""
        memory, states = self._memory, [j.inputs[-1] for j in jobs]
        shape = len(jobs), padded(states[0].num_values)
        rows = torch.zeros(shape, device=memory.device, dtype=memory.dtype)
        memory.gather(states, rows)
        return rows

    def _generators(self, works: Sequence[Train], step: int, wide: int) -> list[torch.Generator]:
        keys = [list(w.batches.keys())[min(step, w.batches.steps - 1)] for w in works[:wide]]
        keys += [keys[-1]] * (wide - len(keys))
        device = self._form.architecture.device
        return [generator(device, mask_seed(self._streams, k)) for k in keys]

    def _store(
        self,
        space: Workspace,
        jobs: Sequence[Job],
        start: int,
        stop: int,
        recipe: tuple[tuple[object, ...], int] | None,
    ) -> None:
        """Write what lanes [start, stop) have learned into the cells that are still held."""
        done = jobs[start:stop]
        models = [j.outputs[0] for j in done]
        self._memory.slab(space.form.architecture.num_values).write(models, space.rows[start:stop])
        states = [j.outputs[-1] for j in done]
        if recipe is not None:
            for job, cell in zip(done, states, strict=True):
                if cell is not None:
                    cell.leave_to(StateAfter(self, job, *recipe))
        elif any(c is not None for c in states):
            c, size = space.plan.optimizer, space.form.architecture.num_parameters
            rows = space.accumulators.rows(start, stop)
            if not space.accumulators.remember:
                # The state never changes; what there is was the last gradient.
                rows = self._states(done) if space.plan.has_state else rows.zero_()
            self._memory.slab(optimizers.state_size(c.kind, size)).write(states, rows)


class StateAfter(NamedTuple):
    """The recipe of an optimiser's state: the training is run again."""

    training: Training
    job: Job
    plan_key: tuple[object, ...]
    width: int

    @property
    def kind(self) -> Hashable:
        return id(self.training), self.plan_key

    def make(self, cells: Sequence[Cell]) -> None:
        """Train again for the cells, all of whose recipes are of this plan."""
        jobs = [recipe.job for cell in cells if isinstance(recipe := cell.recipe, StateAfter)]
        for start in range(0, len(jobs), self.width):
            some = jobs[start : start + self.width]
            self.training.run(some, self.plan_key, self.width, with_states=True)


def space_width(active: int, capacity: int, device: torch.device) -> int:
    """Lanes that take part in a step: on a GPU a power of two, for which there is a graph."""
    if device.type != "cuda":
        return active
    return min(1 << (active - 1).bit_length(), capacity)
