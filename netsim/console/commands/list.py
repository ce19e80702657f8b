"""List the components that a scenario can choose from, and the keys of all its tables.

A list of what ships is read from the files alone. Keys, tables, and components beside the shipped
ones need the classes; then the files are imported, with stand-ins for what only playing needs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from rich import box
from rich.table import Table
from rich.text import Text

from netsim.console import outline, stand_ins, terminal
from netsim.errors import ScenarioError, one_line
from netsim.scenario import shipped

if TYPE_CHECKING:  # a list of names waits for neither pydantic nor what the tables need
    from netsim.registry import Choice as Chosen
    from netsim.registry import Component
    from netsim.registry import Table as ScenarioTable
    from netsim.scenario.keys import Key
    from netsim.scenario.kinds import Kinds

EVERY = "(every one)"
"""Name before the keys that all members of a group have."""

TOP = "(top of the file)"

TABLES = "tables."
"""Prefix of the names of groups of plain tables."""

ALSO = {"channels": (TABLES + "radio", TABLES + "link")}
"""Groups that a word names beside those whose names have it."""

WIDEST_KEY = 42
"""Columns for a key with its default; longer ones are continued below."""


class Choice(NamedTuple):
    """One thing that a scenario can name or state, its first docstring line, and its keys."""

    name: str
    about: str
    keys: tuple[Key, ...] = ()


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

    if components or any(entry_points(group="netsim.components")):
        groups = chosen(what, beside_the_shipped(components))
        _print({name: group() for name, group in groups.items()}, keys)
        return
    if not keys and (groups := _matching(what, names_alone())):
        _print({name: group() for name, group in groups.items()}, keys)
        return
    light = stand_ins.in_their_place()
    try:
        groups = with_keys()
        found = {name: group() for name, group in _matching(what, groups).items()}
    except (Exception, stand_ins.StandInUsedError):
        if light:
            stand_ins.begin_again()
        raise
    if not found:
        raise _no_such_group(what, groups)
    _print(found, keys)


def chosen(what: str, groups: Mapping[str, Group]) -> dict[str, Group]:
    """The groups that a word names: `algorithms`, a family or table, a part of its name, `all`.

    Parameters
    ----------
    what : str
        The word.
    groups : mapping of str to callable
        All that there are.

    Raises
    ------
    ScenarioError
        If the word names nothing.
    """
    found = _matching(what, groups)
    if not found:
        raise _no_such_group(what, groups)
    return found


def _no_such_group(what: str, groups: Mapping[str, Group]) -> ScenarioError:
    from netsim.registry import did_you_mean  # here: it brings pydantic

    words = sorted({part for name in groups for part in (name, *name.split("."))})
    return ScenarioError(
        f"netsim list {one_line(what)}: no such group; there are papers, {', '.join(groups)}"
        + did_you_mean(what, words)
    )


def _matching(what: str, groups: Mapping[str, Group]) -> dict[str, Group]:
    word = what.lower()
    return {
        name: group
        for name, group in groups.items()
        if word in ("all", name, name.replace(".", ""), *name.split("."))
        or _stem(word) in [_stem(part) for part in name.split(".")]
        or name in ALSO.get(word, ())
    }


def names_alone() -> dict[str, Group]:
    """Return the shipped names, without keys: nothing is imported."""

    def of_files(folder: Path) -> Group:
        return lambda: [
            Choice(name, outline.first_line(path)) for name, path in outline.files(folder).items()
        ]

    folders = {name: outline.folder_of(package) for name, package in outline.families().items()}
    algorithms = Path(str(shipped.algorithms_package().__path__[0]))
    groups = {name: of_files(folder) for name, folder in folders.items()}
    return {"algorithms": of_files(algorithms), "scenarios": _scenarios, **groups}


def with_keys() -> dict[str, Group]:
    """Return the shipped components: the files of a group are imported when it is asked for."""
    from netsim.registry import shipped_family, tag_of
    from netsim.scenario.kinds import kinds_of

    return _groups(kinds_of, lambda package: shipped_family(package, tag_of(package)))


def beside_the_shipped(components: Sequence[Path]) -> dict[str, Group]:
    """All that there is: with folders of the user's own, and what installed packages hold."""
    from netsim.registry import family, in_force, tag_of
    from netsim.scenario.kinds import kinds_of

    kinds = kinds_of(components)
    kinds.read_installed()

    def members(package: str) -> dict[str, type[Component]]:
        with in_force(kinds.components):
            return family(package, tag_of(package))

    return _groups(lambda: kinds, members)


def _groups(
    kinds: Callable[[], Kinds], members: Callable[[str], Mapping[str, type[Component]]]
) -> dict[str, Group]:
    """Everything that there is to list: first what most scenarios name.

    Parameters
    ----------
    kinds : callable
        Gives all that a scenario can name.
    members : callable
        Gives the components of a package by name.
    """
    from netsim.scenario.keys import tops

    def of_family(package: str) -> Group:
        return lambda: _members(members(package))

    def of_tables(top: str) -> Group:
        return lambda: _tables(top, kinds())

    tables = {TABLES + top: of_tables(top) for top in tops()}
    families = {name: of_family(package) for name, package in outline.families().items()}
    algorithms = {"algorithms": lambda: _algorithms(kinds())}
    return {**algorithms, "scenarios": _scenarios, **tables, **families}


def _scenarios() -> list[Choice]:
    known = shipped.scenarios(shipped.scenarios_folder())
    return [Choice(name, shipped.first_sentence(path)) for name, path in known.items()]


def _algorithms(modules: Mapping[str, Any]) -> list[Choice]:
    return _with_common(
        [Choice(name, about(module), _keys(module.Params)) for name, module in modules.items()]
    )


def _members(components: Mapping[str, type[Component]]) -> list[Choice]:
    from netsim.scenario.descriptions import first_line

    return _with_common(
        [Choice(k, first_line(c), _keys(in_scenario(k, c))) for k, c in components.items()]
    )


def _tables(top: str, kinds: Kinds) -> list[Choice]:
    """The plain tables at or below one of the scenario's."""
    from netsim.scenario.descriptions import summary
    from netsim.scenario.keys import TOP_LEVEL, plain_tables

    found = []
    for path, table in plain_tables(kinds):
        if (path.partition(".")[0] or TOP_LEVEL) != top:
            continue
        said, own = summary(table).partition("\n")[0], _keys(table)
        if path in ("", "algorithm"):  # the validated tables, of which a file states no params
            own = tuple(_with_given_name(key) for key in own if key.name != "params")
        if not path:
            said = "Keys that stand before the first table, and all tables that there are."
        found.append(Choice(f"[{path}]" if path else TOP, said, own))
    return found


def in_scenario(name: str, component: type[Component]) -> type[ScenarioTable]:
    """The table that a scenario has of a component: with the keys that its place adds."""
    from netsim.registry import family_of

    package = family_of(component)
    for mark in _chosen():
        if mark.package == package:
            return mark.table(name, component)
    return component


@cache
def _chosen() -> tuple[Chosen, ...]:
    """The marks of all keys of a scenario that choose a component."""
    from netsim import registry
    from netsim.scenario.file_paths import marked_keys
    from netsim.scenario.tables import Scenario

    return tuple(mark for _, mark in marked_keys(Scenario, registry.Choice))


def about(module: Any) -> str:
    """The first line of a module's docstring, or nothing."""
    return str(vars(module).get("__doc__") or "").strip().partition("\n")[0].strip()


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


def _keys(table: type[ScenarioTable]) -> tuple[Key, ...]:
    from netsim.scenario.keys import keys_of

    return tuple(keys_of(table))


def _print(groups: Mapping[str, Sequence[Choice]], keys: bool) -> None:
    table = Table(box=box.SIMPLE_HEAD, show_header=False, pad_edge=False)
    table.add_column(style="bold cyan", overflow="fold", max_width=WIDEST_KEY)
    table.add_column()
    for group, entries in groups.items():
        table.add_row(Text(group, style="bold"), "")
        for entry in entries:
            if keys or entry.about:
                table.add_row(Text("  " + entry.name), Text(entry.about))
            for key in entry.keys if keys else ():
                table.add_row(
                    Text("    " + key.stated, style="not bold"), Text(key.line, style="dim")
                )
        table.add_section()
    terminal.out().print(table)
