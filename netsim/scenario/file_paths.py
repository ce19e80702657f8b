"""File names in a scenario, found by their type: `FilePath` and `FolderPath` of any table.

They become absolute where the file that states them is read, so that a scenario written
elsewhere, such as the one in a run folder, still names the same files.
"""

from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_args, get_origin

from netsim.errors import ScenarioError, one_line
from netsim.registry import Choice, OnDisk, Table, once_a_class
from netsim.scenario.draft import LISTS, KeyPath
from netsim.scenario.tables import Scenario
from netsim.traces.files import is_file, spelt_out

M = TypeVar("M")
ANY = "*"
"""In a key path: every entry of a list, every key of a mapping."""
STATED: dict[str, dict[str, Any]] = {"netsim.data.drifts": {"at_s": 1.0}}
"""Families of which a scenario has a list, and keys that each entry of it must state."""


def with_absolute_paths(
    value: Any, folder: Path, named: Mapping[KeyPath, OnDisk], path: KeyPath = ()
) -> Any:
    """Tables, or a value at a key path, with absolute file names.

    The name of a file becomes absolute only if the file is there; else it may be below the data
    folder.

    Parameters
    ----------
    value : object
        What a file or a command line says, the values of its sweep included.
    folder : Path
        What names are relative to.
    named : mapping of key path to OnDisk
        What keys of a scenario name files, as `keys_on_disk` gives them.
    path : tuple of (str or int)
        Where the value stands.

    Returns
    -------
    object
        A copy of `value`.
    """
    if isinstance(value, dict):
        return {
            key: with_absolute_paths(inner, folder, named, (*path, *key.split(".")))
            for key, inner in value.items()
        }
    if isinstance(value, list):
        swept = path[:2] in (("sweep", "over"), ("sweep", "draw"))
        inside = path[2:] if swept else (*path, ANY)
        return [with_absolute_paths(inner, folder, named, inside) for inner in value]
    if path[0:1] + path[2:3] == ("changes", "set"):
        path = path[3:]
    if path[0:1] == ("algorithm",) and "set" in path[1:3]:
        path = path[path.index("set") + 1 :]
    kind = _named_on_disk(path, named) if isinstance(value, str) else None
    if kind is None:
        return value
    beside = (folder / spelt_out(value)).absolute()
    if kind.what != "folder" and not is_file(beside):
        return value
    if any("\ud800" <= sign <= "\udfff" for sign in str(beside)):
        raise ScenarioError(
            f'"{one_line(value)}": lies at {one_line(beside)}, whose name is not UTF-8, which no '
            "scenario can state; rename the folder or the file"
        )
    return str(beside)


def path_keys(table: type[Table]) -> dict[KeyPath, OnDisk]:
    """The key paths of everything on disk that a table and the tables inside it may name.

    Of a component they are those of all its kinds together.
    """
    return dict(marked_keys(table, OnDisk))


def marked_keys(table: type[Table], mark: type[M]) -> Iterator[tuple[KeyPath, M]]:
    """The key paths with an annotation of one class, of a table and the tables inside it."""
    return ((path, found) for path, found in _annotations(table, True) if isinstance(found, mark))


def _named_on_disk(path: KeyPath, named: Mapping[KeyPath, OnDisk]) -> OnDisk | None:
    for keys, kind in named.items():
        if len(keys) == len(path) and all(k in (p, ANY) for p, k in zip(path, keys, strict=True)):
            return kind
    return None


@once_a_class
def _annotations(table: type[Table], outermost: bool) -> tuple[tuple[KeyPath, Any], ...]:
    """Key paths and annotations of a table's keys and of the tables inside it, each walked once.

    Unions, lists and mappings of types are walked down to the annotated ones, in order.
    """
    found: list[tuple[KeyPath, Any]] = []
    for key, field in table.model_fields.items():
        found += [((key,), mark) for mark in field.metadata]
        waiting: list[tuple[KeyPath, Any]] = [((key,), field.annotation)]
        while waiting:
            path, annotation = waiting.pop()
            if isinstance(annotation, type) and issubclass(annotation, Table):
                inside = _annotations(annotation, False)
                found += [((*path, *below), mark) for below, mark in inside]
                continue
            parts, origin = get_args(annotation), get_origin(annotation)
            if origin is Annotated:
                found += [(path, mark) for mark in parts[1:]]
                parts = parts[:1]
            entries = [(*path, ANY)] if origin in (tuple, list, dict) else [path]
            if entries != [path] and outermost and path in LISTS:
                entries.append(path)  # one table may stand for a list of one
            waiting += [(at, part) for part in reversed(parts) for at in reversed(entries)]
    return tuple(found)


@cache
def first_key(package: str) -> KeyPath:
    """The first key of a scenario that takes one of a family, else that of a list of them."""
    paths = [path for path, mark in marked_keys(Scenario, Choice) if mark.package == package]
    return next((path for path in paths if ANY not in path), paths[0][:-1])
