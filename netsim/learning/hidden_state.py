"""State that a module's passes keep in Python, beside parameters and buffers.

A run has one module for all its nodes, so a counter in an attribute would count the passes of all.
It is found by looking before and after some passes, wherever a pass may reach it: attributes of the
module, of objects that it holds and of its class, closures, defaults, and the globals that its
functions name.
"""

from __future__ import annotations

import math
import random
import types
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import nn

from netsim.learning.functions import WrittenInPlaceError, place_of

is_of_lanes = torch._C._functorch.is_functorch_wrapped_tensor
"""Return whether a tensor is of a `vmap`; after its end nothing can be read of it."""

PROBES = (1e30, -1e30, math.nan)
"""Values that are written over real numbers which passes change, to find out whether they read
them."""

_HOOKS = {key for key in vars(nn.Module()) if key.endswith("_hooks")}
_OF_TORCH = {"training", *vars(nn.Module())} - _HOOKS
"""Attributes of every module that hold nothing of a user's, or are looked at elsewhere."""

_FEW = 1000
"""A container of more entries is a store of something, and is not looked at."""

_DEEP = 4
"""Containers, objects and functions within one another that are looked into."""

_FOREIGN = ("torch", "numpy", "netsim", "builtins", "typing", "logging", "threading", "warnings")
"""Packages whose functions and objects keep nothing of a user's."""

_LOOKS = 3
"""Calls of a function with a module that are looked at: what the first makes, the second finds."""


def hidden_state(module: nn.Module) -> dict[str, object]:
    """Numbers, texts and places of iterators that a module's passes can reach, by name.

    Tensors and arrays of real numbers are apart, in `hidden_reals`.

    Parameters
    ----------
    module : torch.nn.Module
    """
    return _found_in(module).values


def hidden_reals(module: nn.Module) -> dict[str, torch.Tensor]:
    """Tensors and arrays of real numbers that a module's passes can reach, by name.

    Those are left out that have their memory in common with its parameters or buffers.

    Parameters
    ----------
    module : torch.nn.Module
    """
    own = [*module.parameters(), *module.buffers()]
    places = {t.untyped_storage().data_ptr() for t in own}
    found = _found_in(module).reals.items()
    return {n: t for n, t in found if t.untyped_storage().data_ptr() not in places}


def aliases_of(module: nn.Module) -> dict[str, torch.Tensor]:
    """Tensors that a module's passes can reach and that have memory of its parameters, by name.

    Parameters
    ----------
    module : torch.nn.Module
    """
    places = {t.untyped_storage().data_ptr() for t in module.parameters()}
    found = _found_in(module).reals.items()
    return {n: t for n, t in found if t.untyped_storage().data_ptr() in places}


def reached_parts(module: nn.Module) -> list[tuple[str, nn.Module | torch.Tensor]]:
    """Tensors and modules that a module's functions and attributes reach, by name.

    Its own parameters, buffers and submodules are left out, unless a function reaches them.

    Parameters
    ----------
    module : torch.nn.Module
    """
    found = _found_in(module)
    return [*found.parts, *found.reals.items()]


@contextmanager
def overwritten(tensors: Iterable[torch.Tensor], value: float) -> Iterator[None]:
    """Write one value over tensors for a while: what reads them first shows it.

    Parameters
    ----------
    tensors : iterable of torch.Tensor
    value : float
    """
    before = [(t, t.clone()) for t in tensors]
    try:
        for tensor, _ in before:
            tensor.fill_(value)
        yield
    finally:
        for tensor, values in before:
            tensor.copy_(values)


def read_reals(
    module: nn.Module, before: dict[str, torch.Tensor], again: Callable[[], Iterable[torch.Tensor]]
) -> list[str]:
    """Names of real numbers that passes change and read: another value gives another outcome.

    An attribute that is written before it is read harms nobody.

    Parameters
    ----------
    module : torch.nn.Module
    before : dict of str to torch.Tensor
        Copies of its `hidden_reals` before the passes.
    again : callable
        The same pass again, and its results.
    """
    now = hidden_reals(module)
    other = [n for n, t in now.items() if n in before and not _same_numbers(t, before[n])]
    known = list(again()) if other else []
    for value in PROBES if other else ():
        with overwritten([now[n] for n in other], value):
            found = list(again())
        if not all(map(_same_numbers, found, known)):
            return other
    return []


class FirstCalls:
    """First calls of functions that are given modules: these must keep nothing on them."""

    def __init__(self) -> None:
        self._calls = Counter[tuple[Callable[..., Any], int]]()

    @contextmanager
    def looked_at(
        self,
        function: Callable[..., Any],
        module: nn.Module,
        again: Callable[[], Iterable[torch.Tensor]],
    ) -> Iterator[None]:
        """Look before and after a call, or several of one node.

        Parameters
        ----------
        function : callable
        module : torch.nn.Module
        again : callable
            Calls it once more, in the same way at each time.

        Raises
        ------
        WrittenInPlaceError
            Naming the function and the attribute.
        """
        key = (function, id(module))
        if self._calls[key] == _LOOKS:
            yield
            return
        before = hidden_state(module)
        is_near = all(parameter.device.type == "cpu" for parameter in module.parameters())
        found = hidden_reals(module) if is_near else {}  # on a GPU, looking would wait for it
        reals = {name: tensor.clone() for name, tensor in found.items()}
        yield
        changed = _kept(module, changed_names(before, hidden_state(module)), again)
        if is_near and not changed:
            changed = read_reals(module, reals, again)
        if changed:
            raise WrittenInPlaceError(
                f"{place_of(function)} changes {changed[0]} of the model, and a run has one module "
                "for all nodes; keep it on the node, and give it to the function as an argument"
            )
        self._calls[key] += 1


def _kept(
    module: nn.Module, changed: list[str], again: Callable[[], Iterable[torch.Tensor]]
) -> list[str]:
    """Those of changed names that are not of an attribute which each call sets anew."""
    for path, part in module.named_modules() if changed else ():
        attributes = vars(part)
        for key in [key for key in attributes if key not in _OF_TORCH | _HOOKS]:
            root = f"{path}.{key}" if path else key
            own = [n for n in changed if n == root or n.startswith((f"{root}.", f"{root}["))]
            if own and _is_set_anew(module, attributes, key, own, again):
                changed = [name for name in changed if name not in own]
    return changed


def _is_set_anew(
    module: nn.Module,
    attributes: dict[str, Any],
    key: str,
    names: list[str],
    again: Callable[[], Iterable[torch.Tensor]],
) -> bool:
    """Return whether a call sets an attribute before it reads it, and to the same, as a size."""
    known, state = list(again()), hidden_state(module)
    for nothing in (None, object()):
        before, attributes[key] = attributes[key], nothing
        try:
            found = list(again())
        except Exception:
            attributes[key] = before
            return False
        now = hidden_state(module)
        if not all(map(_same_numbers, found, known)) or any(now.get(n) != state[n] for n in names):
            attributes[key] = before
            return False
    return True


def _found_in(module: nn.Module) -> _StateValues:
    found = _StateValues()
    for name, part in module.named_modules():
        before = f"{name}." if name else ""
        for key, value in vars(part).items():
            if key not in _OF_TORCH:
                found.collect(before + key, value)
        for kind in type(part).__mro__:
            if not _is_foreign(kind):
                for key, value in vars(kind).items():
                    if not key.startswith("__"):
                        found.collect(f"{kind.__name__}.{key}", value)
    return found


def changed_names(before: dict[str, object], after: dict[str, object]) -> list[str]:
    """Names whose values differ; a name in only one of both is no change.

    Parameters
    ----------
    before, after : dict of str to object
        Of `hidden_state`.
    """
    return [name for name, value in before.items() if name in after and after[name] != value]


def _same_numbers(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Return whether two tensors are the same, nan included."""
    return one.shape == other.shape and torch.equal(one.nan_to_num(), other.nan_to_num())


def _is_foreign(thing: Any) -> bool:
    """Return whether a class or function is of a library."""
    return (getattr(thing, "__module__", None) or "builtins").partition(".")[0] in _FOREIGN


class _StateValues:
    """Values that have been found so far."""

    def __init__(self) -> None:
        self.values: dict[str, object] = {}
        self.reals: dict[str, torch.Tensor] = {}
        self.parts: list[tuple[str, nn.Module | nn.Parameter]] = []
        self._seen: dict[int, Any] = {}  # kept, so that no other object gets one's place

    def collect(self, name: str, value: Any, depth: int = _DEEP) -> None:
        """Add a number, or the numbers within a value, to `values`."""
        if isinstance(value, bool | int | float | complex | str | bytes):
            self.values[name] = value
            return
        if isinstance(value, nn.Module | nn.Parameter):
            self.parts.append((name, value))
        known = value is None or isinstance(value, nn.Module | type | types.ModuleType)
        if known or not depth or id(value) in self._seen:
            return
        self._seen[id(value)] = value
        reals = _reals(value)
        if reals is not None:
            self.reals[name] = reals
            return
        state = _state(value)
        if state is not None:
            self.values[name] = state
            return
        for key, one in _parts_of(value):
            self.collect(f"{name}{key}", one, depth - 1)


def _state(value: Any) -> object | None:
    """State of a generator of random numbers, or of whole numbers in one place."""
    if isinstance(value, random.Random):
        return value.getstate()
    if isinstance(value, np.random.Generator):
        return repr(value.bit_generator.state)
    if isinstance(value, np.random.RandomState):
        return repr(value.get_state(legacy=False))
    if isinstance(value, torch.Generator):
        return value.get_state().numpy().tobytes()
    if isinstance(value, Iterator) and type(value).__module__ in ("builtins", "itertools"):
        return _iterator_position(value)
    if isinstance(value, set | frozenset):
        return frozenset(value) if len(value) <= _FEW else None
    if isinstance(value, torch.Tensor):
        is_plain = value.device.type == "cpu" and value.layout is torch.strided
        is_plain = is_plain and not is_of_lanes(value)
        if is_plain and not value.is_floating_point() and not value.is_complex():
            return _InPlace(value, value.numpy(force=True).tobytes())
    elif isinstance(value, np.ndarray) and value.dtype.kind in "iub":
        return _InPlace(value, value.tobytes())
    return None


def _reals(value: Any) -> torch.Tensor | None:
    """Real numbers that are written in place; None if it is something else."""
    if isinstance(value, np.ndarray) and value.dtype.kind == "f" and value.flags.writeable:
        return torch.from_numpy(value) if value.dtype in (np.float32, np.float64) else None
    if not isinstance(value, torch.Tensor) or isinstance(value, nn.Parameter):
        return None
    if value.layout is not torch.strided or not value.is_floating_point():
        return None
    if is_of_lanes(value):
        return None
    is_expanded = any(n > 1 and not s for n, s in zip(value.shape, value.stride(), strict=True))
    return None if is_expanded or value.is_inference() else value.data


def _iterator_position(value: Any) -> object | None:
    """Place of an iterator, as far as numbers tell it."""
    if isinstance(value, list | tuple):
        return tuple(map(_iterator_position, value)) if len(value) <= _FEW else len(value)
    if isinstance(value, Iterator) and not isinstance(value, types.GeneratorType):
        try:
            return _iterator_position(value.__reduce__()[1:])
        except TypeError:  # one that does not tell where it is
            return None
    return value if isinstance(value, bool | int | float | str | range) else None


class _InPlace:
    """Contents of an array; another array in its place is no change of it."""

    def __init__(self, array: Any, contents: bytes) -> None:
        self._array, self._contents = array, contents

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _InPlace) or other._array is not self._array:
            return True
        return other._contents == self._contents

    __hash__ = None  # type: ignore[assignment]


def _parts_of(value: Any) -> Iterable[tuple[str, Any]]:
    """Parts of a container, a function, an iterator or an object, each with the end of its name."""
    if isinstance(value, list | tuple | deque | dict):
        if len(value) > _FEW:
            return []
        pairs = value.items() if isinstance(value, dict) else enumerate(value)
        return [(f"[{key!r}]", one) for key, one in list(pairs)]
    if isinstance(value, staticmethod | classmethod | types.MethodType):
        of = [] if isinstance(value, staticmethod | classmethod) else [("", value.__self__)]
        return [("", value.__func__), *of]
    if isinstance(value, types.FunctionType):
        return [] if _is_foreign(value) else _reachable_objects(value)
    if isinstance(value, types.GeneratorType):
        frame = value.gi_frame
        return [] if frame is None else [("", frame.f_lasti), *_attribute_items(frame.f_locals)]
    if isinstance(value, torch.Tensor | np.ndarray):
        return []
    if isinstance(value, property):
        return [("", f) for f in (value.fget, value.fset) if f is not None]
    slots = [s for kind in type(value).__mro__ for s in getattr(kind, "__slots__", ())]
    if _is_foreign(type(value)):
        return []
    return [
        *_attribute_items(getattr(value, "__dict__", {})),
        *_attribute_items(_slots(value, slots)),
    ]


def _slots(value: Any, names: Iterable[str]) -> dict[str, Any]:
    missing = object()
    found = {name: getattr(value, name, missing) for name in names}
    return {name: one for name, one in found.items() if one is not missing}


def _attribute_items(table: dict[str, Any]) -> list[tuple[str, Any]]:
    return [(f".{key}", one) for key, one in list(table.items())[:_FEW]]


def _reachable_objects(function: types.FunctionType) -> list[tuple[str, Any]]:
    """Objects that a function keeps or names: its closure, defaults, attributes and globals."""
    names, codes = set[str](), [function.__code__]
    while codes:  # functions within it name globals, too
        code = codes.pop()
        names.update(code.co_names)
        codes += [c for c in code.co_consts if isinstance(c, types.CodeType)]
    found: list[tuple[str, Any]] = []
    for key, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            found.append((f".{key}", cell.cell_contents))
        except ValueError:  # it is empty
            continue
    found += [(f".defaults[{k}]", one) for k, one in enumerate(function.__defaults__ or ())]
    found += _attribute_items(function.__kwdefaults__ or {})
    found += _attribute_items(vars(function))
    given = function.__globals__
    return found + [(f".{key}", given[key]) for key in sorted(names) if key in given]
