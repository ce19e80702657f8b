"""Every key that a scenario may have, table by table: its values, default and description."""

import math
import re
from collections.abc import Iterator
from types import UnionType
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin

from annotated_types import Ge, Gt, Le, Lt
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from netsim.registry import MOST, TAGS, Choice, OnDisk, Table
from netsim.scenario.descriptions import NOT_DESCRIBED, Description, descriptions
from netsim.scenario.kinds import Kinds
from netsim.scenario.labels import shown

TOP_LEVEL = "top"
"""Name of the keys before the first table in lists."""

_BOUNDS = {Ge: ("ge", ">="), Gt: ("gt", ">"), Le: ("le", "<="), Lt: ("lt", "<")}
_NAMES = {bool: "true or false", int: "whole number", float: "number", str: "text"}


class Key(NamedTuple):
    """One key of a table.

    Attributes
    ----------
    name : str
    values : str
        What it may be, such as `number > 0`.
    default : str or None
        As TOML has it; empty where the key may be left out and has no value then, None where it
        must be given.
    about : Description
    """

    name: str
    values: str
    default: str | None
    about: Description

    @property
    def stated(self) -> str:
        """The key with its default and unit."""
        value = " (required)" if self.default is None else f" = {self.default}"
        unit = f" [{self.about.unit}]" if self.about.unit else ""
        return self.name + (value if value != " = " else "") + unit

    @property
    def line(self) -> str:
        """Describe the key, and its values where they are a few words."""
        words = f" One of {self.values.replace(' or ', ', ')}." if " or " in self.values else ""
        return self.about.text + (words if '"' in words else "")


def keys_of(table: type[Table], with_tag: bool = False) -> list[Key]:
    """The keys of a table in the order in which it states them; that of the kind if wanted."""
    about = descriptions(table)
    return [
        Key(name, _values(info), _default(info), about.get(name, NOT_DESCRIBED))
        for name, info in table.model_fields.items()
        if with_tag or name not in TAGS or not _is_one_word(info.annotation)
    ]


def tops() -> list[str]:
    """The tables of a scenario that are plain or have plain ones inside; `TOP_LEVEL` first."""
    from netsim.scenario.tables import Scenario

    inside = (path.partition(".")[0] for path, _ in _inside(Scenario, ""))
    return list(dict.fromkeys((TOP_LEVEL, *inside)))


def plain_tables(kinds: Kinds) -> Iterator[tuple[str, type[Table]]]:
    """Path and class of every table that no `kind` chooses, the whole scenario first (path "").

    Those of a component's or an algorithm's own keys have the path that they have there.
    """
    scenario = kinds.tables()
    yield "", scenario
    seen: set[type[Table]] = {Table}
    for path, table in _inside(scenario, ""):
        if table is not Table:  # the Params of any algorithm
            seen.add(table)
            yield path, table
    for module in kinds.values():
        for path, table in _inside(module.Params, "algorithm"):
            if table not in seen:
                seen.add(table)
                yield path, table


def _inside(table: type[Table], path: str) -> Iterator[tuple[str, type[Table]]]:
    """Plain tables inside a table.

    Parameters
    ----------
    table : type of Table
    path : str
        Its own; empty for the whole scenario.
    """
    for name, info in table.model_fields.items():
        inner = f"{path}.{name}" if path else name
        for found in _plain_tables([info.annotation, *info.metadata]):
            yield inner, found
            yield from _inside(found, inner)


def _plain_tables(annotations: list[Any]) -> Iterator[type[Table]]:
    if any(isinstance(one, Choice) for one in annotations):
        return
    for one in annotations:
        if isinstance(one, type) and issubclass(one, Table):
            yield one
        else:
            yield from _plain_tables(list(get_args(one)))


def _is_one_word(annotation: Any) -> bool:
    return get_origin(annotation) is Literal and len(get_args(annotation)) == 1


def _default(info: FieldInfo) -> str | None:
    if info.is_required():
        return None
    value = info.get_default(call_default_factory=True)
    if value is None or value is PydanticUndefined:
        return ""
    if isinstance(value, Table):
        value = {key: getattr(value, key) for key in type(value).model_fields if key in TAGS}
    return _short(value)


def _short(value: Any) -> str:
    """A default as TOML would have it, large and small numbers with an exponent."""
    if isinstance(value, dict):
        inside = ", ".join(f"{key} = {_short(v)}" for key, v in value.items())
        return f"{{ {inside} }}" if inside else "{}"
    if isinstance(value, float) and (1e6 <= value < math.inf or 0 < value < 1e-3):
        return re.sub(r"e([+-])0*", lambda m: "e" + m[1].strip("+"), f"{value:g}")
    return shown(value)


def _values(info: FieldInfo) -> str:
    return _named(info.annotation, tuple(_flat(tuple(info.metadata))))


def _named(annotation: Any, marks: tuple[Any, ...] = ()) -> str:
    """Describe the values that a type allows.

    Parameters
    ----------
    annotation : type
    marks : tuple
        Its annotations.
    """
    origin, inside = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _named(inside[0], (*marks, *_flat(inside[1:])))
    chosen = next((mark for mark in marks if isinstance(mark, Choice)), None)
    if chosen is not None:
        return f"table with a {chosen.tag}"
    on_disk = next((mark for mark in marks if isinstance(mark, OnDisk)), None)
    if on_disk is not None:
        return f"path of a {on_disk.what}"
    if origin is Literal:
        return " or ".join(shown(value) for value in inside)
    if origin in (Union, UnionType):
        return " or ".join(_named(one, marks) for one in inside if one is not type(None))
    if origin is tuple and inside[-1:] == (...,):
        return f"list of {_plural(_named(inside[0]))}"
    if origin is tuple:
        return "[" + ", ".join(map(_named, inside)) + "]"
    if origin is dict:
        return f"table of {_plural(_named(inside[1]))}"
    if isinstance(annotation, type) and issubclass(annotation, Table):
        return "table"
    return _NAMES.get(annotation, "any value") + _range(marks)


def _flat(marks: tuple[Any, ...]) -> Iterator[Any]:
    """Annotations with those that a `Field` stands for."""
    for mark in marks:
        yield from mark.metadata if isinstance(mark, FieldInfo) else (mark,)


def _range(marks: tuple[Any, ...]) -> str:
    bounds = [
        f"{sign} {_short(getattr(mark, name))}"
        for mark in marks
        for kind, (name, sign) in _BOUNDS.items()
        if isinstance(mark, kind) and getattr(mark, name) != MOST
    ]
    return " " + ", ".join(bounds) if bounds else ""


def _plural(name: str) -> str:
    return re.sub(r"^(number|whole number|text|table)\b", r"\1s", name)
