"""Every number that a key of a network can take is refused in words, or the laws are kept."""

import types
from itertools import chain
from typing import Annotated, Union, get_args, get_origin

import pytest

from netsim.devices.energy import Energy
from netsim.errors import ScenarioError
from netsim.links.radio.table import Radio
from netsim.registry import MOST, Choice, family
from netsim.scenario import Scenario, from_dict
from netsim.scenario.file_paths import marked_keys
from netsim.scenario.nodes import Nodes

from .networks import axes, play, tables, traffic_kinds

EXTREMES = {float: (-1e308, -1e30, -1.0, 0.0, 5e-324, 1e-30, 1e30, 1e308), int: (-1, 0, 1, MOST)}
SHORT = {"horizon_s": 0.25}
FIRST = dict.fromkeys(axes(), 0)
KINDS = {
    f"{'.'.join(path)}-{option[tag]}": (path, tag, number, family(chosen.package, tag))
    for path, chosen in marked_keys(Scenario, Choice)
    for number, option in enumerate(axes().get(".".join(path), ()))
    for tag in option.keys() & {"kind", "schedule"}
    if path[0] in ("radio", "mobility", "energy", "churn")
    and [o[tag] for o in axes()[".".join(path)]].index(option[tag]) == number
}
TABLES = {
    "radio": (("radio",), FIRST, Radio),
    "nodes": (("nodes",), FIRST, Nodes),
    "energy": (("energy",), FIRST, Energy),
} | {
    name: (path, FIRST | {".".join(path): number}, found[axes()[".".join(path)][number][tag]])
    for name, (path, tag, number, found) in KINDS.items()
}
"""By name: the place of a table of numbers, the row that has it, and its class."""


def number_of(annotation):
    """The type of number that a key takes; None: of none."""
    if annotation in (float, int):
        return annotation
    origin, parts = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return number_of(parts[0])
    if origin in (Union, types.UnionType):
        return next(filter(None, map(number_of, parts)), None)
    return None


def wrong(path, row, key, value):
    """Play a network with an extreme number, unless it is refused; return what is wrong with it."""
    found = tables(row) | SHORT
    at = found
    for part in path:
        at[part] = dict(at.get(part, {}))
        at = at[part]
    at[key] = value
    try:
        play(from_dict(found, kinds=traffic_kinds()))
    except ScenarioError:
        return None
    except Exception as error:
        return f"{'.'.join(path)}.{key} = {value!r}: {type(error).__name__}: {error}"
    return None


@pytest.mark.slow
@pytest.mark.parametrize("name", TABLES)
def test_extreme_numbers_are_refused_or_played(name):
    path, row, table = TABLES[name]
    numbers = {key: number_of(field.annotation) for key, field in table.model_fields.items()}
    found = chain.from_iterable(
        (wrong(path, row, key, value) for value in EXTREMES[kind])
        for key, kind in numbers.items()
        if kind is not None and (path, key) != (("nodes",), "count")
    )
    assert list(filter(None, found)) == []


@pytest.mark.thinned(2)
@pytest.mark.parametrize("keys", [{"height_m": -1.0}, {"heights_m": [-1.0] + 5 * [0.0]}])
def test_nothing_is_under_the_ground(keys):
    made = tables(FIRST)
    with pytest.raises(ScenarioError, match=r"height.* must be at least 0"):
        from_dict(made | {"nodes": made["nodes"] | keys}, kinds=traffic_kinds())
