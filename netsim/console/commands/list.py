"""The command `netsim list`: components that a scenario can choose from, keys of all its tables.

A list of what ships is read from the files alone: a component is called as its file, and its first
docstring line is read without running it. Keys, tables, and components beside the shipped ones need
the classes; then the files are imported, with stand-ins for what only playing needs.
"""

from __future__ import annotations

import ast
import re
import tokenize
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer
from rich.text import Text

import netsim
from netsim.console import stand_ins, terminal
from netsim.console.options import Components
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

MOST_NAME = 30
"""Columns up to which a group's names stand beside what they are; longer ones stand above it."""

PAPERS = ("paper", "papers")
"""Words that mean the table of what the papers' scenarios play."""

PACKAGE = Path(netsim.__path__[0])


class Choice(NamedTuple):
    """One thing that a scenario can name or state, its first docstring line, and its keys."""

    name: str
    about: str
    keys: tuple[Key, ...] = ()


Group = Callable[[], list[Choice]]


ALSO_CALLED = ("ls", "kinds", "keys")


def command(
    what: Annotated[
        str, typer.Argument(help="algorithms, scenarios, models, papers, channels, fading, ...")
    ] = "all",
    components: Components = None,
    keys: Annotated[bool, typer.Option("--keys", help="Also the keys and their defaults.")] = False,
    measure: Annotated[
        bool, typer.Option("--measure", help="papers: hours at this machine's own rates.")
    ] = False,
) -> None:
    """List the components that a scenario can choose from."""
    if what.lower() in PAPERS:
        from netsim.console import papers

        papers.show(measure)
        return
    _print(_groups_named(what, components or (), keys), keys)


def _groups_named(what: str, components: Sequence[Path], keys: bool) -> dict[str, list[Choice]]:
    """The groups that a word names, by name, see `chosen`; `keys`: those of each choice, too."""
    from importlib.metadata import entry_points

    if components or any(entry_points(group="netsim.components")):
        groups = chosen(what, beside_the_shipped(components))
        return {name: group() for name, group in groups.items()}
    if not keys and (groups := _matching(what, names_alone())):
        return {name: group() for name, group in groups.items()}
    light = stand_ins.in_their_place()
    try:
        return {name: group() for name, group in chosen(what, with_keys()).items()}
    except ScenarioError:
        raise
    except (Exception, stand_ins.StandInUsedError):
        if light:
            stand_ins.begin_again()
        raise


def is_listed(word: str) -> bool:
    """Return whether the command knows a word; nothing is imported for it."""
    return word.lower() in PAPERS or bool(_matching(word, names_alone()))


def chosen(what: str, groups: Mapping[str, Group]) -> dict[str, Group]:
    """The groups that a word names: `algorithms`, a family or table, a part of its name, `all`.

    A word that names nothing is refused.
    """
    found = _matching(what, groups)
    if found:
        return found
    group = group_of(what)
    if group is not None:
        raise ScenarioError(
            f"netsim list {one_line(what)}: is one of {group}: netsim list {group} --keys"
        )
    from netsim.registry import did_you_mean  # here: it brings pydantic

    words = sorted({part for name in groups for part in (name, *name.split("."))})
    raise ScenarioError(
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


def first_line(path: Path) -> str:
    """The first line of a Python file's docstring, or nothing."""
    with tokenize.open(path) as file:
        for token in tokenize.generate_tokens(file.readline):
            if token.type == tokenize.STRING:
                text = ast.literal_eval(token.string)
                return str(text).strip().partition("\n")[0].strip()
            if token.type not in (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE):
                break
    return ""


def files(folder: Path) -> dict[str, Path]:
    """The public Python files of a folder by name."""
    return {path.stem: path for path in sorted(folder.glob("*.py")) if path.name[0] != "_"}


@cache
def families() -> dict[str, str]:
    """The packages of all component families, by the name that they are listed under."""
    found = {}
    for path in PACKAGE.rglob("__init__.py"):
        text = path.read_text(encoding="utf-8")
        if re.search(r"^class \w+\(Component\)", text, re.MULTILINE):
            package = ".".join(path.parent.relative_to(PACKAGE.parent).parts)
            listed = re.search(r'^LISTED_AS = "(.+)"', text, re.MULTILINE)
            found[listed[1] if listed else package.removeprefix("netsim.")] = package
    return dict(sorted(found.items()))


def names_alone() -> dict[str, Group]:
    """Return the shipped names, without keys: nothing is imported."""

    def of_files(folder: Path) -> Group:
        return lambda: [Choice(name, first_line(path)) for name, path in files(folder).items()]

    folders = {
        name: PACKAGE.parent.joinpath(*package.split(".")) for name, package in families().items()
    }
    algorithms = Path(str(shipped.algorithms_package().__path__[0]))
    groups = {name: of_files(folder) for name, folder in folders.items()}
    return {"algorithms": of_files(algorithms), "scenarios": _scenarios, **groups}


def group_of(name: str) -> str | None:
    """Return the group that ships a choice of a name; nothing is imported for it."""
    for group, choices in names_alone().items():
        if any(choice.name == name.lower() for choice in choices()):
            return group
    return None


def with_keys() -> dict[str, Group]:
    """Return the shipped components: the files of a group are imported when it is asked for."""
    from netsim.registry import shipped_family, tag_of
    from netsim.scenario.kinds import kinds_of

    return _groups(kinds_of, lambda package: shipped_family(package, tag_of(package)))


def beside_the_shipped(components: Sequence[Path]) -> dict[str, Group]:
    """All that there is: with folders of the user's own, and what installed packages hold."""
    from netsim.registry import family, tag_of, use_components
    from netsim.scenario.kinds import kinds_of

    kinds = kinds_of(components)
    kinds.read_installed()

    def members(package: str) -> dict[str, type[Component]]:
        with use_components(kinds.components):
            return family(package, tag_of(package))

    return _groups(lambda: kinds, members)


def _groups(
    kinds: Callable[[], Kinds], members: Callable[[str], Mapping[str, type[Component]]]
) -> dict[str, Group]:
    """Everything that there is to list: first what most scenarios name.

    `members` gives the components of a package by name.
    """
    from netsim.scenario.keys import tops

    def of_family(package: str) -> Group:
        return lambda: _members(members(package))

    def of_tables(top: str) -> Group:
        return lambda: _tables(top, kinds())

    tables = {TABLES + top: of_tables(top) for top in tops()}
    of_families = {name: of_family(package) for name, package in families().items()}
    algorithms = {"algorithms": lambda: _algorithms(kinds())}
    return {**algorithms, "scenarios": _scenarios, **tables, **of_families}


def _scenarios() -> list[Choice]:
    known = shipped.scenarios(shipped.scenarios_folder())
    return [Choice(name, shipped.first_sentence(path)) for name, path in known.items()]


def _algorithms(modules: Mapping[str, Any]) -> list[Choice]:
    return _with_common(
        [
            Choice(name, docstring_line(module), _keys(module.Params))
            for name, module in modules.items()
        ]
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
            own = tuple(
                key._replace(default="") if key.name == "name" else key  # the kind's, else
                for key in own
                if key.name != "params"
            )
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


def docstring_line(module: Any) -> str:
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


def _keys(table: type[ScenarioTable]) -> tuple[Key, ...]:
    from netsim.scenario.keys import keys_of

    return tuple(keys_of(table))


def _print(groups: Mapping[str, Sequence[Choice]], keys: bool) -> None:
    """Print groups: names, which are never broken, beside what they are."""
    console = terminal.out()
    for group, entries in groups.items():
        rows = [(Text(" " + group, style="bold"), Text())]
        for entry in entries:
            if keys or entry.about:
                rows.append((Text("   " + entry.name, style="bold cyan"), Text(entry.about)))
            rows += [
                (Text("     " + key.stated, style="cyan"), Text(key.line, style="dim"))
                for key in (entry.keys if keys else ())
            ]
        console.print()
        console.print_beside(rows, MOST_NAME)
