"""Values of modules that recorded functions read, held to what they were at first.

What is computed later reads its module's names then, not when it was asked for, and what was
compiled from a function has the values of that time in it; so a function of values reads nothing
that changes in a run. Watched are, in the functions and in all of the user's that they call by
name or as an attribute of a module:

- numbers and texts, by the name of the module (`FACTOR`) or along attributes (`settings.factor`,
  `TABLE.row.factor`);
- lists, tuples, sets and dicts of them, arrays and tensors, and these within each other;
- all that in losses, functions of `compute` and `measure`, and what published models predict with.

Not watched is what a function sets itself, as a count of its calls or a table that it fills once;
containers of more than `MOST` entries, arrays of more than `MOST_BYTES`, and other objects.
"""

import dis
import sys
from collections.abc import Callable, Iterator
from inspect import unwrap
from types import CodeType, FunctionType, ModuleType
from typing import Any, NamedTuple

import numpy as np
import torch

from netsim.errors import ProtocolError
from netsim.learning.calling_line import calling_line

MOST = 1000
"""Entries of a container, those within it included, that is watched."""
MOST_BYTES = 1 << 16
"""Bytes of an array whose values are watched; of a tensor of more than 4096 its writes are."""

_PLAIN = (bool, int, float, complex, str, bytes)
_PLAINS = frozenset(_PLAIN)
_FOREIGN = {"torch", "numpy", "scipy", "networkx", "netsim", *sys.stdlib_module_names}
_FOREIGN -= {"__main__"}
_FILLS = frozenset(("append", "add", "update", "setdefault", "pop", "extend", "clear", "insert"))
_FILLS |= {"remove", "discard", "popitem", "fill"} | {"copy_", "fill_", "zero_", "add_", "mul_"}
"""Methods by which a function fills a table of its own."""
_UNWATCHED = object()


class _Read(NamedTuple):
    """A name of a module that a function reads, what it was at first, and where it leads."""

    table: dict[str, Any]
    path: tuple[str, ...]
    value: object


class ReadGlobals:
    """Values of modules that the functions of one run read."""

    def __init__(self) -> None:
        self._read: dict[Callable[..., Any], tuple[_Read, ...]] = {}
        self._plain: dict[Callable[..., Any], tuple[_Read, ...]] = {}

    def note_function(self, function: Callable[..., Any]) -> None:
        """Note a function that is called later.

        Parameters
        ----------
        function : callable

        Raises
        ------
        ProtocolError
            If a number or text that it reads is another one than when it was noted first. Tables
            are looked at once for all that is computed together, by `require_unchanged`.
        """
        reads = self._plain.get(function)
        if reads is None:
            self._read[function] = found = tuple(_reads(function))
            self._plain[function] = tuple(one for one in found if isinstance(one.value, _PLAIN))
        elif reads:
            _require_same(function, reads)

    def require_unchanged(self) -> None:
        """Refuse to call functions that read what has changed; as `note_function`."""
        for function, reads in self._read.items():
            if reads:
                _require_same(function, reads)


def _require_same(function: Callable[..., Any], reads: tuple[_Read, ...]) -> None:
    for table, path, value in reads:
        found = table.get(path[0]) if len(path) == 1 else _value_at(table, path)
        if found is value and isinstance(value, _PLAIN):
            continue
        now = _snapshot(found)
        if now is value or (type(now) is type(value) and now == value):
            continue
        name = ".".join(path)
        raise ProtocolError(
            f"{function.__qualname__} reads {name} of its module, which was {_value_text(value)} "
            "and is "
            f"now {_value_text(now)}; what is computed later must read its arguments and nothing "
            f"that changes: give {name} as an argument{calling_line()}"
        )


def _value_text(value: object) -> str:
    if value is _UNWATCHED:
        return "an object"
    if isinstance(value, _Values):
        return value.said
    if isinstance(value, tuple):  # a container
        is_flat = len(value) == 3 and isinstance(value[1], tuple)
        value = value[1] if is_flat else f"other contents of a {value[0]}"
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:76]} ..."


# -- which values a function reads ---------------------------------------------------------------


def _reads(function: Callable[..., Any]) -> Iterator[_Read]:
    """Yield the values that a function, and others of the user's that it calls, read."""
    waiting, seen = [unwrap(function)], set[int]()
    found: list[tuple[dict[str, Any], tuple[str, ...], Any]] = []
    written, filled = set[str](), set[int]()
    while waiting:
        one = waiting.pop()
        if not isinstance(one, FunctionType) or id(one) in seen or _is_foreign(one):
            continue
        seen.add(id(one))
        table = one.__globals__
        paths, sets, fills = _paths(one.__code__)
        written |= sets
        for path in paths:
            value = _value_at(table, path)
            if isinstance(value, FunctionType):
                waiting.append(unwrap(value))
            else:
                found.append((table, path, value))
                filled |= {id(value)} if fills and isinstance(value, _KEPT) else set()
    for table, path, value in found:
        held = _UNWATCHED if path[-1] in written or id(value) in filled else _snapshot(value)
        if held is not _UNWATCHED:
            yield _Read(table, path, held)


def _is_foreign(function: FunctionType) -> bool:
    """Return whether a function is a library's, which keeps nothing of the user's."""
    module = function.__module__ or ""
    return module.partition(".")[0] in _FOREIGN and not module.startswith("netsim.algorithms.")


def _paths(code: CodeType) -> tuple[dict[tuple[str, ...], None], set[str], bool]:
    """Names and attributes that code reads and sets, and whether it fills a table.

    Returns
    -------
    paths : dict of tuple of str
        Of a module's names, each with the attributes that are taken of it.
    written : set of str
        Names and attributes that it sets.
    fills : bool
        Whether it sets items, or calls a method that changes a container.
    """
    paths, written, fills, codes = dict[tuple[str, ...], None](), set[str](), False, [code]
    while codes:
        code = codes.pop()
        codes += [c for c in code.co_consts if isinstance(c, CodeType)]
        path: tuple[str, ...] = ()
        for step in dis.get_instructions(code):
            if step.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
                path = (step.argval,)
                paths[path] = None
            elif step.opname in ("LOAD_ATTR", "LOAD_METHOD") and path:
                path = (*path, step.argval)
                paths[path] = None
                fills = fills or step.argval in _FILLS
            elif step.opname not in ("CACHE", "PUSH_NULL"):
                path = ()
            if step.opname in ("STORE_GLOBAL", "STORE_ATTR", "DELETE_GLOBAL", "DELETE_ATTR"):
                written.add(step.argval)
            fills = fills or step.opname in ("STORE_SUBSCR", "DELETE_SUBSCR")
    return paths, written, fills


def _value_at(table: dict[str, Any], path: tuple[str, ...]) -> Any:
    """The value at the end of a path, without running code of the user's; else `_UNWATCHED`."""
    found = table.get(path[0], _UNWATCHED)
    for name in path[1:]:
        if isinstance(found, ModuleType):
            found = vars(found).get(name, _UNWATCHED)
        elif isinstance(found, torch.Tensor | np.ndarray | FunctionType):
            return _UNWATCHED  # its attributes are no state of the user's
        else:
            found = _attribute(found, name)
        if found is _UNWATCHED:
            break
    return found


def _attribute(owner: Any, name: str) -> Any:
    """An attribute as an object or its classes keep it: no property is called."""
    kept = getattr(owner, "__dict__", None)
    if isinstance(kept, dict) and name in kept:
        return kept[name]
    of = owner if isinstance(owner, type) else type(owner)
    for kind in of.__mro__:
        if name in vars(kind):
            found = vars(kind)[name]
            runs_code = hasattr(type(found), "__get__") and not isinstance(found, FunctionType)
            return _UNWATCHED if runs_code else found
    return _UNWATCHED


# -- what they are -------------------------------------------------------------------------------


class _Values:
    """Contents of an array or tensor; equal only where these are, bit by bit."""

    __slots__ = ("_held", "said")

    def __init__(self, said: str, held: object) -> None:
        self.said, self._held = said, held

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Values) and self._held == other._held

    __hash__ = None  # type: ignore[assignment]


def _snapshot(value: Any) -> Any:
    """A value as it is now, which no later change reaches; `_UNWATCHED` for other objects."""
    if isinstance(value, _PLAIN):
        return value
    left = [MOST]
    return _copy_value(value, left) if isinstance(value, _KEPT) else _UNWATCHED


_KEPT = (list, tuple, dict, set, frozenset, np.ndarray, torch.Tensor)


def _copy_value(value: Any, left: list[int]) -> Any:
    left[0] -= 1
    if left[0] < 0:
        return _UNWATCHED
    if value is None or isinstance(value, _PLAIN):
        return (type(value), value)
    if isinstance(value, np.ndarray | torch.Tensor):
        return _values(value)
    if (
        isinstance(value, list | tuple)
        and len(value) <= MOST
        and _PLAINS.issuperset(map(type, value))
    ):
        return (type(value).__name__, tuple(value), tuple(map(type, value)))
    if isinstance(value, dict):
        parts: Any = [part for pair in value.items() for part in pair]
    elif isinstance(value, list | tuple):
        parts = value
    elif isinstance(value, set | frozenset):
        whole = len(value) <= MOST and all(isinstance(one, _PLAIN) for one in value)
        return frozenset(value) if whole else _UNWATCHED
    else:
        return _UNWATCHED
    if len(parts) > MOST:
        return _UNWATCHED
    found = []
    for part in parts:
        found.append(_copy_value(part, left))
        if found[-1] is _UNWATCHED:
            return _UNWATCHED
    return (type(value).__name__, *found)


def _values(array: Any) -> Any:
    """Contents of an array or tensor; of a large tensor how often it was written to."""
    is_tensor = isinstance(array, torch.Tensor)
    shape = tuple(array.shape)
    if is_tensor and (array.nbytes > 1 << 12 or array.device.type != "cpu"):
        held = (id(array), array._version)
        return _Values(f"a tensor {shape}, written {array._version} times", held)
    if is_tensor:
        if array.layout is not torch.strided:
            return _UNWATCHED
        array = array.detach().contiguous().reshape(-1).view(torch.uint8).numpy()
    elif array.nbytes > MOST_BYTES or array.dtype.hasobject:
        return _UNWATCHED
    few = f" {np.asarray(array).reshape(-1)[:4].tolist()}" if not is_tensor else ""
    return _Values(f"an array {shape}{few}", (str(array.dtype), shape, array.tobytes()))
