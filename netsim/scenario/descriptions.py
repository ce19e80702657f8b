"""Meaning of the keys of a scenario: read from the docstrings of their tables.

It appears in the JSON Schema, in `netsim list --keys`, in error messages and in `docs/scenario.md`.
"""

import inspect
import re
import sys
import tomllib
from dataclasses import dataclass
from typing import Any

from pydantic.json_schema import GenerateJsonSchema
from pydantic_core.core_schema import ModelSchema

from netsim.registry import TAGS, Table, renamed_keys
from netsim.units import unit_of


@dataclass(frozen=True)
class Description:
    """Description of a key, from a docstring.

    Attributes
    ----------
    text : str
        What the key does.
    unit : str
        Of its numbers; empty: they have none.
    source : str
        Paper and equation, or standard and clause; empty: that of its table, if any.
    example : str
        A value as TOML has it; may be empty.
    """

    text: str
    unit: str = ""
    source: str = ""
    example: str = ""

    @property
    def whole(self) -> str:
        """All but the example."""
        unit = f" Unit: {self.unit}." if self.unit else ""
        return self.text + unit + (f" Source: {self.source}" if self.source else "")

    def as_json(self) -> dict[str, Any]:
        """Entry of a JSON Schema for the key; empty where nothing is known of it."""
        if not self.text:
            return {}
        examples = [tomllib.loads(f"x = {self.example}")["x"]] if self.example else []
        return {"description": self.whole} | ({"examples": examples} if examples else {})


NOT_DESCRIBED = Description("")
"""Of a key without a docstring: all keys, where Python leaves docstrings out (`-OO`)."""

_END = re.compile(r"\.\s+(?=[A-Z0-9`])")
_CLAUSE = re.compile(r"(.{20,}?)[;:] ")
_SECTION = re.compile(r"\n\n(?:Attributes|Parameters|Notes)\n---+\n")
_OF_KEYS = re.compile(r"\n\n(?:Attributes|Parameters)\n---+\n((?:.+\n?)+)")
_ENTRY = re.compile(r"^(\w+(?:, \w+)*)(?: : .*)?\n((?: +.*\n?)+)", re.M)
_DETAIL = re.compile(r"(.*?)(?: Source: (.*?))?(?: Example: `(.*)`\.?)?")
_UNIT = re.compile(r" \[([A-Za-z][A-Za-z0-9/^]*)\](?=[.,;:]|$)")


def in_short(key: str, description: str) -> str:
    """Shorten a key's description in a JSON Schema to its first clause, with the unit."""
    clause = _END.split(description, maxsplit=1)[0].removesuffix(".")
    found = _CLAUSE.match(clause)
    clause = found[1] if found else clause
    if clause[1:2].islower() or clause[1:2] == " ":
        clause = clause[:1].lower() + clause[1:]
    return f"{clause} [{unit_of(key)}]" if unit_of(key) else clause


def summary(table: type[Table]) -> str:
    """The docstring of a table up to its first section."""
    return _SECTION.split("\n\n" + inspect.cleandoc(table.__doc__ or ""))[0].strip()


def descriptions(table: type[Table]) -> dict[str, Description]:
    """Return the descriptions of keys of a table and of its bases, in the order of the keys.

    A key is an entry of the section `Attributes` (or `Parameters`) of the class that states it, or
    of one derived from that. Its unit follows from its name (`rate_bps`), or stands in the entry
    as in `[dB]`; `Source: ...` and `Example: ...` come last, in this order. The key that chooses a
    component has the first line of the component's module.
    """
    found: dict[str, Description] = {}
    for base in reversed(table.__mro__):
        for names, body in _entries(vars(base).get("__doc__") or ""):
            found |= {key: _description(key, body) for key in names.split(", ")}
    for tag in TAGS:
        if tag in table.model_fields and tag not in found:
            found[tag] = Description(first_line(table))
    for key, info in table.model_fields.items():
        if info.description:
            found[key] = Description(info.description)
    return {key: found[key] for key in table.model_fields if key in found}


def first_line(component: type[Table]) -> str:
    """The first line of the module that states a component, else of its class."""
    for base in component.__mro__:
        module = sys.modules.get(base.__module__)
        states = any(tag in inspect.get_annotations(base) for tag in TAGS)
        if states and hasattr(module, base.__name__):
            return (module.__doc__ or "").strip().partition("\n")[0]
    return summary(component).partition("\n")[0]


class DescribedSchema(GenerateJsonSchema):
    """JSON Schema of tables with what their docstrings say of each key."""

    def model_schema(self, schema: ModelSchema) -> dict[str, Any]:
        """JSON Schema of one table."""
        found = super().model_schema(schema)
        table = schema["cls"]
        if issubclass(table, Table):
            found["description"] = summary(table)
            for key, about in descriptions(table).items():
                found["properties"][key] |= about.as_json()
            for names in renamed_keys(table):
                found["properties"][names.name]["formerly"] = list(names.former)
        return found


def _entries(doc: str) -> list[tuple[str, str]]:
    """Names and text of the entries about keys in a docstring."""
    sections = _OF_KEYS.findall("\n\n" + inspect.cleandoc(doc))
    return [entry for section in sections for entry in _ENTRY.findall(section)]


def _description(key: str, body: str) -> Description:
    detail = _DETAIL.fullmatch(" ".join(body.split()))
    text, source, example = detail.groups(default="") if detail else ("", "", "")
    stated = _UNIT.search(text)
    unit = unit_of(key) or (stated[1] if stated else "")
    return Description(_UNIT.sub("", text, count=1), unit, source, example)
