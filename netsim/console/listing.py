"""What a scenario can choose from: component families found in the package, and docstrings."""

import importlib
import inspect
import pkgutil
import sys
from typing import Any, NamedTuple

from pydantic_core import PydanticUndefined

import netsim
from netsim.errors import ScenarioError, one_line
from netsim.registry import TAGS, Component, did_you_mean, family, in_force, tag_of
from netsim.scenario import algorithm_files
from netsim.scenario import file as scenario_file
from netsim.scenario.kinds import Kinds
from netsim.scenario.labels import shown


class Choice(NamedTuple):
    """One thing that a scenario can name, its first docstring line, and its keys."""

    name: str
    about: str
    keys: str


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
    groups = {
        "algorithms": [
            Choice(name, algorithm_files.first_line(module), _keys(module.Params))
            for name, module in kinds.items()
        ],
        "scenarios": [
            Choice(name, scenario_file.first_comment(path), "")
            for name, path in scenario_file.shipped().items()
        ],
    }
    with in_force(kinds.components):
        for name, members in families().items():
            groups[name] = [Choice(k, _about(c), _keys(c)) for k, c in members.items()]
    word = what.lower()
    chosen = {
        name: entries
        for name, entries in groups.items()
        if word in ("all", name, name.replace(".", ""), *name.split("."))
        or _stem(word) in [_stem(part) for part in name.split(".")]
    }
    if not chosen:
        words = sorted({part for name in groups for part in (name, *name.split("."))})
        raise ScenarioError(
            f"netsim list {one_line(what)}: no such group; there are papers, {', '.join(groups)}"
            + did_you_mean(what, words)
        )
    return chosen


def _stem(word: str) -> str:
    """The word without its plural: `topologies` finds `topology`."""
    return word.removesuffix("s").removesuffix("ie").removesuffix("y")


def _about(component: type[Component]) -> str:
    return algorithm_files.first_line(sys.modules[component.__module__])


def _keys(table: Any) -> str:
    parts = []
    for key, info in table.model_fields.items():
        if key in TAGS:
            continue
        if info.default is None or info.default_factory is not None:
            parts.append(key)
        elif info.default is PydanticUndefined:
            parts.append(f"{key} (required)")
        else:
            parts.append(f"{key} = {shown(info.default)}")
    return ", ".join(parts)
