"""Every key of a scenario says what it does, in which unit, and what its absence means."""

import re
from typing import Annotated, Literal

import pytest

from netsim.console.commands.list import with_keys
from netsim.registry import Component, Positive, Table
from netsim.scenario import json_schema
from netsim.scenario.descriptions import Description, descriptions, in_short, summary
from netsim.scenario.keys import keys_of, plain_tables
from netsim.scenario.kinds import kinds_of
from netsim.units import unit_of

STOP_WORDS = {"the", "a", "an", "of", "in", "each", "its", "for", "and"}


@pytest.fixture(scope="module")
def schema():
    return json_schema(kinds_of())


@pytest.fixture(scope="module")
def described(schema):
    """Table, key and JSON Schema of every key that a file can have."""
    tables = [("top", schema), *schema["$defs"].items()]
    found = [(t, key, p) for t, table in tables for key, p in table.get("properties", {}).items()]
    assert len({key for _, key, _ in found}) > 400
    return found


def test_every_key_has_a_description(described):
    assert [f"{t}.{key}" for t, key, p in described if len(p.get("description", "")) < 12] == []


def test_no_description_only_repeats_the_name(described):
    empty = []
    for table, key, its in described:
        words = set(re.findall(r"[a-z]+", its["description"].lower().partition(" unit:")[0]))
        if words - STOP_WORDS <= set(re.findall(r"[a-z]+", key)):
            empty.append(f"{table}.{key}: {its['description']}")
    assert empty == []


def test_every_key_whose_name_has_a_unit_names_it(described):
    without = [
        f"{table}.{key}"
        for table, key, its in described
        if unit_of(key) and f"Unit: {unit_of(key)}." not in its["description"]
    ]
    assert without == []


def test_only_numbers_have_a_unit_and_a_rate_has_that_of_a_rate():
    keys = [key for group in with_keys().values() for entry in group() for key in entry.keys]
    odd = [
        f"{key.name} [{key.about.unit}]"
        for key in keys
        if key.about.unit
        and (
            not re.search(r"number|\d", key.values)
            or ("_per_" in f"_{key.name}" and "/" not in key.about.unit)
        )
    ]
    assert odd == []


def test_a_source_is_only_a_source():
    keys = [key for group in with_keys().values() for entry in group() for key in entry.keys]
    assert [k.name for k in keys if "Absent:" in k.about.source] == []


def test_every_key_without_a_value_says_what_its_absence_means(described):
    silent = [
        f"{table}.{key}"
        for table, key, its in described
        if its.get("default", 0) is None and "absent" not in its["description"].lower()
    ]
    assert silent == []


def test_no_description_speaks_of_python(described):
    spoken = [f"{t}.{key}" for t, key, p in described if re.search(r"\bNone\b", p["description"])]
    assert spoken == []


def test_the_schema_has_default_unit_source_and_example(schema):
    radio = schema["$defs"]["Radio"]["properties"]
    assert radio["noise_temperature_k"] == {
        "default": 290.0,
        "description": "T0 of the noise power k T0 B NF; 290 K is the standard temperature. "
        "Unit: K. Source: Friis, Proc. IRE 1944.",
        "exclusiveMinimum": 0,
        "title": "Noise Temperature K",
        "type": "number",
    }
    assert schema["$defs"]["Nodes"]["properties"]["positions_m"]["examples"] == [
        [[0.0, 0.0], [30.0, 40.0]]
    ]
    assert "Attributes" not in schema["$defs"]["Radio"]["description"]


def test_a_kind_has_the_first_line_of_its_module(schema):
    kind = schema["$defs"]["Rayleigh"]["properties"]["kind"]
    assert kind["description"].startswith("Rayleigh: many scattered paths")


class Base(Component):
    """A base.

    Attributes
    ----------
    one, two_s : float
        Of both. Source: A. Author,
        2020, eq. (1). Example: `[1.0]`
    hidden : ClassVar
        No key.

    A sentence that is no entry.
    """

    one: Positive = 1.0
    two_s: Positive | None = None


class Derived(Base):
    """Another.

    Parameters
    ----------
    one
        Anew [J].
    """

    kind: Literal["derived"] = "derived"
    three: Annotated[int, "undescribed"]


def test_entries_are_read_from_a_class_and_its_bases():
    assert descriptions(Derived) == {
        "one": Description("Anew.", "J"),
        "two_s": Description("Of both.", "s", "A. Author, 2020, eq. (1).", "[1.0]"),
        "kind": Description("Every key of a scenario says what it does, in which unit, and what "
                            "its absence means."),
    }  # fmt: skip
    assert summary(Base) == "A base."


def test_keys_show_default_and_unit():
    shown = {key.name: (key.stated, key.values) for key in keys_of(Derived)}
    assert shown == {
        "one": ("one = 1.0 [J]", "number > 0"),
        "two_s": ("two_s [s]", "number > 0"),
        "three": ("three (required)", "whole number"),
    }


def test_plain_tables_are_found_wherever_they_are():
    found = dict(plain_tables(kinds_of()))
    assert {"", "nodes.groups", "link.bursts", "radio.bursts", "algorithm.augmentation"} <= set(
        found
    )
    assert all(issubclass(table, Table) for table in found.values())


@pytest.mark.parametrize(
    ("key", "description", "short"),
    [
        ("ttl_s", "Longest time to arrival: more is late.", "longest time to arrival [s]"),
        ("alpha", "a_i, weight of the model. Source: X.", "a_i, weight of the model"),
        ("mode", '"x" or "y".', '"x" or "y"'),
    ],
)  # fmt: skip
def test_a_mistake_is_told_the_first_clause(key, description, short):
    assert in_short(key, description) == short
