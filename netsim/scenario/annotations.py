"""The numbers of a scenario, and what the types of their keys are annotated with."""

from collections.abc import Iterator, Mapping
from typing import Any, get_args

from netsim.registry import OffClock, Plausible, Recurs, Table, once_a_class
from netsim.scenario.draft import KeyPath
from netsim.units import is_number

Mark = OffClock | Plausible | Recurs


def numbers(table: Any, path: KeyPath = ()) -> Iterator[tuple[KeyPath, float, tuple[Mark, ...]]]:
    """Key path, value and marks of every key that is a number, in a table and those inside it.

    Parameters
    ----------
    table : Table
    path : tuple of (str or int)
        Its own.
    """
    kind: Any = type(table)
    marks = _marks(kind)
    for key in kind.model_fields:
        value, below = getattr(table, key, None), (*path, *(() if key == "params" else (key,)))
        if isinstance(value, Table):
            yield from numbers(value, below)
        elif isinstance(value, tuple):
            for i, entry in enumerate(value):
                if isinstance(entry, Table):
                    yield from numbers(entry, (*below, i))
        elif is_number(value):
            yield below, value, marks[key]


def written(path: KeyPath, raw: Mapping[str, Any]) -> KeyPath:
    """A key path as a file has it, where one table stands for a list of one."""
    single = len(path) > 1 and isinstance(raw.get(str(path[0])), dict)
    return (path[0], *path[2:]) if single and isinstance(path[1], int) else path


@once_a_class
def _marks(table: Any) -> dict[str, tuple[Mark, ...]]:
    """Annotations of all branches of a key's type, by key."""
    found = {}
    for key, info in table.model_fields.items():
        waiting: list[Any] = [*info.metadata, info.annotation]
        marks = []
        while waiting:
            one = waiting.pop()
            marks += [one] if isinstance(one, Mark) else []
            waiting += get_args(one)
        found[key] = tuple(marks)
    return found
