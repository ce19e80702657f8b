"""What a scenario can choose from, found in the package, and the keys of all its tables."""

import importlib
import inspect
import pkgutil
from collections.abc import Sequence
from typing import NamedTuple

import netsim
from netsim.errors import ScenarioError, one_line
from netsim.registry import Choice as Chosen
from netsim.registry import Component, Table, did_you_mean, family, family_of, in_force, tag_of
from netsim.scenario import algorithm_files
from netsim.scenario import file as scenario_file
from netsim.scenario.descriptions import first_line, summary
from netsim.scenario.file_paths import marked_keys
from netsim.scenario.keys import Key, keys_of, plain_tables
from netsim.scenario.kinds import Kinds
from netsim.scenario.tables import Scenario

EVERY = "(every one)"
"""What stands before the keys that all members of a group have."""

TOP = "(top of the file)"

TABLES = "tables."
"""What the names of groups of plain tables begin with."""

ALSO = {"channels": (TABLES + "radio", TABLES + "link")}
"""Groups that a word names beside those whose names have it."""


class Choice(NamedTuple):
    """One thing that a scenario can name or state, its first docstring line, and its keys."""

    name: str
    about: str
    keys: tuple[Key, ...] = ()


def families() -> dict[str, dict[str, type[Component]]]:
    """Every component family by its name, such as `channels.fading`; added components included.

    The name is the package's `LISTED_AS`, else that of the package.
    """
    found: dict[str, dict[str, type[Component]]] = {}
    for info in pkgutil.walk_packages(netsim.__path__, "netsim."):
        if not info.ispkg:
            continue
        package = importlib.import_module(info.name)
        if any(
            inspect.isclass(value) and issubclass(value, Component)
            for value in vars(package).values()
            if getattr(value, "__module__", "") == info.name
        ):
            name = getattr(package, "LISTED_AS", info.name.removeprefix("netsim."))
            found[name] = family(info.name, tag_of(info.name))
    return dict(sorted(found.items()))


def choices(what: str, kinds: Kinds) -> dict[str, list[Choice]]:
    """The groups that a word names: `algorithms`, `scenarios`, a family, a part of its name, `all`.

    Parameters
    ----------
    what : str
        The word.
    kinds : Kinds
        All that there are.

    Raises
    ------
    ScenarioError
        If the word names nothing.
    """
    groups = _groups(kinds)
    word = what.lower()
    chosen = {
        name: entries
        for name, entries in groups.items()
        if word in ("all", name, name.replace(".", ""), *name.split("."))
        or _stem(word) in [_stem(part) for part in name.split(".")]
        or name in ALSO.get(word, ())
    }
    if not chosen:
        words = sorted({part for name in groups for part in (name, *name.split("."))})
        raise ScenarioError(
            f"netsim list {one_line(what)}: no such group; there are papers, {', '.join(groups)}"
            + did_you_mean(what, words)
        )
    return chosen


def _groups(kinds: Kinds) -> dict[str, list[Choice]]:
    """Everything that there is to list: first what most scenarios name."""
    found = {
        "algorithms": _with_common(
            [
                Choice(name, algorithm_files.first_line(module), _keys(module.Params))
                for name, module in kinds.items()
            ]
        ),
        "scenarios": [
            Choice(name, scenario_file.first_comment(path))
            for name, path in scenario_file.shipped().items()
        ],
    }
    for path, table in plain_tables(kinds):
        top = path.partition(".")[0] or "top"
        about, own = summary(table).partition("\n")[0], _keys(table)
        if path in ("", "algorithm"):  # the validated tables, of which a file states no params
            own = tuple(_with_given_name(key) for key in own if key.name != "params")
        if not path:
            about = "Keys that stand before the first table, and all tables that there are."
        entry = Choice(f"[{path}]" if path else TOP, about, own)
        found.setdefault(TABLES + top, []).append(entry)
    with in_force(kinds.components):
        for name, members in families().items():
            found[name] = _with_common(
                [Choice(k, first_line(c), _keys(in_scenario(k, c))) for k, c in members.items()]
            )
    return found


def in_scenario(name: str, component: type[Component]) -> type[Table]:
    """The table that a scenario has of a component: with the keys that its place adds."""
    package = family_of(component)
    for _, chosen in marked_keys(Scenario, Chosen):
        if chosen.package == package:
            return chosen.table(name, component)
    return component


def _with_common(entries: Sequence[Choice]) -> list[Choice]:
    """Entries of a group, with the keys that all of them have stated once, before them."""
    if len(entries) < 2:
        return list(entries)
    shared = set.intersection(*(set(entry.keys) for entry in entries))
    common = tuple(key for key in entries[0].keys if key in shared)
    own = [
        entry._replace(keys=tuple(key for key in entry.keys if key not in shared))
        for entry in entries
    ]
    return [Choice(EVERY, "", common), *own] if common else own


def _stem(word: str) -> str:
    """The word without its plural: `topologies` finds `topology`."""
    return word.removesuffix("s").removesuffix("ie").removesuffix("y")


def _with_given_name(key: Key) -> Key:
    """A key of a table that has a name of its own where the file states none."""
    return key._replace(default="") if key.name == "name" else key


def _keys(table: type[Table]) -> tuple[Key, ...]:
    return tuple(keys_of(table))
