"""Losses of a method's own as the kernel trains by them: layers, and a program of what follows.

The kernel takes a whole step by itself: the layers that the loss calls, the loss's own operations
and their way back, the optimiser's step on parameters and on what is learned beside them. PyTorch
only changes samples, where a loss does that.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from netsim.backends.native.data import Steps
from netsim.backends.native.graph import UnsupportedError
from netsim.backends.native.kernel import Kernel
from netsim.backends.native.library import Library
from netsim.backends.native.loss_call import LossCall
from netsim.backends.native.loss_layout import Calls, Place
from netsim.backends.native.loss_operation import Base
from netsim.backends.native.loss_passes import Parts
from netsim.backends.native.loss_trace import Example, LossTrace, trace_loss
from netsim.backends.native.samples import ChangedSamples
from netsim.backends.native.workers import Workers
from netsim.backends.stacked.functional import ModelFunction
from netsim.backends.stacked.loss_training import LossSteps
from netsim.learning.architecture import Architecture
from netsim.learning.functions import fill_slots, uniforms_of
from netsim.learning.shards import Batch, Shards


class JointModel(nn.Module):
    """A model and the values learned with it: its row has parameters, these values, buffers."""

    def __init__(self, model: nn.Module, shapes: Sequence[tuple[int, ...]], like: Tensor) -> None:
        super().__init__()
        self.model = model
        self.learned = nn.ParameterList(like.new_zeros(shape) for shape in shapes)


class OwnLoss:
    """A loss of a method's own for models of one architecture, with one sort of arguments.

    Parameters
    ----------
    architecture : Architecture
    shards : Shards
        The samples of all nodes.
    work : LossSteps
        A training by it.
    given : sequence of torch.Tensor
        What that training's loss is given.
    shapes : sequence of tuple of int
        Of what is learned beside the model.
    variant : str
        Instruction set.
    library, workers
        Of the run's kernels.

    Attributes
    ----------
    kernel : Kernel
        Of the layers; its rows have what is learned behind the parameters.
    num_learned : int
        Values that are learned beside the model.
    samples : ChangedSamples or None
        How the loss changes samples, if it does.
    moves_images : bool
        Whether the kernel can move images as it reads them.

    Raises
    ------
    UnsupportedError
        If the kernel can't do what the loss does; the message says why not.
    """

    def __init__(
        self,
        architecture: Architecture,
        shards: Shards,
        work: LossSteps,
        given: Sequence[Tensor],
        shapes: Sequence[tuple[int, ...]],
        variant: str,
        library: Library,
        workers: Workers,
    ) -> None:
        assert work.loss is not None
        self._architecture, self._shards, self._work = architecture, shards, work
        self._given, self._shapes = [t.detach().clone() for t in given], list(shapes)
        self._function = ModelFunction(architecture.module, work.loss)
        self._blank = copy.deepcopy(architecture.module).to("meta")
        self.num_learned = sum(int(np.prod(shape)) for shape in shapes)
        self._vector = library.variant(variant).vector_bytes // architecture.dtype.itemsize
        architecture.module.train(True)
        shape = tuple(shards.x.shape[1:])
        self._parts = Parts(self._blank, shape, self._vector)
        columns = shards.minibatches.columns
        first = trace_loss(self._example(columns), self._vector, self._parts)
        like = torch.empty((), dtype=architecture.dtype)
        self._layout = first.layout
        self.kernel = Kernel(
            JointModel(architecture.module, self._shapes, like),
            shape,
            architecture.dtype,
            entry=Calls(first.calls, first.layout.calls),
            variant=variant,
            library=library,
            workers=workers,
            plain_rows=first.reads_parameters,
        )
        self._plans = self.kernel.training_plans
        self._plans.reads_numbers |= self._parts.read_numbers
        self.moves_images = self._parts.take_maps and (not first.calls or self.kernel.moves_images)
        self._first = first
        self.samples = None
        if first.is_changed:
            self.samples = ChangedSamples(
                self._function, work, dict(zip(work.learn, self._shapes, strict=True)),
                shards.scale, shards.task, architecture.dtype, self.kernel.variant,
            )  # fmt: skip
            if first.passes and self._changed_count(self.samples, columns) != first.samples:
                raise UnsupportedError("a loss that calls the model with some of its own samples")
        self._programs: dict[int, LossTrace] = {}
        self._made: dict[tuple[int, ...], tuple[Any, ...]] = {}

    def call(self, steps: Steps, taken: NDArray[np.bool_], inputs: Tensor) -> LossCall:
        """Programs and their memories for a call of the kernel with some minibatches.

        Parameters
        ----------
        steps : Steps
            With the sizes that minibatches had before the loss changed them.
        taken : (n, S) bool
            The steps that are taken.
        inputs : torch.Tensor
            (n, ...) what the loss of each job is given.
        """
        sizes = steps.sizes[taken]
        wanted, of_step = np.unique(sizes, return_inverse=True)
        made = self._made.get(tuple(wanted.tolist()))
        if made is None:
            made = self._made[tuple(wanted.tolist())] = self._programs_of(wanted.tolist())
        records, held, constants, size = made
        return LossCall(records, held, constants, size, of_step.astype(np.int64), inputs)

    def _programs_of(self, wanted: Sequence[int]) -> tuple[Any, ...]:
        """Programs for minibatches of some sizes, and what they point to."""
        found = [self._program(size) for size in wanted]
        constants = [f.program.constants() for f in found]
        starts = np.cumsum([0, *(len(c) for c in constants)])
        operations = [
            _shift_constants(f.operations, int(at)) for f, at in zip(found, starts, strict=False)
        ]
        passes = [self._passes(f) for f in found]
        records = np.array(
            [
                (o.ctypes.data, p[0].ctypes.data, f.program.before, len(o), f.exports, f.gradients)
                for f, o, p in zip(found, operations, passes, strict=True)
            ],
            dtype=np.int64,
        )
        size = max(f.program.size for f in found)
        return records, [*operations, passes], torch.cat(constants), size

    def _passes(self, followed: LossTrace) -> tuple[NDArray[np.int64], list[Any]]:
        """Records of a program's passes, and what they point to."""
        passes = followed.passes
        places, scalars = self._parts.place_values(passes, followed.program.spans)
        self._plans.beside[followed.samples] = scalars
        begin = self._plans.table(followed.samples).beside
        places = {number: begin + at for number, at in places.items()}
        return self._parts.records(passes, places, self.kernel.packing)

    def samples_of(self, size: int) -> int:
        """Samples that the model is called with for a minibatch of some size."""
        first = self._first
        return size * (first.samples // self._shards.minibatches.columns)

    def _program(self, size: int) -> LossTrace:
        if size not in self._programs:
            module = self._architecture.module
            module.train(True)
            example = self._example(size)
            found = trace_loss(
                example, self._vector, self._parts, self._tensor_places(), self._layout
            )
            if (found.calls, found.layout) != (self._first.calls, self._first.layout):
                raise UnsupportedError("a loss that does other things in smaller minibatches")
            if found.samples != self.samples_of(size):
                raise UnsupportedError("a loss whose number of samples does not follow the batch")
            self._programs[size] = found
        return self._programs[size]

    def _changed_count(self, samples: ChangedSamples, size: int) -> int:
        """Samples that come of a minibatch of some size."""
        batch = self._example(size).batch
        draws = None if batch.uniforms is None else batch.uniforms[None]
        given = [t[None] for t in self._given]
        return samples.samples(batch.x[None], batch.y[None], draws, *given).shape[1]

    def _tensor_places(self) -> dict[str, Place]:
        packing = self.kernel.packing
        names = {f"learned.{k}": name for k, name in enumerate(self._work.learn)}
        found = {}
        for part in self.kernel.graph.slices:
            at, pitch = packing.places[part.name]
            is_matrix = len(part.shape) == 2 and packing.lengths[part.name] == part.shape[0] * pitch
            name = names.get(part.name, part.name)
            found[name] = Place(at, pitch if is_matrix and part.shape[0] > 1 else 0)
        return found

    def _example(self, size: int) -> Example:
        """A call of the loss with a minibatch of some size; its values do not matter."""
        shards, work = self._shards, self._work
        rows = torch.arange(size) % len(shards.x)
        x, y = shards.x[rows], shards.y[rows]
        count = uniforms_of(work.loss)
        draws = torch.full((size, count), 0.5, dtype=self._architecture.dtype) if count else None
        batch = Batch(x, y, draws, shards.scale, shards.task)
        given = [t.clone() for t in self._given]
        return Example(
            self._function,
            self._blank,
            self._architecture.dtype,
            batch,
            fill_slots(work.given, given),
            given,
            dict(zip(work.learn, self._shapes, strict=True)),
        )


def _shift_constants(operations: NDArray[np.int64], by: int) -> NDArray[np.int64]:
    """Operations whose constants begin somewhere else."""
    moved = np.ascontiguousarray(operations)
    if by:
        moved = moved.copy()
        for start in (8, 14, 20, 26):  # the views of an operation: base, offset, strides
            moved[moved[:, start] == Base.CONSTANTS, start + 1] += by
    return moved
