"""The folder of a sweep: whose it is, what it plays, and what of it is done.

A run is done if each of its algorithms is; of one that is not, `put_aside` moves what there is
to `seed-<s>.unfinished-<k>`, so that nothing is lost and nothing is taken for whole.

A sweep locks its folder; a part of one (`--only 3/8`) locks `.parts/3-of-8`, so that several
machines work in one folder, each run of which is locked, too, while it is played.

`scenario.toml` is the whole sweep, `sweep.json` what else its command line said.
"""

import hashlib
import json
import math
import sys
import time
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import ModuleType
from typing import Any

from netsim.campaign import run_inputs
from netsim.campaign.sweep_points import place_of, points_of
from netsim.engine import output_folder
from netsim.engine.checkpoints import command
from netsim.engine.equipment import version
from netsim.errors import FolderBusyError, ScenarioError, one_line
from netsim.recording import checksums, folder_lock, run_folder, status, summary, verified_files
from netsim.recording.json_files import json_file, leaves
from netsim.recording.whole_files import free_folder, write_text
from netsim.scenario import Scenario, to_toml
from netsim.scenario.draft import addressed
from netsim.scenario.file import ORDERED
from netsim.scenario.kinds import as_kinds
from netsim.scenario.source_files import source_files

PARTS = ".parts"

Part = tuple[int, int]
"""A part of a sweep: which, from 1, of how many."""

PATIENCE_S = 30.0
"""Time to wait for a folder whose writer is about to end [s]."""

UNDONE = {"missing": "not begun"}
"""Other words for states that tell too little."""


@contextmanager
def open_sweep(
    out: Path | None, scenario: Scenario, said: Mapping[str, Any], only: Part | None
) -> Iterator[tuple[Path, bool]]:
    """The folder of a sweep, new or to go on with, locked meanwhile.

    Parameters
    ----------
    out : Path or None
        None: the first free of runs/NAME, runs/NAME-2, ...
    said : mapping
        See `arguments`.
    only : (int, int) or None
        The part that this process plays: which, of how many. Needs `out`.

    Yields
    ------
    Path
        The folder.
    bool
        Whether the sweep is new.

    Raises
    ------
    ScenarioError
        If the folder is in use, is not empty, or is another sweep's.
    """
    if only is not None:
        assert out is not None
        with _part(out, scenario, said, only) as new:
            yield out, new
        return
    if out is not None and takes_sweep(out):
        top = out
        folder_lock.acquire(top, take_over=True)
    else:
        top = output_folder.claim(out, scenario.name)
    try:
        folder_lock.require_no_linked_folders(top)
        _require_no_part_under_way(top)
        yield top, define(top, scenario, said)
    finally:
        folder_lock.release(top)


@contextmanager
def _part(top: Path, scenario: Scenario, said: Mapping[str, Any], only: Part) -> Iterator[bool]:
    top.mkdir(parents=True, exist_ok=True)
    with locked(top):
        if not takes_sweep(top):
            raise ScenarioError(output_folder.out_problem(top) or f"--out {top}: is not empty")
        own = top / PARTS / part_name(only)
        own.mkdir(parents=True, exist_ok=True)
        new = define(top, scenario, said)
        folder_lock.acquire(own, take_over=True)  # before another process may define a larger one
    try:
        folder_lock.require_no_linked_folders(own)
        yield new
    finally:
        folder_lock.release(own)


def takes_sweep(out: Path) -> bool:
    """Return whether a folder is a sweep's, or one that ended before it had a definition."""
    if out.is_dir() and all(p.name == ARGUMENTS or p.name[0] == "." for p in out.iterdir()):
        return True
    return bool(definition(out))  # looked at last: another process may have just written it


def part_name(only: Part) -> str:
    """Name of a part in file names."""
    return f"{only[0]}-of-{only[1]}"


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Lock a folder meanwhile, after the end of a process that is about to leave it.

    Raises
    ------
    FolderBusyError
        If it is in use for longer.
    """
    until_s = time.monotonic() + PATIENCE_S
    while True:
        try:
            folder_lock.acquire(folder, take_over=True)
            break
        except FolderBusyError:
            if time.monotonic() > until_s:
                raise
        time.sleep(0.2)
    try:
        yield
    finally:
        folder_lock.release(folder)


def runs_with(top: Path, file: str) -> list[Path]:
    """The folders of algorithms that have a file, in order; none that was put aside."""
    found = sorted(path.parent for path in top.glob(f"*/seed-*/*/{file}"))
    return [run for run in found if run_folder.UNFINISHED not in run.parent.name]


def withdraw(top: Path) -> None:
    """Remove the folder of a sweep, unless a run wrote something into it."""
    if any(top.glob("*/seed-*/*")):
        return
    for name in (DEFINITION, ARGUMENTS, "status.json", "report.html"):
        (top / name).unlink(missing_ok=True)
    output_folder.release(top)


def missing(folder: Path, names: Sequence[str]) -> tuple[str, ...]:
    """The algorithms of a run that are not done."""
    return tuple(name for name in names if state(folder / name) != "done")


def state(folder: Path) -> str:
    """The state of one algorithm's folder by its `status.json`; `done` only if all is written."""
    word = str(status.read(folder).get("state", "missing"))
    whole = all((folder / name).is_file() for name in ("summary.json", checksums.NAME))
    return "unfinished" if word == "done" and not whole else word


def put_aside(folder: Path, names: Sequence[str]) -> None:
    """Move what there is of a run's algorithms beside its folder."""
    there = [folder / name for name in names if (folder / name).exists()]
    if not there:
        return
    aside = free_folder(folder, run_folder.UNFINISHED)
    for path in there:
        path.rename(aside / path.name)


def undone(
    top: Path, points: Iterable[str], seeds: Sequence[int], names: Sequence[str]
) -> list[str]:
    """The runs of a sweep that are not done, and what is known of each.

    Parameters
    ----------
    points : iterable of str
        Their labels.
    names : sequence of str
        Of the algorithms.
    """
    lines = []
    for label in points:
        for seed in seeds:
            folder = top / place_of(label, seed)
            for name in missing(folder, names):
                word = state(folder / name)
                if word in ("running", "unfinished"):
                    word = "unfinished" if folder_lock.holder(folder) is None else "being played"
                lines.append(f"{label}, seed {seed}, {name}: {UNDONE.get(word, word)}")
    return lines


DEFINITION, ARGUMENTS = "scenario.toml", "sweep.json"

BEGUN_WITH = "begun_with"
"""Key of `sweep.json`: hashes of the scenario that the sweep began with and of those it grew to."""

MAY_GROW = ("over", "seeds", "trials")
"""Keys of `[sweep]` to which a sweep that goes on may have added values."""

OF_TABLES = ("against", "show", "target")
"""Keys of `[sweep]` that may differ then: its tables depend on them, no run does."""

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
        with verified_files.allow_changed():  # a sweep that goes on says which keys have changed
            tables = run_folder.scenario_tables(folder)
    except ScenarioError:
        return {}
    return tables if isinstance(tables.get("sweep"), dict) else {}


def has_ended(folder: Path) -> bool:
    """Return whether the folder of a sweep has its tables: its state is said after these."""
    name = "status.json"
    if status.read(folder).get("state") != "done" or not (folder / checksums.NAME).is_file():
        return False
    return checksums.read(folder).get(name) == checksums.sha256(folder / name)


def arguments(
    scenario: Scenario, modules: Mapping[str, ModuleType], timing_only: bool
) -> dict[str, Any]:
    """Return all that decides on a sweep's results beside its scenario.

    Parameters
    ----------
    modules : mapping of str to module
        The algorithms, or all `Kinds`.
    timing_only : bool
        Without tensor work.
    """
    kinds = sorted({entry.kind for entry in scenario.algorithm})
    text = to_toml(scenario)
    components = {
        f"{package.removeprefix('netsim.')}/{name}": _digest(sys.modules[component.__module__])
        for package, members in as_kinds(modules).components.items()
        for name, component in members.items()
        if f'"{name}"' in text
    }
    return {
        "netsim": version("netsim-dfl"),
        "timing_only": timing_only,
        "algorithms": {kind: _digest(modules[kind]) for kind in kinds},
        **({"components": components} if components else {}),
    }


def _digest(module: ModuleType) -> str:
    """A hash of a module's file and of those beside it that it imports."""
    files = source_files(module)
    if not files:
        return "an object"
    digest = hashlib.sha256(files[0].read_bytes())
    for path in files[1:]:
        digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def define(top: Path, scenario: Scenario, said: Mapping[str, Any]) -> bool:
    """Write what a sweep plays, or compare it with what the folder says.

    A sweep that has all runs of the folder's and more takes its place.

    Parameters
    ----------
    top : Path
        The sweep's folder, locked by this process.
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
    tables = tomllib.loads(text)
    there = definition(top)
    if not there:
        summary.write_json(top / ARGUMENTS, {**said, BEGUN_WITH: _digest_of(tables)})
        write_text(top / DEFINITION, text)
        return True
    known = said_there(top)
    begun_with = known.pop(BEGUN_WITH, "")
    is_as_begun = _digest_of(there) in begun_with.split()
    grows = is_as_begun and _adds_to(there, tables)
    differing = [] if grows else _other_addresses(there, tables) + _differences(there, tables)
    if differing and is_as_begun:
        differing = _other_folders(there, tables) + differing
    differing += [
        f"{_key_in_words(key)}{_value(was)} there, {_value(now)} here"
        for key, (was, now) in pairs(known, said).items()
        if was != now and None not in (was, now)  # else of a method that the other does not have
    ]
    if differing:
        more = len(differing) - SHOWN
        text = "; ".join(differing[:SHOWN]) + (f"; and {more} more" if more > 0 else "")
        raise ScenarioError(
            f"--out {top}: holds another sweep: {text}. To go on with it, say the same again, or "
            "more seeds, values, algorithms or trials; else choose another folder"
        )
    _require_as_begun(f"--out {top}", there, begun_with)
    _require_same_inputs(top)
    if grows:
        _require_no_part_under_way(top)
        (top / checksums.NAME).unlink(missing_ok=True)  # of files that are written anew at its end
        known_as = f"{begun_with} {_digest_of(tables)}"
        summary.write_json(top / ARGUMENTS, {**said, BEGUN_WITH: known_as})
        write_text(top / DEFINITION, text)
    return False


def _adds_to(there: Mapping[str, Any], here: Mapping[str, Any]) -> bool:
    """Return whether a sweep has all runs of the one there, in the same folders, and more to show.

    Of a search only the number of trials grows: each is judged by all seeds.
    """
    was, now = there["sweep"], here["sweep"]
    may_differ = {*MAY_GROW, *OF_TABLES}
    grown = {key for key in may_differ if was.get(key) != now.get(key)}
    if there.get("algorithm") != here.get("algorithm"):
        grown.add("algorithm")
    kept = [
        {k: v for k, v in tables.items() if k != "algorithm"}
        | {"sweep": {k: v for k, v in tables["sweep"].items() if k not in may_differ}}
        for tables in (there, here)
    ]
    if not grown or _differences(*kept):
        return False
    if "trials" in was or "trials" in now:
        is_longer = now.get("trials", 0) >= was.get("trials", math.inf)
        return is_longer and grown <= {"trials", *OF_TABLES}
    if list(was.get("over", ())) != list(now.get("over", ())) or _other_addresses(there, here):
        return False
    points = [{p.label: p.values for p in points_of(sweep.get("over", {}))} for sweep in (was, now)]
    seeds = [set(sweep.get("seeds") or [there.get("seed")]) for sweep in (was, now)]
    methods = [_methods(tables) for tables in (there, here)]
    return (
        seeds[0] <= seeds[1]
        and points[0].items() <= points[1].items()
        and methods[0].items() <= methods[1].items()
    )


def _other_addresses(there: Mapping[str, Any], here: Mapping[str, Any]) -> list[str]:
    """Sentences on swept keys, such as `algorithm.0.mu1`, that lead to other algorithms in each.

    An address is a name, a kind or a number, and may mean another entry where there are more.
    """
    lines = []
    for key in _table(here, ("sweep", "over")):
        table, _, rest = key.partition(".")
        address = rest.partition(".")[0]
        was, now = (
            ", ".join(names[i] for i in addressed(entries, address)) or "nothing"
            for names, entries in (
                (list(m), list(m.values())) for m in map(_methods, (there, here))
            )
        )
        if table == "algorithm" and was != now:
            lines.append(f"sweep.over.{key} is of {was} there, of {now} here")
    return lines


def _other_folders(there: Mapping[str, Any], here: Mapping[str, Any]) -> list[str]:
    """Sentence on a point whose folder has another name in a sweep with more values, if one has."""
    was, now = (points_of(_table(tables, ("sweep", "over"))) for tables in (there, here))
    for point in was:
        labels = [other.label for other in now if other.values == point.values]
        if labels and point.label not in labels:
            return [
                f"the folder {point.label} there would be {labels[0]} here, as names tell values "
                "apart that read alike"
            ]
    return []


def _require_no_part_under_way(top: Path) -> None:
    for part in sorted((top / PARTS).glob("*")):
        holder = folder_lock.holder(part)
        if holder is not None:
            raise FolderBusyError(
                f"--out {top}: {holder} plays part {part.name} of this sweep; wait for its end"
            )


def definition_as_begun(top: Path) -> dict[str, Any]:
    """The tables of a sweep's `scenario.toml`, which have to be those that it began with.

    Raises
    ------
    ScenarioError
        If somebody has edited them: the runs are not of what they say.
    """
    tables, said = definition(top), {}
    with suppress(ScenarioError):  # without its file no sweep goes on, but its runs can be read
        said = said_there(top)
    _require_as_begun(one_line(top), tables, said.get(BEGUN_WITH))
    return tables


def _require_as_begun(where: str, tables: Mapping[str, Any], begun_with: str | None) -> None:
    if begun_with and _digest_of(tables) not in begun_with.split():
        raise ScenarioError(
            f"{where}: {DEFINITION} in it has been edited since the sweep began, and its points "
            "would be of different scenarios. Put back what it was, or choose another folder"
        )


def _digest_of(tables: Mapping[str, Any]) -> str:
    """A hash of all keys of a scenario that have to stay."""
    kept = {key: value for key, value in leaves(tables) if key not in NOT_COMPARED}
    return hashlib.sha256(json.dumps(kept, sort_keys=True, default=str).encode()).hexdigest()[:16]


def _require_same_inputs(top: Path) -> None:
    """Refuse a sweep of which done runs have read an input file that is another one now.

    Raises
    ------
    ScenarioError
    """
    changes = run_inputs.Changes()
    for run in runs_with(top, "environment.json"):
        changed = changes.since(run, "inputs")
        if changed and state(run) == "done":
            raise ScenarioError(
                f"--out {top}: {changed[0]} has changed since {run.relative_to(top)} was played, "
                "and its points would be of different files. Put it back, or choose another folder"
            )


def said_there(top: Path) -> dict[str, Any]:
    """Read what the command line of a folder's sweep said beside its scenario.

    Raises
    ------
    ScenarioError
        If that can't be read.
    """
    try:
        return json_file(top / ARGUMENTS)
    except (FileNotFoundError, ScenarioError) as problem:
        reason = f" ({problem})" if isinstance(problem, ScenarioError) else ""
        raise ScenarioError(
            f"--out {top}: {ARGUMENTS} is missing or no JSON{reason}, so this sweep can't be gone "
            "on with; choose another folder"
        ) from None


def _differences(there: Mapping[str, Any], here: Mapping[str, Any]) -> list[str]:
    methods = [_methods(tables) for tables in (there, here)]
    differing = [
        f"algorithm {name} is {place} alone"
        for place, one, other in (("there", *methods), ("here", *reversed(methods)))
        for name in one
        if name not in other
    ]
    both = methods[0].keys() & methods[1].keys()
    there, here = (
        {**tables, "algorithm": {name: own[name] for name in own if name in both}}
        for tables, own in zip((there, here), methods, strict=True)
    )
    for key, (was, now) in pairs(there, here).items():
        if was != now and key not in NOT_COMPARED:
            differing.append(f"{key} = {_value(was)} there, {_value(now)} here")
    for path in ORDERED:  # folders are called by the keys in their order
        was, now = (list(_table(tables, path)) for tables in (there, here))
        if was != now and sorted(was) == sorted(now):
            differing.append(f"{'.'.join(path)} has {', '.join(was)} there, {', '.join(now)} here")
    return differing


def _methods(tables: Mapping[str, Any]) -> dict[str, Any]:
    """The algorithms of a scenario by name; one alone may be no list."""
    stated = tables.get("algorithm", ())
    entries = stated if isinstance(stated, list) else [stated]
    return {str(e.get("name", e.get("kind"))): e for e in entries if isinstance(e, Mapping)}


def _table(tables: Mapping[str, Any], path: Iterable[str]) -> Mapping[str, Any]:
    """A table inside tables; empty where there is none."""
    for key in path:
        inner = tables.get(key)
        tables = inner if isinstance(inner, Mapping) else {}
    return tables


def _key_in_words(key: str) -> str:
    """Return the words for a key of `sweep.json` that stand before its two values."""
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
    was, now = dict(leaves(there)), dict(leaves(here))
    return {key: (was.get(key), now.get(key)) for key in (was | now)}
