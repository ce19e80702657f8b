"""The kinds of components that a scenario leaves to their defaults."""

from typing import Any, get_args, get_origin

from pydantic import BaseModel

from netsim.registry import TAGS, Table


def with_default_kinds(raw: dict[str, Any], table: type[BaseModel]) -> dict[str, Any]:
    """The tables, with the default kind filled in for each component that states none.

    So `--set radio.rate.rate_bps=1e6` need not repeat the kind of the rate.

    Parameters
    ----------
    raw : dict
        The table as written.
    table : type of BaseModel
        What it is to become.
    """
    filled = dict(raw)
    below = table.laid_below(raw) if issubclass(table, Table) else {}
    for key, value in raw.items():
        field = table.model_fields.get(key)
        if field is None or not isinstance(value, dict):
            continue
        if not any(tag in value for tag in TAGS):
            value = {**_tags_of(below.get(key, field.default)), **value}
        chosen = chosen_table(field.annotation, value)
        filled[key] = value if chosen is None else with_default_kinds(value, chosen)
    return filled


def _tags_of(default: Any) -> dict[str, Any]:
    """The tag that a field's default states: a table as written, or a component."""
    if isinstance(default, BaseModel):
        return {tag: getattr(default, tag) for tag in TAGS if hasattr(default, tag)}
    return (
        {tag: default[tag] for tag in TAGS if tag in default} if isinstance(default, dict) else {}
    )


def chosen_table(annotation: Any, value: dict[str, Any]) -> type[BaseModel] | None:
    """The table that a value becomes, by its tag where there are several."""
    known = _tables_in(annotation)
    if len(known) < 2:
        return next(iter(known), None)
    for table in known:
        tags = {tag: table.model_fields[tag].default for tag in TAGS if tag in table.model_fields}
        if tags and all(value.get(tag) == name for tag, name in tags.items()):
            return table
    return None


def _tables_in(annotation: Any) -> list[type[BaseModel]]:
    """The tables in a type, whatever annotations and unions they are in; of mappings none."""
    found, waiting = [], [annotation]
    while waiting:
        one = waiting.pop()
        if isinstance(one, type) and issubclass(one, BaseModel):
            found.append(one)
        waiting += () if get_origin(one) is dict else reversed(get_args(one))
    return found
