"""Numbers and texts of modules that recorded functions read, held to what they were at first.

What is computed later reads its module's names then, not when it was asked for, and what was
compiled from a function has the values of that time in it; so a function of values reads no name
that changes in a run. Only plain values are watched, and none that a function sets itself, as a
count of its calls: tables and modules that functions fill once are no part of this.
"""

import dis
from collections.abc import Callable, Iterator
from inspect import unwrap
from types import CodeType, FunctionType
from typing import Any, NamedTuple

from netsim.errors import ProtocolError
from netsim.learning.calling_place import calling_line

_PLAIN = (bool, int, float, complex, str, bytes)


class _Name(NamedTuple):
    """A name of a module that a function reads, and its value at first."""

    table: dict[str, Any]
    name: str
    value: object


class ReadGlobals:
    """Plain values of modules that the functions of one run read."""

    def __init__(self) -> None:
        self._read: dict[Callable[..., Any], tuple[_Name, ...]] = {}

    def recorded(self, function: Callable[..., Any]) -> None:
        """Note a function that is called later.

        Parameters
        ----------
        function : callable

        Raises
        ------
        ProtocolError
            If a value that it reads is another one than when it was noted first.
        """
        names = self._read.get(function)
        if names is None:
            self._read[function] = tuple(_plain_names(function))
        elif names:
            _require_same(function, names)

    def require_unchanged(self) -> None:
        """Refuse to call functions that read what has changed; as `recorded`."""
        for function, names in self._read.items():
            if names:
                _require_same(function, names)


def _require_same(function: Callable[..., Any], names: tuple[_Name, ...]) -> None:
    for table, name, value in names:
        now = table.get(name)
        if now is value or (type(now) is type(value) and _is_plain(now) and now == value):
            continue
        raise ProtocolError(
            f"{function.__qualname__} reads {name} of its module, which was {value!r} and is now "
            f"{now!r}; what is computed later must read its arguments and nothing that changes: "
            f"give {name} as an argument{calling_line()}"
        )


def _is_plain(value: object) -> bool:
    return isinstance(value, _PLAIN) or (isinstance(value, tuple) and all(map(_is_plain, value)))


def _plain_names(function: Callable[..., Any]) -> Iterator[_Name]:
    """Names of plain values that a function and others of its module that it calls read."""
    waiting, seen = [unwrap(function)], set[int]()
    while waiting:
        one = waiting.pop()
        if not isinstance(one, FunctionType) or id(one) in seen:
            continue
        seen.add(id(one))
        table = one.__globals__
        codes, read, written = [one.__code__], dict[str, None](), set[str]()
        while codes:
            code = codes.pop()
            codes += [c for c in code.co_consts if isinstance(c, CodeType)]
            for step in dis.get_instructions(code):
                if step.opname == "LOAD_GLOBAL":
                    read[step.argval] = None
                elif step.opname == "STORE_GLOBAL":
                    written.add(step.argval)
        for name in read:
            value = table.get(name)
            if isinstance(value, FunctionType) and value.__globals__ is table:
                waiting.append(value)
            elif name not in written and _is_plain(value):
                yield _Name(table, name, value)
