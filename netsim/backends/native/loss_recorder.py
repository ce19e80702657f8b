"""Writes down what a loss does with tensors, while PyTorch carries it out for an example."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from netsim.backends.native.graph import UnsupportedError
from netsim.backends.native.loss_operation import Function, Memory, Operand
from netsim.backends.native.loss_operations import OPERATIONS, view_operand
from netsim.backends.native.loss_program import Program

_FRESH = {"zeros_like", "ones_like", "full_like", "new_zeros", "new_ones", "new_full"}
"""Operations whose results depend on no value of what they are given. Those of `empty_like` do:
what is written there may be written by other means."""


_LOGICAL = {"eq", "ne", "lt", "le", "gt", "ge", "logical_not", "bitwise_not"}
_LOGICAL |= {"logical_and", "bitwise_and", "logical_or", "bitwise_or"}
"""Operations whose results are 0 or 1 as they are."""


class Outside:
    """Something computed from samples or draws, of which a program knows nothing."""


OUTSIDE, TAINTED = Outside(), Outside()
"""The second depends on parameters, too."""

Key = tuple[Any, ...]


def key_of(t: Tensor) -> Key:
    """One value, whatever tensor of Python holds it: memory that is used is used once."""
    return t.data_ptr(), tuple(t.shape), tuple(t.stride()), t.dtype


class Recorder(TorchDispatchMode):  # type: ignore[no-untyped-call]
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
        self._known: dict[Key, Operand | Outside] = {}
        self._sharing: dict[int, set[Key]] = {}
        self._held: list[Tensor] = []

    def bind(self, t: Tensor, operand: Operand | Outside) -> None:
        """Note the operand that a tensor stands for."""
        key = key_of(t)
        self._known[key] = operand
        self._track_memory(t)

    def _track_memory(self, t: Tensor) -> None:
        """Note which tensors share memory, and keep it from being used again."""
        self._sharing.setdefault(t.untyped_storage().data_ptr(), set()).add(key_of(t))
        self._held.append(t)

    def lookup(self, t: Tensor) -> Operand | Outside | None:
        """Return what a tensor stands for; None: it is the same for every job and step."""
        return self._known.get(key_of(t))

    def tensors_in_memory_of(self, like: Tensor) -> list[Tensor]:
        """Return earlier tensors in the same memory."""
        storage = like.untyped_storage().data_ptr()
        return [t for t in self._held if t.untyped_storage().data_ptr() == storage]

    def operand(self, t: Tensor) -> Operand:
        """The operand of a tensor that is not from outside."""
        found = self.lookup(t)
        if isinstance(found, Outside):
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
        recorded = [self.lookup(t) for t in tensors]
        if torch.Tag.nondeterministic_seeded in func.tags:
            raise UnsupportedError(f"a loss that draws by PyTorch ({name})")
        writes = func._schema.is_mutable
        for t in tensors:
            self._track_memory(t)
        is_outside = any(isinstance(each, Outside) for each in recorded) or "empty" in name
        if is_outside and tensors and name not in _FRESH:
            tainted = any(
                each is TAINTED or (isinstance(each, Operand) and each.memory not in self.harmless)
                for each in recorded
            )
            result = func(*args, **keys)
            for t in tensors_in(result):
                self.bind(t, TAINTED if tainted else OUTSIDE)
            return result
        if all(each is None for each in recorded) or name in _FRESH:
            result = func(*args, **keys)
            for t in tensors_in(result):
                self._track_memory(t)
            return result
        if writes:
            return self._record_in_place(func, name, args, keys)
        with self.paused():
            result = func(*args, **keys)
        found = self._record_operation(func, name, result, args, keys)
        if name == "_to_copy":
            self._require_no_rounding(args[0], result)
        outputs = [result] if isinstance(result, Tensor) else list(result)
        for t, operand in zip(outputs, found, strict=False):
            if isinstance(t, Tensor) and t.numel():
                self._require_type(t)
                self.bind(t, operand if name in _LOGICAL else self._typed(t, operand))
        return result

    def _typed(self, t: Tensor, value: Operand) -> Operand:
        """Truth values are 0 or 1, whatever number they were made of; numbers as they are."""
        if t.dtype != torch.bool:
            return value
        return self.program.map(Function.UNEQUAL, value.shape, value, self.program.scalar(0.0))

    @staticmethod
    def _require_no_rounding(source: Any, result: Tensor) -> None:
        if (
            isinstance(source, Tensor)
            and source.is_floating_point()
            and result.dtype == torch.int64
        ):
            raise UnsupportedError("a loss that rounds to whole numbers")

    def _record_operation(
        self, func: Any, name: str, result: Any, args: Any, keys: Mapping[str, Any]
    ) -> list[Operand]:
        with self.paused():
            if func.is_view and name not in ("view", "_reshape_alias"):
                # of the operand, which may lie otherwise than the example
                value = self.operand(args[0])
                try:
                    views = view_operand(value, lambda t: func(t, *args[1:], **keys))
                    return views if isinstance(views, list) else [views]
                except RuntimeError:
                    raise UnsupportedError(f"the view {name}") from None
            make = OPERATIONS.get(name)
            if make is None:
                raise UnsupportedError(f"the operation {name}")
            own, more = self._operands(args), {k: self._operands(v) for k, v in keys.items()}
            made = make(self.program, result, *own, **more)
        return list(made) if isinstance(made, list) else [made]

    def _record_in_place(self, func: Any, name: str, args: Any, keys: dict[str, Any]) -> Any:
        """An operation in place: the tensor stands for its result from now on."""
        target = args[0]
        key, storage = key_of(target), target.untyped_storage().data_ptr()
        if not name.endswith("_") or self._sharing.get(storage, set()) - {key}:
            raise UnsupportedError(f"the operation {name} on a view")
        with self.paused():
            own = self._operands(args)
            if name == "copy_":
                self._require_no_rounding(args[1], target)
                found = self.program.map(Function.COPY, target.shape, own[1])
            else:
                make = OPERATIONS.get(name[:-1])
                if make is None:
                    raise UnsupportedError(f"the operation {name}")
                more = {k: self._operands(v) for k, v in keys.items()}
                found = make(self.program, target, *own, **more)
            result = func(*args, **keys)
        self._require_type(target)
        self.bind(target, self._typed(target, found))
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


def tensors_in(value: Any) -> Iterator[Tensor]:
    """Yield the tensors of a value: itself, or those of tuples and lists."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, tuple | list):
        for each in value:
            yield from tensors_in(each)
