"""File names in a scenario, found by their type: `FilePath` and `FolderPath` of any table.

They become absolute where the file that states them is read, so that a scenario written
elsewhere, such as the one in a run folder, still names the same files.
"""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any, get_args, get_origin

from netsim.registry import OnDisk, Table
from netsim.scenario.draft import LISTS, KeyPath
from netsim.scenario.tables import Scenario
from netsim.traces.files import is_file, spelt_out

ANY = "*"
"""In a key path: every entry of a list, every key of a mapping."""


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
    kind = _named_on_disk(path, named) if isinstance(value, str) else None
    if kind is None:
        return value
    beside = (folder / spelt_out(value)).absolute()
    return str(beside) if kind.what == "folder" or is_file(beside) else value


def keys_on_disk(modules: Mapping[str, ModuleType]) -> dict[KeyPath, OnDisk]:
    """The key paths of everything on disk that a scenario with these algorithms may name.

    Of `[algorithm]` they are those of the Params of all algorithms together.
    """
    return _keys_on_disk(tuple(modules.values()))


@lru_cache(maxsize=8)
def _keys_on_disk(modules: tuple[ModuleType, ...]) -> dict[KeyPath, OnDisk]:
    found = path_keys(Scenario)
    for module in modules:
        for table in (("algorithm",), ("algorithm", ANY)):  # one, or one of several
            found |= dict(_found(module.Params, table))
    return found


def path_keys(table: type[Table]) -> dict[KeyPath, OnDisk]:
    """The key paths of everything on disk that a table and the tables inside it may name.

    Of a component they are those of all its kinds together.
    """
    return dict(_found(table, ()))


def _named_on_disk(path: KeyPath, named: Mapping[KeyPath, OnDisk]) -> OnDisk | None:
    for keys, kind in named.items():
        if len(keys) == len(path) and all(k in (p, ANY) for p, k in zip(path, keys, strict=True)):
            return kind
    return None


def _found(annotation: Any, path: KeyPath) -> Iterator[tuple[KeyPath, OnDisk]]:
    """Walk through unions, lists and mappings of types down to the annotated ones."""
    if isinstance(annotation, type) and issubclass(annotation, Table):
        for key, field in annotation.model_fields.items():
            yield from _marked(field.metadata, (*path, key))
            yield from _found(field.annotation, (*path, key))
        return
    if get_origin(annotation) is Annotated:
        inner, *metadata = get_args(annotation)
        yield from _marked(metadata, path)
        yield from _found(inner, path)
        return
    several = get_origin(annotation) in (tuple, list, dict)
    for inner in get_args(annotation):
        if several:
            yield from _found(inner, (*path, ANY))
        if not several or path in LISTS:  # one table may stand for a list of one
            yield from _found(inner, path)


def _marked(metadata: Any, path: KeyPath) -> Iterator[tuple[KeyPath, OnDisk]]:
    for mark in metadata:
        if isinstance(mark, OnDisk):
            yield path, mark
