"""Keys of a scenario that stand there under the name of an earlier version."""

from collections.abc import Iterator
from typing import Any, get_args, get_origin

from pydantic import BaseModel

from netsim.registry import Renamed, renamed_keys
from netsim.scenario.annotations import written
from netsim.scenario.default_kinds import chosen_table
from netsim.scenario.draft import Draft, KeyPath
from netsim.scenario.problems import line


def remarks(raw: dict[str, Any], table: type[BaseModel], draft: Draft) -> tuple[str, ...]:
    """A sentence for each key under a former name: who states it, and what to write.

    Parameters
    ----------
    raw : dict
        The scenario in the form that is validated, each component in it with its kind.
    table : type of BaseModel
        What it becomes.
    draft : Draft
        As written: knows which file or option stated a key.
    """
    found = (
        line(
            draft,
            written(path, draft.raw),
            f"is called {names.name} since {names.since}; "
            f"{names.until} reads {names.name} alone: write that",
        )
        for path, names in _former(raw, table, ())
    )
    return tuple(dict.fromkeys(found))


def _former(
    raw: dict[str, Any], table: type[BaseModel], path: KeyPath
) -> Iterator[tuple[KeyPath, Renamed]]:
    """Key paths of former names in a table and in those inside it.

    Parameters
    ----------
    raw : dict
        The table as written.
    table : type of BaseModel
        What it becomes.
    path : tuple of (str or int)
        Its own.
    """
    for names in renamed_keys(table):
        yield from (((*path, name), names) for name in names.former if name in raw)
    for key, value in raw.items():
        if key in table.model_fields:
            yield from _inside(value, table.model_fields[key].annotation, (*path, key))


def _inside(value: Any, annotation: Any, path: KeyPath) -> Iterator[tuple[KeyPath, Renamed]]:
    """Those in a value: a table, a list of tables, or tables by name.

    Parameters
    ----------
    value : object
        As written.
    annotation : type
        What it becomes.
    path : tuple of (str or int)
        Its own.
    """
    if isinstance(value, list):
        for i, entry in enumerate(value):
            yield from _inside(entry, annotation, (*path, i))
    elif isinstance(value, dict):
        by_name = get_args(annotation) if get_origin(annotation) is dict else ()
        chosen = chosen_table(annotation, value)
        if chosen is not None:
            yield from _former(value, chosen, path)
        elif by_name:
            for key, entry in value.items():
                yield from _inside(entry, by_name[1], (*path, key))
