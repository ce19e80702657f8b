"""Scenario files: where they are, and TOML in and out."""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import tomli_w

from netsim.errors import ScenarioError, one_line
from netsim.registry import OnDisk, did_you_mean
from netsim.scenario.draft import Draft, KeyPath
from netsim.scenario.file_paths import with_absolute_paths
from netsim.scenario.labels import shown
from netsim.scenario.nodes import MOST_NAME
from netsim.scenario.shipped import scenarios, scenarios_folder
from netsim.traces import bounded
from netsim.traces.bounded_toml import read_toml
from netsim.traces.files import is_file

OWN_KEYS = ("name", "paper")
"""Keys of a file that do not pass to those that extend it."""


def shipped() -> dict[str, Path]:
    """The scenarios that come with netsim, by name; bases (`_x.toml`) are not among them."""
    return scenarios(scenarios_folder())


def locate(scenario: str) -> Path:
    """The file that a command line's SCENARIO means: a path, or a shipped scenario's name.

    Raises
    ------
    ScenarioError
    """
    path, label = Path(scenario), one_line(scenario)
    if is_file(path):
        return path
    inside = path / "scenario.toml"
    if is_file(inside):
        raise ScenarioError(
            f'{label}: is a folder, not a scenario file; did you mean "{one_line(inside)}"?'
        )
    problem = bounded.kind_problem(path)
    if problem is not None:
        raise ScenarioError(f"{label}: {problem}")
    known = shipped()
    if scenario in known:
        return known[scenario]
    raise ScenarioError(
        f"{label}: no such file, and no shipped scenario of that name (netsim list scenarios)"
        + did_you_mean(scenario, [*known, *map(str, _files_in(path.parent))])
    )


def _files_in(folder: Path) -> list[Path]:
    """The scenario files of a folder; none if there is no such folder."""
    try:
        return sorted(folder.glob("*.toml"))
    except (OSError, ValueError):
        return []


def read(scenario: str, named: Mapping[KeyPath, OnDisk]) -> Draft:
    """Read a scenario file, the base that it extends, that one's base, and so on.

    Parameters
    ----------
    scenario : str
        A path, or the name of a shipped scenario.
    named : mapping of key path to OnDisk
        What keys name files, which become absolute: each beside the file that states it.

    Raises
    ------
    ScenarioError
        If a file is missing, not TOML, or extends in a loop.
    """
    path = locate(scenario)
    label = one_line(scenario if path == Path(scenario) else path)
    tables = parse(path, one_line(scenario), named)
    bases = list(_bases(path, label, tables, named))
    tables.setdefault("name", folder_name(path.stem))
    if not bases:
        return Draft(label, tables)
    draft = Draft(label, {})
    for base, base_tables in reversed(bases):
        kept = {key: table for key, table in base_tables.items() if key not in OWN_KEYS}
        draft.lay_over(kept, one_line(base))
    draft.lay_over(tables, label)
    return draft


def folder_name(stem: str) -> str:
    """A name for a run by the file's: without accents, and `_` for what no folder's name has."""
    letters = unicodedata.normalize("NFKD", stem)
    bare = "".join(sign for sign in letters if not unicodedata.combining(sign))
    safe = re.sub(r"[^A-Za-z0-9_.=-]+", "_", bare).lstrip("_.=-")[:MOST_NAME]
    return safe or "scenario"


def _bases(
    path: Path, label: str, tables: dict[str, Any], named: Mapping[KeyPath, OnDisk]
) -> Iterator[tuple[Path, dict[str, Any]]]:
    """The files that a scenario rests on, nearest first; takes `extends` out of all tables.

    Parameters
    ----------
    path : Path
        The scenario's file.
    label : str
        What errors call it.
    tables : dict
        Its tables.
    named : mapping of key path to OnDisk

    Raises
    ------
    ScenarioError
    """
    chain, seen, first = [path], {path.resolve()}, label
    while (extends := tables.pop("extends", None)) is not None:
        if not isinstance(extends, str):
            raise ScenarioError(f"{label}: extends = {shown(extends)}: must be a file's name")
        base = _base(chain[-1], extends, label)
        if base.resolve() in seen:
            loop = one_line(" -> ".join(file.name for file in (*chain, base)))
            raise ScenarioError(f"{first}: extends forms a loop: {loop}")
        tables = parse(base, f"{label}: extends = {shown(extends)}: {one_line(base)}", named)
        yield base, tables
        chain.append(base)
        seen.add(base.resolve())
        label = one_line(base)


def parse(path: Path, label: str, named: Mapping[KeyPath, OnDisk]) -> dict[str, Any]:
    """The tables of one TOML file.

    Parameters
    ----------
    path : Path
    label : str
        Starts the error.
    named : mapping of key path to OnDisk
        What keys name files, which become absolute.

    Raises
    ------
    ScenarioError
    """
    tables = read_toml(path, label)
    found: dict[str, Any] = with_absolute_paths(tables, path.parent, named)
    return found


def _base(path: Path, extends: str, label: str) -> Path:
    for candidate in (path.parent / extends, path.parent / f"{extends}.toml"):
        if is_file(candidate):
            return candidate
    folder = scenarios_folder()
    for name in (extends, f"{extends}.toml"):
        if Path(name).name == name and is_file(folder / name):
            return folder / name
    known = [p.name for p in (*_files_in(path.parent), *_files_in(folder))]
    raise ScenarioError(
        f"{label}: extends = {shown(extends)}: no such file beside it, and none shipped"
        + did_you_mean(extends, known)
    )


def without_none(value: Any) -> Any:
    """The value with unset keys left out: TOML has no null."""
    if isinstance(value, dict):
        return {key: without_none(v) for key, v in value.items() if v is not None}
    if isinstance(value, Iterable) and not isinstance(value, str):
        return [without_none(v) for v in value]
    return value


ORDERED = (("sweep", "over"), ("sweep", "draw"))
"""Tables whose keys have an order that counts: points of a sweep are named and played by it."""


def write(tables: dict[str, Any]) -> str:
    """Tables as TOML text.

    TOML's writers put keys with tables behind those with plain values. The tables of `ORDERED` come
    last, with one line per key and the tables in it inline, so that their keys stay in order.
    """
    whole, ordered = without_none(tables), ""
    for outer, inner in ORDERED:
        of_outer = whole.get(outer)
        if isinstance(of_outer, dict) and isinstance(of_outer.get(inner), dict):
            keys = of_outer.pop(inner)
            lines = "".join(_line(key, value) for key, value in keys.items())
            ordered += f"\n[{outer}.{inner}]\n{lines}"
    return tomli_w.dumps(whole) + ordered


def _line(key: str, value: Any) -> str:
    """A key with its value on the right of it, also where that is or has a table."""
    name = tomli_w.dumps({key: 0}).removesuffix("0\n")
    mixed = tomli_w.dumps({"x": [0, value]})  # of which a part is no table: they stay inline
    return name + mixed.removeprefix("x = [\n    0,\n    ").removesuffix(",\n]\n") + "\n"
