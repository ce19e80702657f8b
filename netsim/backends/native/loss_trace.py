"""Follows one call of a loss, and writes down what it does with a model, as the kernel does it.

The outermost calls of the model's parts, from samples or from each other's results, are layers of
the kernel (`Calls`). What PyTorch computes of their results, of labels, parameters and values that
the loss is given, and the way back, become a `Program`. The loss is stated once, in PyTorch.
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
from torch.utils._python_dispatch import TorchDispatchMode

from netsim.backends.native.graph import UnsupportedError
from netsim.backends.native.loss_operations import OPERATIONS, viewed
from netsim.backends.native.loss_program import (
    Base,
    Function,
    Memory,
    Operand,
    Program,
    row_major,
)
from netsim.backends.native.trace import READS
from netsim.backends.stacked.functional import ModelFunction
from netsim.learning.calling import call_with
from netsim.learning.shards import Batch

_FRESH = {"zeros_like", "ones_like", "full_like", "new_zeros", "new_ones", "new_full"}
"""Operations whose results depend on no value of what they are given. Those of `empty_like` do:
what is written there may be written by other means."""


class _Outside:
    """Something computed from samples or draws, of which a program knows nothing."""


_OUTSIDE, _TAINTED = _Outside(), _Outside()
"""The second depends on parameters, too."""

_Key = tuple[Any, ...]


def _key(t: Tensor) -> _Key:
    """One value, whatever tensor of Python holds it: memory that is used is used once."""
    return t.data_ptr(), tuple(t.shape), tuple(t.stride()), t.dtype


class Call(NamedTuple):
    """One call of a part of the model.

    Attributes
    ----------
    part : str
        Its name; empty: the model itself.
    source : int
        The call whose result it takes; -1: the samples.
    """

    part: str
    source: int


class Calls:
    """The calls of a model's parts by a loss, as the entry of a kernel.

    Parameters
    ----------
    calls : sequence of Call
    exports : sequence of int
        The calls whose results the loss reads.
    """

    def __init__(self, calls: Sequence[Call], exports: Sequence[int]) -> None:
        self.calls, self.exports = tuple(calls), tuple(exports)

    def __call__(self, together: nn.Module, x: Any) -> Any:
        """The results that are exported, by a module that has the model as `model`."""
        found: list[Any] = []
        for call in self.calls:
            part = together.get_submodule(f"model.{call.part}" if call.part else "model")
            found.append(part(x if call.source < 0 else found[call.source]))
        return tuple(found[k] for k in self.exports)


@contextmanager
def answering(
    module: nn.Module, answer: Callable[[str, nn.Module, Callable[..., Any], tuple[Any, ...]], Any]
) -> Iterator[None]:
    """A while in which `answer(name, part, forward, args)` stands for the outermost calls of parts.

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


class _Recorder(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Writes operations down while PyTorch carries them out for an example.

    Attributes
    ----------
    read : set of Memory
        Of operands that an operation has taken.
    harmless : set of Memory
        Labels and what a loss is given: samples that depend on these are samples.
    """

    def __init__(self, program: Program) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.program = program
        self.is_paused = False
        self.read: set[Memory] = set()
        self.harmless: set[Memory] = set()
        self._known: dict[_Key, Operand | _Outside] = {}
        self._sharing: dict[int, set[_Key]] = {}
        self._held: list[Any] = []

    def know(self, t: Tensor, operand: Operand | _Outside) -> None:
        """Note what a tensor stands for."""
        key = _key(t)
        self._known[key] = operand
        self._hold(t)

    def _hold(self, t: Tensor) -> None:
        """Note who shares memory; it must not be used again."""
        self._sharing.setdefault(t.untyped_storage().data_ptr(), set()).add(_key(t))
        self._held.append(t)

    def known(self, t: Tensor) -> Operand | _Outside | None:
        """Return what a tensor stands for; None: it is the same for every job and step."""
        return self._known.get(_key(t))

    def operand(self, t: Tensor) -> Operand:
        """The operand of a tensor that is not from outside."""
        found = self.known(t)
        if isinstance(found, _Outside):
            raise UnsupportedError("a loss that reads samples or draws beside the model")
        if found is None:
            if t.is_complex() or t.numel() == 0:
                raise UnsupportedError(f"a tensor of type {t.dtype}")
            return self.program.constant(t)
        self.read.add(found.memory)
        return found

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        keys = kwargs or {}
        if self.is_paused:
            return func(*args, **keys)
        name = func._schema.name.partition("::")[2]
        tensors = list(tensors_in((args, tuple(keys.values()))))
        told = [self.known(t) for t in tensors]
        if torch.Tag.nondeterministic_seeded in func.tags:
            raise UnsupportedError(f"a loss that draws by PyTorch ({name})")
        writes = func._schema.is_mutable
        for t in tensors:
            self._hold(t)
        is_outside = any(isinstance(each, _Outside) for each in told) or "empty" in name
        if is_outside and tensors and name not in _FRESH:
            tainted = any(
                each is _TAINTED or (isinstance(each, Operand) and each.memory not in self.harmless)
                for each in told
            )
            result = func(*args, **keys)
            for t in tensors_in(result):
                self.know(t, _TAINTED if tainted else _OUTSIDE)
            return result
        if all(each is None for each in told) or name in _FRESH:
            result = func(*args, **keys)
            for t in tensors_in(result):
                self._hold(t)
            return result
        if writes:
            return self._written(func, name, args, keys)
        with self.paused():
            result = func(*args, **keys)
        found = self._found(func, name, result, args, keys)
        outputs = [result] if isinstance(result, Tensor) else list(result)
        for t, operand in zip(outputs, found, strict=False):
            if isinstance(t, Tensor) and t.numel():
                self._require_type(t)
                self.know(t, operand)
        return result

    def _found(
        self, func: Any, name: str, result: Any, args: Any, keys: Mapping[str, Any]
    ) -> list[Operand]:
        with self.paused():
            if func.is_view and name not in ("view", "_reshape_alias"):
                # of the operand, which may lie otherwise than the example
                value = self.operand(args[0])
                try:
                    views = viewed(value, lambda t: func(t, *args[1:], **keys))
                    return views if isinstance(views, list) else [views]
                except RuntimeError:
                    raise UnsupportedError(f"the view {name}") from None
            make = OPERATIONS.get(name)
            if make is None:
                raise UnsupportedError(f"the operation {name}")
            own, more = self._operands(args), {k: self._operands(v) for k, v in keys.items()}
            made = make(self.program, result, *own, **more)
        return list(made) if isinstance(made, list) else [made]

    def _written(self, func: Any, name: str, args: Any, keys: dict[str, Any]) -> Any:
        """An operation in place: the tensor stands for its result from now on."""
        target = args[0]
        key, storage = _key(target), target.untyped_storage().data_ptr()
        if not name.endswith("_") or self._sharing.get(storage, set()) - {key}:
            raise UnsupportedError(f"the operation {name} on a view")
        with self.paused():
            own = self._operands(args)
            if name == "copy_":
                found = self.program.map(Function.COPY, target.shape, own[1])
            else:
                make = OPERATIONS.get(name[:-1])
                if make is None:
                    raise UnsupportedError(f"the operation {name}")
                more = {k: self._operands(v) for k, v in keys.items()}
                found = make(self.program, target, *own, **more)
            result = func(*args, **keys)
        self._require_type(target)
        self.know(target, found)
        return result

    def _operands(self, value: Any) -> Any:
        if isinstance(value, Tensor):
            return self.operand(value)
        if isinstance(value, tuple | list):
            return [self._operands(v) for v in value]
        return value

    def _require_type(self, t: Tensor) -> None:
        if t.is_floating_point() and t.dtype != self.program.dtype:
            raise UnsupportedError(f"a loss that computes in {t.dtype}")
        if not t.is_floating_point() and t.dtype not in (torch.int64, torch.bool):
            raise UnsupportedError(f"a loss that computes in {t.dtype}")

    @contextmanager
    def paused(self) -> Iterator[None]:
        before, self.is_paused = self.is_paused, True
        try:
            yield
        finally:
            self.is_paused = before


class Followed(NamedTuple):
    """Record of one call of a loss.

    Attributes
    ----------
    calls : tuple of Call
        Of the model's parts.
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
    layout: Layout
    is_changed: bool
    samples: int
    operations: NDArray[np.int64]
    program: Program
    exports: int
    gradients: int
    reads_parameters: bool


class Place(NamedTuple):
    """Place of a tensor in a packed row: its begin, and the distance of rows; 0: in one piece."""

    at: int
    pitch: int


class Layout(NamedTuple):
    """Calls whose results the layers export side by side, and the widths of these."""

    calls: tuple[int, ...]
    widths: tuple[int, ...]

    def place(self, memory: Memory, call: int, samples: int) -> Operand:
        """The results of a call in the memory of all exports.

        Parameters
        ----------
        memory : Memory
            Of all exports; it gets its size.
        call : int
        samples : int

        Returns
        -------
        Operand
            (samples, width)
        """
        at, whole = self.calls.index(call), sum(self.widths)
        memory.size = samples * whole
        shape = samples, self.widths[at]
        return Operand(memory, sum(self.widths[:at]), shape, (whole, 1))


class _Follower:
    """Answers for the parts of a model, which are layers of the kernel.

    Parameters
    ----------
    recorder : _Recorder
    blank : torch.nn.Module
        The model without data, which knows the shapes.
    names : mapping of _Key to str
        Of parameters, by what they are.
    layout : Layout or None
        Of the exports, if it is known.

    Attributes
    ----------
    root : torch.Tensor or None
        The samples of which the layers are.
    calls : list of Call
    results : list of torch.Tensor
        Of each of them.
    """

    def __init__(
        self,
        recorder: _Recorder,
        blank: nn.Module,
        names: Mapping[_Key, str],
        layout: Layout | None,
    ) -> None:
        self._recorder, self._blank, self._names = recorder, blank, names
        self._layout = layout
        self.root: Tensor | None = None
        self.calls: list[Call] = []
        self.results: list[Tensor] = []
        self.operands: list[Operand] = []
        self.exported = Memory(Base.WORK, 0)

    def answer(
        self, name: str, part: nn.Module, forward: Callable[..., Any], args: tuple[Any, ...]
    ) -> Any:
        """A result of the right shape in place of what a part gives, or that itself."""
        recorder = self._recorder
        if len(args) != 1 or not isinstance(args[0], Tensor):
            return forward(*args)
        x, source = args[0], -1
        told = recorder.known(x)
        is_own = torch.is_grad_enabled() and all(
            p.requires_grad and self._names.get(_key(p)) == f"model.{name}{'.' * bool(name)}{inner}"
            for inner, p in part.named_parameters()
        )
        if isinstance(told, _Outside):
            if not is_own:
                raise UnsupportedError("a loss that calls the model with other parameters")
            if told is _TAINTED or x.requires_grad:
                raise UnsupportedError("a loss that learns what the model takes")
            if self.root is None:
                self.root = x
            elif _key(x) != _key(self.root):
                raise UnsupportedError("a loss that calls the model with samples of several kinds")
        else:
            if self.root is None:
                raise UnsupportedError("a loss that calls the model with no samples first")
            earlier = [k for k, r in enumerate(self.results) if _key(r) == _key(x)]
            if not (earlier and is_own and x.requires_grad):
                return forward(x)  # among the loss's own operations
            source = earlier[0]
        if not part.training:
            raise UnsupportedError("a loss that calls the model in evaluation mode")
        with recorder.paused(), torch._C.DisableTorchFunction():
            shape = self._shape(name, x)
            found = torch.ones(shape, dtype=recorder.program.dtype).requires_grad_()
        self.calls.append(Call(name, source))
        self.results.append(found)
        operand = Operand(Memory(Base.WORK, found.numel()), 0, shape, row_major(shape))
        if self._layout is not None and len(self.results) - 1 in self._layout.calls:
            operand = self._layout.place(self.exported, len(self.results) - 1, len(x))
        self.operands.append(operand)
        recorder.know(found, operand)
        return found

    def _shape(self, name: str, x: Tensor) -> tuple[int, ...]:
        part = self._blank.get_submodule(name)
        shape = tuple(part(torch.empty(x.shape, dtype=x.dtype, device="meta")).shape)
        if len(shape) != 2 or shape[0] != len(x):
            raise UnsupportedError(f"a part of the model whose results have shape {shape}")
        return shape


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


def follow(
    example: Example,
    vector: int,
    places: Mapping[str, Place] | None = None,
    layout: Layout | None = None,
) -> Followed:
    """Call a loss once and write down what it does.

    Parameters
    ----------
    example : Example
    vector : int
        Scalars of a vector.
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
    recorder = _Recorder(program)
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
        recorder.know(t, known)
        gradients[name] = _packed(t, place, Base.GRADIENT)
    at = 0
    for t in example.given:
        if t.dtype != dtype:
            raise UnsupportedError(f"a value of type {t.dtype} that the loss is given")
        memory = Memory(Base.INPUTS, t.numel(), at)
        recorder.harmless.add(memory)
        recorder.know(t, Operand(memory, 0, tuple(t.shape), row_major(t.shape)))
        at += t.numel()
    labels = _labels(program, batch.y)
    recorder.harmless.add(labels.memory)
    recorder.know(batch.y, labels)
    recorder.know(batch.x, _OUTSIDE)
    if batch.uniforms is not None:
        recorder.know(batch.uniforms, _OUTSIDE)
    names = {_key(t): name for name, t in tensors.items()}
    follower = _Follower(recorder, example.blank, names, layout)
    with answering(module, follower.answer), _NoReads(), recorder:
        value = call_with(example.function, tensors, (batch, learned, *example.arguments))
        if not isinstance(value, Tensor) or value.dim() or not value.requires_grad:
            raise UnsupportedError("a loss that is no number with a gradient")
        ends = [*follower.results, *trained.values()]
        found = torch.autograd.grad(value, ends, allow_unused=True)
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
        out = layout.place(by_exports, k, samples)
        program.map(Function.COPY, out.shape, value_of, out=out)
    by_trained = dict(zip(trained, found[len(follower.results) :], strict=True))
    for name, gradient in by_trained.items():
        if gradient is not None:
            program.add_to_gradient(gradients[name], recorder.operand(gradient))
    reads_parameters = any(
        by_trained[name] is not None or weights[name] in recorder.read for name in tensors
    )
    whole = [Operand(memory, 0, (), ()) for memory in (follower.exported, by_exports)]
    operations = program.finish(whole)
    return Followed(
        tuple(follower.calls),
        layout,
        _key(follower.root) != _key(batch.x),
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


def tensors_in(value: Any) -> Iterator[Tensor]:
    """Yield the tensors of a value: itself, or those of tuples and lists."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, tuple | list):
        for each in value:
            yield from tensors_in(each)
