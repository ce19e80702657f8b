"""Definition of a sweep's runs: written at its beginning, compared when it goes on.

`scenario.toml` is the whole sweep, `sweep.json` what else its command line said.
"""

import hashlib
import json
import sys
import tomllib
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import ModuleType
from typing import Any

from netsim.engine.checkpoints import command
from netsim.errors import ScenarioError
from netsim.recording import run_folder
from netsim.recording.whole_files import write_text
from netsim.results import summary
from netsim.scenario import Scenario, to_toml
from netsim.scenario.kinds import as_kinds

DEFINITION, ARGUMENTS = "scenario.toml", "sweep.json"

NOT_COMPARED = ("sweep.jobs",)
"""Keys that may differ when a sweep goes on: no result depends on them."""

SHOWN = 3
"""Differences to another sweep are listed up to this many."""


def definition(folder: Path) -> dict[str, Any]:
    """The tables of a folder's `scenario.toml`; empty where it is no folder of a sweep.

    One in which a run is under way is none, whatever somebody has added to its scenario.
    """
    if (folder / command.FOLDER / command.FILE).is_file():
        return {}
    try:
        tables = run_folder.scenario_tables(folder)
    except ScenarioError:
        return {}
    return tables if isinstance(tables.get("sweep"), dict) else {}


def arguments(
    scenario: Scenario, modules: Mapping[str, ModuleType], timing_only: bool
) -> dict[str, Any]:
    """Return the arguments beside the scenario that decide on a sweep's results.

    Parameters
    ----------
    scenario : Scenario
    modules : mapping of str to module
        The algorithms, or all `Kinds`.
    timing_only : bool
        Without tensor work.
    """
    try:
        release = version("netsim-dfl")
    except PackageNotFoundError:
        release = "not installed"
    kinds = sorted({entry.kind for entry in scenario.algorithm})
    text = to_toml(scenario)
    components = {
        f"{package.removeprefix('netsim.')}/{name}": _digest(sys.modules[component.__module__])
        for package, members in as_kinds(modules).components.items()
        for name, component in members.items()
        if f'"{name}"' in text
    }
    return {
        "netsim": release,
        "timing_only": timing_only,
        "algorithms": {kind: _digest(modules[kind]) for kind in kinds},
        **({"components": components} if components else {}),
    }


def _digest(module: ModuleType) -> str:
    if getattr(module, "__file__", None) is None:
        return "an object"
    return hashlib.sha256(Path(str(module.__file__)).read_bytes()).hexdigest()[:16]


def define(top: Path, scenario: Scenario, said: Mapping[str, Any]) -> bool:
    """Write what a sweep plays, or compare it with what the folder says.

    Parameters
    ----------
    top : Path
        The sweep's folder, locked by this process.
    scenario : Scenario
    said : mapping
        See `arguments`.

    Returns
    -------
    bool
        Whether the sweep is new.

    Raises
    ------
    ScenarioError
        If the folder is another sweep's; names what differs.
    """
    text = to_toml(scenario)
    there = definition(top)
    if not there:
        summary.write_json(top / ARGUMENTS, said)
        write_text(top / DEFINITION, text)
        return True
    differing = _differences(there, tomllib.loads(text))
    differing += [
        f"{_spoken(key)}{_value(was)} there, {_value(now)} here"
        for key, (was, now) in pairs(said_there(top), said).items()
        if was != now
    ]
    if differing:
        more = len(differing) - SHOWN
        text = "; ".join(differing[:SHOWN]) + (f"; and {more} more" if more > 0 else "")
        raise ScenarioError(
            f"--out {top}: holds another sweep: {text}. To go on with it, say the same again; else "
            "choose another folder"
        )
    return False


def said_there(top: Path) -> dict[str, Any]:
    """Read what the command line of a folder's sweep said beside its scenario.

    Raises
    ------
    ScenarioError
        If that can't be read.
    """
    try:
        return run_folder.json_file(top / ARGUMENTS)
    except (FileNotFoundError, ScenarioError) as problem:
        told = f" ({problem})" if isinstance(problem, ScenarioError) else ""
        raise ScenarioError(
            f"--out {top}: {ARGUMENTS} is missing or no JSON{told}, so this sweep can't be gone on "
            "with; choose another folder"
        ) from None


def _differences(there: Mapping[str, Any], here: Mapping[str, Any]) -> list[str]:
    found = []
    for key, (was, now) in pairs(there, here).items():
        if was != now and key not in NOT_COMPARED:
            found.append(f"{key} = {_value(was)} there, {_value(now)} here")
    return found


def _spoken(key: str) -> str:
    """Name a key of `sweep.json` before its two values."""
    for table, what in (("algorithms", "algorithm"), ("components", "component")):
        name = key.removeprefix(f"{table}.")
        if name != key:
            return f"the {what} file {name} has changed: "
    return {"timing_only": "--timing-only "}.get(key, f"{key} ")


def _value(value: Any) -> str:
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "yes" if value else "no"
    text = json.dumps(value, default=str)
    return text if len(text) <= 60 else f"{text[:57]}..."


def pairs(there: Mapping[str, Any], here: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    """The values of both by dotted key."""
    was, now = dict(_flat(there)), dict(_flat(here))
    return {key: (was.get(key), now.get(key)) for key in (was | now)}


def _flat(tables: Mapping[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for key, value in tables.items():
        if isinstance(value, Mapping) and value:
            found += _flat(value, f"{prefix}{key}.")
        else:
            found.append((prefix + key, value))
    return found
