"""Scenario files: where they are, and TOML in and out."""

import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import tomli_w

from netsim.errors import ScenarioError
from netsim.registry import OnDisk, did_you_mean
from netsim.scenario.draft import Draft, KeyPath
from netsim.scenario.file_paths import with_absolute_paths
from netsim.scenario.shipped import scenarios_folder

MAX_FILE_BYTES = 4 << 20
OWN_KEYS = ("name", "paper")
"""What a file says of itself alone, and not for those that extend it."""


def shipped() -> dict[str, Path]:
    """The scenarios that come with netsim, by name; bases (`_x.toml`) are not among them."""
    return {p.stem: p for p in sorted(scenarios_folder().glob("*.toml")) if p.name[0] != "_"}


def locate(scenario: str) -> Path:
    """The file that a command line's SCENARIO means: a path, or a shipped scenario's name.

    Raises
    ------
    ScenarioError
    """
    path = Path(scenario)
    if path.is_dir():
        inside = path / "scenario.toml"
        hint = f'; did you mean "{inside}"?' if inside.is_file() else ""
        raise ScenarioError(f"{scenario}: is a folder, not a scenario file{hint}")
    if path.exists():
        return path
    known = shipped()
    if scenario in known:
        return known[scenario]
    beside = [str(p) for p in path.parent.glob("*.toml")] if path.parent.is_dir() else []
    raise ScenarioError(
        f"{scenario}: no such file, and no shipped scenario of that name (netsim list scenarios)"
        + did_you_mean(scenario, [*known, *beside])
    )


def read(scenario: str, named: Mapping[KeyPath, OnDisk]) -> Draft:
    """Read a scenario file and the base that it extends.

    Parameters
    ----------
    scenario : str
        A path, or the name of a shipped scenario.
    named : mapping of key path to OnDisk
        What keys name files, which become absolute.

    Raises
    ------
    ScenarioError
        If a file is missing, not TOML, or extends in a loop or over more than one level.
    """
    path = locate(scenario)
    tables = parse(path, str(scenario), named)
    label = str(scenario) if path == Path(scenario) else str(path)
    extends = tables.pop("extends", None)
    tables.setdefault("name", path.stem)
    if extends is None:
        return Draft(label, tables)
    if not isinstance(extends, str):
        raise ScenarioError(f"{label}: extends = {extends!r}: must be a file's name")
    base_path = _base(path, extends, label)
    base = parse(base_path, f'{label}: extends = "{extends}": {base_path}', named)
    if base.pop("extends", None) is not None:
        raise ScenarioError(_chain_problem(label, path, base_path))
    for key in OWN_KEYS:
        base.pop(key, None)
    draft = Draft(label, {})
    draft.lay_over(base, str(base_path))
    draft.lay_over(tables, label)
    return draft


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
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            raise ScenarioError(f"{label}: is larger than 4 MiB; a scenario is a short TOML file")
        content = path.read_bytes()
    except OSError as error:
        raise ScenarioError(f"{label}: cannot be read: {error.strerror}") from error
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        raise ScenarioError(f"{label}: is a binary file; a scenario is a text file in TOML")
    try:
        tables = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise ScenarioError(f"{label}: is not valid TOML: {error}") from error
    found: dict[str, Any] = with_absolute_paths(tables, path.parent, named)
    return found


def _base(path: Path, extends: str, label: str) -> Path:
    beside = path.parent / extends
    for candidate in (beside, beside.with_name(beside.name + ".toml")):
        if candidate.is_file():
            return candidate
    folder = scenarios_folder()
    for name in (extends, f"{extends}.toml"):
        if Path(name).name == name and (folder / name).is_file():
            return folder / name
    known = [p.name for p in (*path.parent.glob("*.toml"), *folder.glob("*.toml"))]
    raise ScenarioError(
        f'{label}: extends = "{extends}": no such file beside it, and none shipped'
        + did_you_mean(extends, known)
    )


def _chain_problem(label: str, start: Path, base: Path) -> str:
    """Why the base's own `extends` is refused: a loop, or a second level."""
    chain, current = [start], base
    seen = {start.resolve()}
    while current.resolve() not in seen:
        chain.append(current)
        seen.add(current.resolve())
        further = parse(current, str(current), {}).get("extends")
        if not isinstance(further, str):
            break
        current = _base(current, further, str(current))
    else:
        loop = " -> ".join(p.name for p in [*chain, current])
        return f"{label}: extends forms a loop: {loop}"
    return (
        f'{label}: its base {base} has an "extends" of its own; only one level is allowed, '
        "so that a scenario can be read from two files"
    )


def without_none(value: Any) -> Any:
    """The value with unset keys left out: TOML has no null."""
    if isinstance(value, dict):
        return {key: without_none(v) for key, v in value.items() if v is not None}
    if isinstance(value, Iterable) and not isinstance(value, str):
        return [without_none(v) for v in value]
    return value


def write(tables: dict[str, Any]) -> str:
    """Tables as TOML text."""
    return tomli_w.dumps(without_none(tables))


def first_comment(path: Path) -> str:
    """The first comment line of a scenario file: what it shows."""
    with path.open(encoding="utf-8") as lines:
        return next((text.lstrip("# ").strip() for text in lines if text.startswith("#")), "")
