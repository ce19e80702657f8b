"""What a scenario can choose from: component families found in the package, and docstrings.

A list of what ships is read from the files alone. Keys, and components beside the shipped ones,
need the classes; then the files are imported, with stand-ins for what only playing needs.
"""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from rich import box
from rich.table import Table
from rich.text import Text

from netsim.console import outline, stand_ins, terminal
from netsim.errors import ScenarioError, one_line
from netsim.scenario import shipped


class Choice(NamedTuple):
    """One thing that a scenario can name, its first docstring line, and its keys."""

    name: str
    about: str
    keys: str = ""


Group = Callable[[], list[Choice]]


def show(what: str, components: Sequence[Path], keys: bool) -> None:
    """Print the groups that a word names.

    Parameters
    ----------
    what : str
        See `chosen`.
    components : sequence of Path
        Folders of components of the user's own.
    keys : bool
        Also the keys of each choice and their defaults.

    Raises
    ------
    ScenarioError
        If the word names nothing.
    """
    from importlib.metadata import entry_points

    beside = bool(components) or any(entry_points(group="netsim.components"))
    if beside or not keys:
        groups = beside_the_shipped(components) if beside else names_alone()
        _print({name: group() for name, group in chosen(what, groups).items()}, keys)
        return
    groups = chosen(what, with_keys())
    light = stand_ins.in_their_place()
    try:
        found = {name: group() for name, group in groups.items()}
    except (Exception, stand_ins.StandInUsedError):
        if light:
            stand_ins.begin_again()
        raise
    _print(found, keys)


def chosen(what: str, groups: dict[str, Group]) -> dict[str, Group]:
    """The groups that a word names: `algorithms`, `scenarios`, a family, a part of its name, `all`.

    Parameters
    ----------
    what : str
        The word.
    groups : dict of str to callable
        All that there are.

    Raises
    ------
    ScenarioError
        If the word names nothing.
    """
    word = what.lower()
    found = {
        name: group
        for name, group in groups.items()
        if word in ("all", name, name.replace(".", ""), *name.split("."))
        or _stem(word) in [_stem(part) for part in name.split(".")]
    }
    if not found:
        from netsim.registry import did_you_mean  # here: it brings pydantic

        words = sorted({part for name in groups for part in (name, *name.split("."))})
        raise ScenarioError(
            f"netsim list {one_line(what)}: no such group; there are papers, {', '.join(groups)}"
            + did_you_mean(what, words)
        )
    return found


def names_alone() -> dict[str, Group]:
    """What ships, without keys: nothing is imported."""

    def of_files(folder: Path) -> Group:
        return lambda: [
            Choice(name, outline.first_line(path)) for name, path in outline.files(folder).items()
        ]

    folders = {name: outline.folder_of(package) for name, package in outline.families().items()}
    algorithms = Path(str(shipped.algorithms_package().__path__[0]))
    groups = {name: of_files(folder) for name, folder in folders.items()}
    return {"algorithms": of_files(algorithms), "scenarios": _scenarios, **groups}


def with_keys() -> dict[str, Group]:
    """What ships: the files of a group are imported when it is asked for."""

    def of_family(package: str) -> Group:
        def members() -> list[Choice]:
            from netsim.registry import shipped_family, tag_of

            return _members(shipped_family(package, tag_of(package)))

        return members

    def algorithms() -> list[Choice]:
        from netsim.scenario import component_files

        return _algorithms(component_files.shipped().algorithms)

    groups = {name: of_family(package) for name, package in outline.families().items()}
    return {"algorithms": algorithms, "scenarios": _scenarios, **groups}


def beside_the_shipped(components: Sequence[Path]) -> dict[str, Group]:
    """All that there is: with folders of the user's own, and what installed packages hold."""
    from netsim.registry import family, in_force, tag_of
    from netsim.scenario.kinds import kinds_of

    kinds = kinds_of(components)
    kinds.read_installed()

    def of_family(package: str) -> Group:
        def members() -> list[Choice]:
            with in_force(kinds.components):
                return _members(family(package, tag_of(package)))

        return members

    groups = {name: of_family(package) for name, package in outline.families().items()}
    return {"algorithms": lambda: _algorithms(kinds), "scenarios": _scenarios, **groups}


def _scenarios() -> list[Choice]:
    known = shipped.scenarios(shipped.scenarios_folder())
    return [Choice(name, shipped.first_comment(path)) for name, path in known.items()]


def _algorithms(modules: Any) -> list[Choice]:
    return [Choice(name, _about(m), _keys(m.Params)) for name, m in modules.items()]


def _members(components: dict[str, Any]) -> list[Choice]:
    return [
        Choice(name, _about(sys.modules[component.__module__]), _keys(component))
        for name, component in components.items()
    ]


def _about(module: Any) -> str:
    """The first line of a module's docstring, or nothing."""
    return str(vars(module).get("__doc__") or "").strip().partition("\n")[0].strip()


def _keys(table: Any) -> str:
    from pydantic_core import PydanticUndefined

    from netsim.registry import TAGS
    from netsim.scenario.labels import shown

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


def _stem(word: str) -> str:
    """The word without its plural: `topologies` finds `topology`."""
    return word.removesuffix("s").removesuffix("ie").removesuffix("y")


def _print(groups: dict[str, list[Choice]], keys: bool) -> None:
    table = Table(box=box.SIMPLE_HEAD, show_header=False, pad_edge=False)
    table.add_column(style="bold cyan", no_wrap=True)
    table.add_column()
    for group, entries in groups.items():
        table.add_row(Text(group, style="bold"), "")
        for entry in entries:
            about = Text(entry.about)
            if keys and entry.keys:
                about += Text("\n" + entry.keys, style="dim")
            table.add_row(Text("  " + entry.name), about)
        table.add_section()
    terminal.out().print(table)
