"""Edits of a run's `scenario.toml` since the run was begun, and the scenario in which they hold."""

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from netsim.campaign import sweep_folder
from netsim.engine.checkpoints.command import FOLDER, SCENARIO
from netsim.errors import ScenarioError, one_line
from netsim.recording import checksums, run_folder
from netsim.recording.whole_files import sha256_of
from netsim.scenario import Scenario, check, draft_of, to_toml
from netsim.scenario.labels import shown

if TYPE_CHECKING:
    from netsim.engine.checkpoints.journal import Kept

Edits = dict[str, tuple[Any, Any]]
"""By key path the value before and now."""


def edits_since(folder: Path, modules: Mapping[str, ModuleType]) -> Edits:
    """Changes in a `scenario.toml` since it was written: before and now, by key."""
    from netsim.engine.checkpoints.journal import Journal

    kept = Journal(folder).scenario()  # of what has ended there is none
    if kept is None or not (path := run_folder.scenario_file(folder)).is_file():
        return {}
    if holds(path, kept.text) or checksums.sha256(path) in kept.instead_of:
        return {}
    scenario = read_scenario(path, modules)
    entry = scenario.algorithm[0] if len(scenario.algorithm) == 1 else None
    draft = draft_of(str(path), (), modules)
    draft.raw = kept.tables
    try:
        before = check(draft, modules)
    except ScenarioError as error:
        raise ScenarioError(
            f"{folder / FOLDER / SCENARIO}: holds no scenario that can be played: "
            f"{one_line(error)}; put it back, or play the run anew in another folder: netsim run"
        ) from None
    own = before.algorithm[0] if len(before.algorithm) == 1 else None
    both = sweep_folder.pairs(
        tomllib.loads(to_toml(before, own)), tomllib.loads(to_toml(scenario, entry))
    )
    return {key: (was, is_now) for key, (was, is_now) in both.items() if was != is_now}


def changed_at(
    path: Path, begun: "Kept", edits: Edits, at_s: float, modules: Mapping[str, ModuleType]
) -> Scenario:
    """The scenario that a file held, in which edits of the file hold from a time on.

    Parameters
    ----------
    path : Path
        The file.
    begun : Kept
        What it held when the run was begun.
    at_s : float
        From when on they hold [s].
    modules : mapping of str to module
        The algorithms.

    Raises
    ------
    ScenarioError
        If one of them can't change while a run goes on.
    """
    draft = draft_of(str(path), (), modules)
    draft.raw = begun.tables
    if not edits:
        return check(draft, modules)
    gone = [key for key, (_, now) in edits.items() if now is None]
    changes = {change["at_s"]: change["set"] for change in draft.raw.get("changes", ())}
    # the run may have gone on from this instant before, with other edits
    changes[at_s] = {**changes.get(at_s, {}), **{key: now for key, (_, now) in edits.items()}}
    draft.raw["changes"] = [{"at_s": then, "set": changes[then]} for then in sorted(changes)]
    try:
        if gone:
            raise ScenarioError(f"{path}: {', '.join(gone)}: can't be taken away in mid-run")
        return check(draft, modules)
    except ScenarioError as error:
        raise ScenarioError(
            f"{error}\n{path}: what can't change while a run goes on is played anew: put back "
            "what it said, and call netsim run with the other scenario"
        ) from None


def in_words(value: Any) -> str:
    """Return a value of an edited key as a user reads it; of a key that is not there, `nothing`."""
    return "nothing" if value is None else one_line(shown(value))


def holds(path: Path, text: str) -> bool:
    """Return whether a file is a text, byte for byte."""
    return checksums.sha256(path) == sha256_of(text)


def read_scenario(
    path: Path, modules: Mapping[str, ModuleType], computed: Mapping[str, Any] | None = None
) -> Scenario:
    """Read the scenario of a folder.

    Parameters
    ----------
    path : Path
        Its file.
    modules : mapping of str to module
        The algorithms.
    computed : mapping or None
        Keys of `[run]` in place of its own.

    Raises
    ------
    ScenarioError
        If it can't be played.
    """
    sets = [f"run.{key}={json.dumps(value)}" for key, value in (computed or {}).items()]
    return check(draft_of(str(path), sets, modules), modules)
