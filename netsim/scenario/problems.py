"""pydantic's errors as lines that name the key as its author wrote it, and a remedy.

Each becomes `file: [table] key = value: what is wrong; remedy (what the key is)`.
"""

import re
from typing import Any

from pydantic_core import ErrorDetails

from netsim.errors import one_line
from netsim.registry import TAGS, did_you_mean
from netsim.scenario.descriptions import in_short
from netsim.scenario.draft import Draft, KeyPath
from netsim.scenario.labels import shown
from netsim.scenario.schema import at, properties, tags
from netsim.scenario.suggestions import number_in_text, unknown_key

_KINDS = {
    "float_type": "must be a number",
    "float_parsing": "must be a number",
    "int_type": "must be a whole number",
    "int_from_float": "must be a whole number",
    "int_parsing": "must be a whole number",
    "string_type": 'must be a text in "quotes"',
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
    "finite_number": "must be a finite number",
    "dict_type": "must be a table",
    "model_type": "must be a table",
    "model_attributes_type": "must be a table",
    "list_type": "must be a list",
    "tuple_type": "must be a list",
}
OWN = "or of your own (--components DIR; netsim new begins one)"
"""Words after the list of the shipped kinds."""

_BOUNDS = {
    "greater_than": ("must be greater than", "gt"),
    "greater_than_equal": ("must be at least", "ge"),
    "less_than": ("must be less than", "lt"),
    "less_than_equal": ("must be at most", "le"),
}


def described(error: ErrorDetails, draft: Draft, schema: dict[str, Any]) -> str:
    """One error as one line.

    Parameters
    ----------
    error : ErrorDetails
        One of pydantic's errors for `draft.raw`.
    draft : Draft
    schema : dict
        JSON Schema of the scenario: the keys that each table knows.
    """
    path = written_path(error["loc"], draft.raw)
    kind, context = error["type"], error.get("ctx", {})
    if kind == "extra_forbidden":
        what = unknown_key(path, draft.raw, schema)
    elif kind == "missing" and isinstance(path[-1], int):  # one line, however many it lacks
        path = path[:-1]
        what = f"has too few entries, {len(at(draft.raw, path))}"
    elif kind == "missing":
        what = "is required"
    elif kind == "union_tag_not_found":
        tag = context["discriminator"].strip("'")
        path = (*path, tag)
        what = f"is required: one of {', '.join(tags(path[:-1], draft.raw, schema))}"
    elif kind == "union_tag_invalid":
        tag = context["discriminator"].strip("'")
        path = (*path, tag)
        known = tags(path[:-1], draft.raw, schema)
        what = f"must be one of {', '.join(known)}, {OWN}" + did_you_mean(
            str(context["tag"]), known
        )
    elif kind == "literal_error":
        what = f"must be {context['expected']}"
        known = re.findall(r"'([^']*)'", str(context["expected"]))
        what = what.replace("'", '"') + did_you_mean(str(error["input"]), known)
    elif kind in _BOUNDS:
        words, bound = _BOUNDS[kind]
        what = f"{words} {context[bound]:g}"
    elif kind in ("too_short", "too_long"):
        side, key = ("at least", "min_length") if kind == "too_short" else ("at most", "max_length")
        entries = "entry" if context[key] == 1 else "entries"
        what = f"must have {side} {context[key]} {entries}, not {len(error['input'])}"
    elif kind == "string_pattern_mismatch":
        what = "may hold letters of ASCII, digits, and . _ - = after the first (it names a folder)"
    elif kind in ("value_error", "assertion_error"):
        what = str(context.get("error", error["msg"]))
    else:
        what = _KINDS.get(kind, error["msg"][:1].lower() + error["msg"][1:])
        what += number_in_text(path, error["input"]) if kind.startswith(("float", "int")) else ""
    return line(draft, path, what + _meaning(path, draft.raw, schema))


def _meaning(path: KeyPath, raw: Any, schema: dict[str, Any]) -> str:
    """In brackets what the key at a path is, or the list that the path leads into."""
    while path and isinstance(path[-1], int):
        path = path[:-1]
    if not path or isinstance(at(raw, path), dict):
        return ""
    key = str(path[-1])
    described = properties(path[:-1], raw, schema).get(key, {})
    return f" ({in_short(key, described['description'])})" if "description" in described else ""


def line(draft: Draft, path: KeyPath, what: str) -> str:
    """`file: [table] key = value: what`; table and key are left out where there is none.

    Parameters
    ----------
    draft : Draft
        Knows which file or option stated the key.
    path : tuple of (str or int)
        The key.
    what : str
        What is wrong, and the remedy.
    """
    return one_line(f"{draft.source(path)}: {_where(draft.raw, path)}: {what}")


def written_path(loc: tuple[str | int, ...], raw: Any) -> KeyPath:
    """The key path that the user wrote, from pydantic's location.

    pydantic adds the chosen kind after a component's table, and the branch of a union after a
    plain value; neither is in the file.
    """
    path: list[str | int] = []
    for key in loc:
        inside = isinstance(raw, dict) and key in raw
        if isinstance(raw, dict) and not inside and key in [raw.get(tag) for tag in TAGS]:
            continue
        if raw is not None and not isinstance(raw, dict | list):
            break
        path.append(key)
        if isinstance(raw, list):
            raw = raw[key] if isinstance(key, int) and key < len(raw) else None
        else:
            raw = raw.get(key) if isinstance(raw, dict) else None
    return tuple(path)


def _where(raw: Any, path: KeyPath) -> str:
    names: list[str] = []
    value, table_end = raw, 0
    for i, key in enumerate(path):
        parent = value
        if isinstance(value, dict):
            value = value.get(key)
        else:
            value = value[key] if isinstance(value, list) and isinstance(key, int) else None
        names.append(_entry_name(parent, key))
        if isinstance(value, dict):
            table_end = i + 1
    if isinstance(raw.get(path[0] if path else ""), list) and len(path) > 1:
        table_end = max(table_end, 1)
    table = f"[{'.'.join(names[:table_end])}]" if table_end else ""
    key_name = ".".join(names[table_end:])
    if not key_name:
        return table
    stated = key_name if value is None else f"{key_name} = {shown(value)}"
    return f"{table} {stated}".strip()


def _entry_name(parent: Any, key: str | int) -> str:
    if isinstance(parent, list) and isinstance(key, int) and key < len(parent):
        entry = parent[key]
        if isinstance(entry, dict):
            own = entry.get("name", entry.get("kind"))
            if isinstance(own, str) and sum(own in _own_names(e) for e in parent) == 1:
                return own
    return str(key)


def _own_names(entry: Any) -> list[Any]:
    return [entry.get("name", entry.get("kind"))] if isinstance(entry, dict) else []
