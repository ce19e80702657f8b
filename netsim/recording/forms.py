"""Forms of values in JSON and TOML files of a run folder, and the check against them."""

from collections.abc import Iterator, Mapping
from typing import Any

from netsim.errors import ScenarioError, one_line
from netsim.registry import MOST

MOST_NUMBER = 1e300
"""No number of a JSON file is greater."""
NUMBER, WHOLE, TEXT, FLAG = "a number", "a whole number", "a text", "true or false"
MAYBE = "a number or null"
ANY: tuple[str, ...] = ()

Form = Any
"""Form of a value in a JSON file: one of the words above, `ANY`; a list of one form, of which it
has any number; a dict of forms by key, of which any may be missing and "*" is for all others."""


def require_form(label: str, key: str, value: Any, form: Form) -> None:
    """Raise ScenarioError unless a value is of a form.

    Parameters
    ----------
    label, key : str
        The file, and where in it the value is.
    value : object
    form : Form
    """
    if isinstance(form, dict):
        problem = None if isinstance(value, dict) else "must be a table"
    elif isinstance(form, list):
        problem = None if isinstance(value, list) else "must be a list"
    else:
        problem = None if form is ANY or _is_a(form, value) else f"must be {form}"
    if problem is not None:
        where = f"{one_line(key)[:200]}: " if key else ""
        raise ScenarioError(f"{label}: {where}is {one_line(value)[:60]}, {problem}")
    if isinstance(form, list):
        for place, item in enumerate(value):
            require_form(label, f"{key}[{place}]", item, form[0])
    elif isinstance(form, dict):
        for name, item in value.items():
            inner = form.get(name, form.get("*", ANY))
            if inner is not ANY:
                require_form(label, f"{key}.{name}" if key else name, item, inner)


def leaves(tables: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """Values in nested tables by their dotted keys; an empty table has none."""
    for key, value in tables.items():
        if isinstance(value, Mapping):
            yield from leaves(value, f"{above}{key}.")
        else:
            yield f"{above}{key}", value


def _is_a(form: str, value: Any) -> bool:
    if value is None:
        return form == MAYBE
    if form == TEXT:
        return isinstance(value, str)
    if form == FLAG or isinstance(value, bool):
        return form == FLAG and isinstance(value, bool)
    if form == WHOLE:
        return isinstance(value, int) and abs(value) <= MOST
    most = MOST_NUMBER if isinstance(value, float) else MOST
    return isinstance(value, int | float) and abs(value) <= most


def declared(value: Any, form: Form) -> Any:
    """Return the part of a value that its form names."""
    if isinstance(form, list):
        return [declared(item, form[0]) for item in value]
    if not isinstance(form, dict):
        return value
    inner = {name: form.get(name, form.get("*")) for name in value}
    return {name: declared(value[name], one) for name, one in inner.items() if one is not None}
