"""Follows one call of a loss, and writes down what it does with a model, as the kernel does it.

The outermost calls of the model's parts, from samples or from each other's results, are layers of
the kernel (`Calls`); those with other parameters are passes of its own (`loss_passes`). What
PyTorch computes of their results, of labels, parameters and values that the loss is given, and the
way back, become a `Program`. The loss is stated once, in PyTorch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from netsim.backends.native.graph import UnsupportedError
from netsim.backends.native.loss_follower import Follower
from netsim.backends.native.loss_layout import Call, Layout, Place
from netsim.backends.native.loss_operation import Base, Function, Memory, Operand, row_major
from netsim.backends.native.loss_passes import Parts, Pass
from netsim.backends.native.loss_program import Program
from netsim.backends.native.loss_recorder import OUTSIDE, Recorder, key_of
from netsim.backends.native.trace import READS
from netsim.backends.stacked.functional import ModelFunction
from netsim.learning.functional_call import call_with
from netsim.learning.shards import Batch


@contextmanager
def replacing_calls(
    module: nn.Module, answer: Callable[[str, nn.Module, Callable[..., Any], tuple[Any, ...]], Any]
) -> Iterator[None]:
    """Context in which `answer(name, part, forward, args)` replaces the outermost calls of parts.

    Within it, parts do what they always do.
    """
    depth = [0]

    def wrapped(name: str, part: nn.Module, forward: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **keys: Any) -> Any:
            if depth[0] or keys:
                return forward(*args, **keys)
            depth[0] += 1
            try:
                return answer(name, part, forward, args)
            finally:
                depth[0] -= 1

        return call

    parts = dict(module.named_modules())
    for name, part in parts.items():
        part.forward = wrapped(name, part, part.forward)
    try:
        yield
    finally:
        for part in parts.values():
            del part.forward


class _NoReads(TorchFunctionMode):
    """Refuses losses that take values out of tensors: they may be others at another step."""

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if getattr(func, "__name__", "") in READS:
            raise UnsupportedError("a loss that takes values out of tensors")
        return func(*args, **(kwargs or {}))


class LossTrace(NamedTuple):
    """Record of one call of a loss.

    Attributes
    ----------
    calls : tuple of Call
        Of the model's parts.
    passes : tuple of Pass
        Through parts of the model with other parameters, or for some of the samples.
    layout : Layout
        Of the exports.
    is_changed : bool
        Whether the model was called with other samples than those of the minibatch.
    samples : int
        How many it was called with.
    operations : (k, fields) int64
        Of the program.
    program : Program
    exports, gradients : int
        Where in the program's workspace the layers' exports are, and the gradients by them.
    reads_parameters : bool
        Whether the program itself reads parameters of the model, beside the model's parts.
    """

    calls: tuple[Call, ...]
    passes: tuple[Pass, ...]
    layout: Layout
    is_changed: bool
    samples: int
    operations: NDArray[np.int64]
    program: Program
    exports: int
    gradients: int
    reads_parameters: bool


class Example(NamedTuple):
    """One call of a loss.

    Attributes
    ----------
    function : torch.nn.Module
        The loss, with the model as `model`.
    blank : torch.nn.Module
        The model without data.
    dtype : torch.dtype
        Of the model.
    batch : Batch
    arguments : tuple
        What the loss is given.
    given : sequence of torch.Tensor
        Values among the arguments that are a job's own.
    learned : mapping of str to shape
        What is trained beside the model.
    """

    function: ModelFunction
    blank: nn.Module
    dtype: torch.dtype
    batch: Batch
    arguments: tuple[Any, ...]
    given: Sequence[Tensor]
    learned: Mapping[str, tuple[int, ...]]


def trace_loss(
    example: Example,
    vector: int,
    parts: Parts,
    places: Mapping[str, Place] | None = None,
    layout: Layout | None = None,
) -> LossTrace:
    """Call a loss once and record its operations.

    Parameters
    ----------
    example : Example
    vector : int
        Scalars of a vector.
    parts : Parts
        What passes with other parameters go through.
    places : mapping of str to Place, optional
        Of parameters, and of what is learned, in a packed row; without, the program can't run.
    layout : Layout, optional
        Of the exports, as found before; without, the program can't run.

    Raises
    ------
    UnsupportedError
        If the kernel can't do what the loss does; the message says why not.
    """
    module, dtype, batch = example.function.model, example.dtype, example.batch
    program = Program(dtype, vector)
    recorder = Recorder(program)
    tensors = {
        f"model.{name}": p.detach().clone().requires_grad_()
        for name, p in module.named_parameters()
    }
    learned = {
        name: torch.ones(shape, dtype=dtype).requires_grad_()
        for name, shape in example.learned.items()
    }
    gradients: dict[str, Operand] = {}
    trained = {**tensors, **learned}
    weights: dict[str, Memory] = {}
    for name, t in trained.items():
        place = None if places is None else places[name]
        known = _packed(t, place, Base.WEIGHTS)
        weights[name] = known.memory
        recorder.bind(t, known)
        gradients[name] = _packed(t, place, Base.GRADIENT)
    at = 0
    for t in example.given:
        if t.dtype != dtype:
            raise UnsupportedError(f"a value of type {t.dtype} that the loss is given")
        memory = Memory(Base.INPUTS, t.numel(), at)
        recorder.harmless.add(memory)
        recorder.bind(t, Operand(memory, 0, tuple(t.shape), row_major(t.shape)))
        at += t.numel()
    labels = _labels(program, batch.y)
    recorder.harmless.add(labels.memory)
    recorder.bind(batch.y, labels)
    recorder.bind(batch.x, OUTSIDE)
    if batch.uniforms is not None:
        recorder.bind(batch.uniforms, OUTSIDE)
    names = {key_of(t): name for name, t in tensors.items()}
    statistics = [b for b in module.buffers() if b.is_floating_point()]
    for b in statistics:
        recorder.bind(b, OUTSIDE)  # at another step it is another one
    follower = Follower(
        recorder, example.blank, names, set(map(key_of, statistics)), batch.x, parts, layout
    )
    written = batch.x._version
    with replacing_calls(module, follower.replace_call), _NoReads(), recorder:
        value = call_with(example.function, tensors, (batch, learned, *example.arguments))
        if not isinstance(value, Tensor) or value.dim() or not value.requires_grad:
            raise UnsupportedError("a loss that is no number with a gradient")
        ends = [*follower.results, *trained.values()]
        found = torch.autograd.grad(value, ends, allow_unused=True)
    if batch.x._version != written:
        raise UnsupportedError("a loss that writes to its samples")
    if follower.root is None:
        raise UnsupportedError("a loss that does not call the model")
    read = [k for k, x in enumerate(follower.operands) if x.memory in recorder.read]
    if layout is None:
        layout = Layout(tuple(read), tuple(follower.operands[k].shape[1] for k in read))
    samples = len(follower.root)
    by_exports = Memory(Base.WORK, 0)
    for k in layout.calls:
        gradient = found[k]
        value_of = program.scalar(0.0) if gradient is None else recorder.operand(gradient)
        out = layout.results_operand(by_exports, k, samples)
        program.map(Function.COPY, out.shape, value_of, out=out)
    by_trained = dict(zip(trained, found[len(follower.results) :], strict=True))
    for name, gradient in by_trained.items():
        if gradient is not None:
            program.add_to_gradient(gradients[name], recorder.operand(gradient))
    reads_parameters = any(
        by_trained[name] is not None or weights[name] in recorder.read for name in tensors
    )
    exports = (follower.exported, by_exports) if layout.calls else ()
    whole = [Operand(memory, 0, (), ()) for memory in exports]
    operations = program.finish(whole)
    return LossTrace(
        tuple(follower.calls),
        tuple(follower.passes),
        layout,
        key_of(follower.root) != key_of(batch.x),
        samples,
        operations,
        program,
        follower.exported.at,
        by_exports.at,
        reads_parameters,
    )


def _labels(program: Program, y: Tensor) -> Operand:
    """Labels or targets of the samples."""
    if y.dtype == torch.int64 and y.dim() == 1:
        return program.labels(len(y))
    if y.dtype == program.dtype:
        return program.targets(tuple(y.shape))
    raise UnsupportedError(f"targets of type {y.dtype} and {y.dim()} dimensions")


def _packed(t: Tensor, place: Place | None, base: Base) -> Operand:
    """A tensor in a packed row: matrices by row, anything else in one piece."""
    shape, strides, at = tuple(t.shape), row_major(t.shape), 0
    if place is not None:
        at = place.at
        if place.pitch:
            strides = (place.pitch, 1)
    return Operand(Memory(base, t.numel(), at), 0, shape, strides)
