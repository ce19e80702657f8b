"""Local steps in portions: what a call of the kernel needs beside rows of the data set.

Masks of dropout and samples that a loss changes: PyTorch makes them for some steps of some jobs,
the kernel takes these steps, and so on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from netsim.backends.native.crop_flip import black_of
from netsim.backends.native.data import Data, Moves, Numbers, Steps
from netsim.backends.native.masks import MaskShapes, draw, values_of
from netsim.backends.native.samples import ChangedSamples
from netsim.backends.stacked.loss_training import LossSteps
from netsim.learning.functions import uniforms_of
from netsim.learning.global_draws import generator, mask_seed
from netsim.learning.jobs import BatchKey, Job
from netsim.learning.shards import Shards
from netsim.rng import Streams

PORTION_BYTES = 16 << 20
"""Bytes of a portion, unless a single step of each job needs more."""


class Portion(NamedTuple):
    """Some steps of some jobs.

    Attributes
    ----------
    active : (k,) int64
        Which jobs take part.
    minibatches : Steps
        Of these jobs, before a loss changes samples.
    data : Data
        Where the minibatches' samples are.
    steps : Steps
        Of these jobs, in `data`.
    masks : torch.Tensor or None
        (k, S, B x mask values)
    moves : Moves or None
        How the kernel moves images as it reads them.
    is_last : bool
        Whether these jobs take no more steps after it.
    """

    active: Numbers
    minibatches: Steps
    data: Data
    steps: Steps
    masks: Tensor | None
    moves: Moves | None
    is_last: bool


class Portions:
    """Maker of the portions of jobs of one signature.

    Parameters
    ----------
    shards : Shards
        The samples of all nodes.
    streams : Streams
        Seeds the masks.
    mask_shapes : sequence of (tuple of int, float)
        Of the model's dropout.
    dtype : torch.dtype
        Of masks and draws.
    changed : ChangedSamples or None
        How the loss changes samples, if it does.
    moves_images : bool
        Whether the kernel can move images as it reads them.
    """

    def __init__(
        self,
        shards: Shards,
        streams: Streams,
        mask_shapes: MaskShapes,
        dtype: torch.dtype,
        changed: ChangedSamples | None,
        moves_images: bool,
    ) -> None:
        self._dtype, self._moves_images = dtype, moves_images
        self._shards, self._streams = shards, streams
        self._mask_shapes, self._changes = mask_shapes, changed

    @property
    def are_needed(self) -> bool:
        """Return whether the kernel needs more than rows of the data set."""
        return self._changes is not None or bool(self._mask_shapes)

    def split(self, jobs: Sequence[Job[LossSteps]], steps: Steps) -> Iterator[Portion]:
        """The portions of a training, in order.

        Parameters
        ----------
        jobs : sequence of Job
            n of them.
        steps : Steps
            All that they take.

        Yields
        ------
        Portion
            Each is made when the steps before have been taken.
        """
        most, first = int(steps.counts.max()), 0
        size = steps.index.shape[2]
        pad = self._pad(jobs, steps)
        while first < most:
            active = np.flatnonzero(steps.counts > first)
            stop = min(most, first + self._length(len(active) * size, pad is not None))
            part = Steps(
                steps.index[active, first:stop],
                steps.sizes[active, first:stop],
                np.minimum(steps.counts[active] - first, stop - first),
            )
            works = [jobs[i].work for i in active.tolist()]
            data, taken, moves = Data(self._shards.x, self._shards.y), part, None
            if pad is not None:
                moves = self._moves(works, part, first, pad)
            elif self._changes is not None:
                given = self._loss_arguments([jobs[i] for i in active.tolist()])
                data, taken = self._changed_samples(self._changes, works, given, part, first)
            masks = self._masks(works, taken, first) if self._mask_shapes else None
            yield Portion(active, part, data, taken, masks, moves, stop == most)
            first = stop

    def _pad(self, jobs: Sequence[Job[LossSteps]], steps: Steps) -> int | None:
        """Most pixels by which images are moved, where the kernel does so as it reads them."""
        if self._changes is None or not self._moves_images:
            return None
        is_taken = np.arange(steps.index.shape[1]) < steps.counts[:, None]
        found = set()
        for size in np.unique(steps.sizes[is_taken]).tolist():
            found.add(self._changes.pad(self._shards, size, lambda: self._loss_arguments(jobs[:1])))
        return found.pop() if len(found) == 1 else None

    def _moves(self, works: Sequence[LossSteps], steps: Steps, first: int, pad: int) -> Moves:
        """Draws of all samples of some steps, of which the first is number `first`."""
        n, most, size = steps.index.shape
        is_taken = np.arange(most) < steps.counts[:, None]
        draws = torch.zeros((n, most, size, 3), dtype=self._dtype)
        for samples in np.unique(steps.sizes[is_taken]).tolist():
            jobs, at = np.nonzero(is_taken & (steps.sizes == samples))
            drawn = self._draws(works, jobs, first + at, samples)
            assert drawn is not None
            draws[torch.from_numpy(jobs), torch.from_numpy(at), :samples] = drawn
        x = self._shards.x
        return Moves(draws, black_of(x, x.shape[1], self._shards.scale), pad)

    def _length(self, samples: int, is_moved: bool) -> int:
        """Steps of a portion of so many samples a step."""
        x = self._shards.x
        each = values_of(self._mask_shapes) * 4
        if is_moved:
            each += 3 * x.element_size()
        elif self._changes is not None:
            each += x[0].numel() * x.element_size()
        return max(1, PORTION_BYTES // max(1, samples * each))

    def _masks(self, works: Sequence[LossSteps], steps: Steps, first: int) -> Tensor:
        n, most, size = steps.index.shape
        per = values_of(self._mask_shapes)
        found = torch.empty((n, most, size * per), dtype=self._dtype)
        for i, work in enumerate(works):
            for s in range(int(steps.counts[i])):
                drawn = generator(found.device, mask_seed(self._streams, _key(work, first + s)))
                draw(found[i, s], self._mask_shapes, int(steps.sizes[i, s]), drawn)
        return found

    def _loss_arguments(self, jobs: Sequence[Job[LossSteps]]) -> list[Tensor]:
        """Return the arguments of the loss, (n, ...) each."""
        count = jobs[0].work.num_given
        return [torch.stack([j.inputs[1 + k].tensor() for j in jobs]) for k in range(count)]

    def _changed_samples(
        self,
        changes: ChangedSamples,
        works: Sequence[LossSteps],
        given: Sequence[Tensor],
        steps: Steps,
        first: int,
    ) -> tuple[Data, Steps]:
        """Samples as a loss changes them, and where they are.

        There may be several for each sample of a minibatch: labels are of the first ones.

        Parameters
        ----------
        changes : ChangedSamples
        works : sequence of LossSteps
            n of them.
        given : sequence of torch.Tensor
            (n, ...) what the loss is given.
        steps : Steps
        first : int
            Number of the first of these steps.
        """
        shards, (n, most, size) = self._shards, steps.index.shape
        is_taken = np.arange(most) < steps.counts[:, None]
        new, labels, views = None, None, 1
        sizes = steps.sizes.copy()
        for samples in sorted(np.unique(steps.sizes[is_taken]).tolist(), reverse=True):
            jobs, at = np.nonzero(is_taken & (steps.sizes == samples))
            where = torch.from_numpy(steps.index[jobs, at, :samples])
            of_jobs, of_steps = torch.from_numpy(jobs), torch.from_numpy(at)
            x, y = shards.x[where], shards.y[where]
            draws = self._draws(works, jobs, first + at, samples)
            changed = changes.samples(x, y, draws, *(g[of_jobs] for g in given))
            count = changed.shape[1]
            sizes[jobs, at] = count
            if new is None:
                views = -(-count // samples)
                new = changed.new_empty((n, most, size * views, *changed.shape[2:]))
                labels = y.new_zeros((n, most, size * views, *y.shape[2:]))
            assert labels is not None
            labels[of_jobs, of_steps, :samples] = y
            if len(jobs) == n * most and count == size * views:
                new = changed.reshape(new.shape)
            else:
                new[of_jobs, of_steps, :count] = changed
        assert new is not None
        assert labels is not None
        places = np.arange(n * most * size * views).reshape(n, most, size * views)
        data = Data(new.flatten(0, 2).contiguous(), labels.flatten(0, 2).contiguous())
        return data, Steps(places, sizes, steps.counts)

    def _draws(
        self, works: Sequence[LossSteps], jobs: Numbers, numbers: Numbers, samples: int
    ) -> Tensor | None:
        """Draws in [0, 1) of some minibatches, (K, samples, k); None if the loss wants none.

        Parameters
        ----------
        works : sequence of LossSteps
        jobs, numbers : (K,) int64
            Whose minibatches, and the number of the step.
        samples : int
            In each of them.
        """
        shards, count = self._shards, uniforms_of(works[0].loss)
        if not count:
            return None
        keys = [_key(works[i], s) for i, s in zip(jobs.tolist(), numbers.tolist(), strict=True)]
        return torch.from_numpy(shards.draws_of(keys, samples, count)).to(self._dtype)


def _key(work: LossSteps, step: int) -> BatchKey:
    batches = work.batches
    return BatchKey(batches.shard, batches.stream, batches.first + step)
