"""Verify that a run folder is complete and unchanged, and that playing it again gives it."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from netsim.backends.native.library import why_missing
from netsim.campaign import run_inputs, sweep_results
from netsim.campaign.sweep_folder import ARGUMENTS
from netsim.engine import runner
from netsim.engine.checkpoints import command
from netsim.engine.provenance import versions
from netsim.errors import ScenarioError, one_line
from netsim.recording import (
    checksums,
    folder_lock,
    run_difference,
    run_folder,
    status,
    verified_files,
)
from netsim.recording.checksums import JOURNAL
from netsim.recording.scratch import ScratchFolder
from netsim.scenario import Scenario, check, draft_of
from netsim.scenario.kinds import Kinds
from netsim.scenario.shipped import algorithms_package

MOST_BYTES = 1 << 30
"""A larger file is none that a run writes, but for the arrays that it keeps."""

MOST_FOLDERS = 20_000
"""Most folders that are searched for runs and are of none: a disk is searched for minutes."""

_NEEDED = {"scenario.toml", "environment.json"}
"""Files without which a run can't be played again as it was."""


@dataclass
class Report:
    """Findings about one run folder."""

    folder: Path
    same: list[str] = field(default_factory=list)  # what was checked and is as it was
    # what is another here and may explain a difference: versions, the machine
    notes: list[str] = field(default_factory=list)
    # what is not as it was: files of the folder, input files, what a rerun has given
    differences: list[str] = field(default_factory=list)


def verify(
    folder: Path,
    modules: Kinds,
    sets: Sequence[str] = (),
    rerun: bool = True,
    watch: runner.Watch | None = None,
) -> Report:
    """Check the files of a run folder and what it was made of, and play it again.

    Parameters
    ----------
    folder : Path
        Of a finished run.
    modules : Kinds
        What scenarios can name.
    sets : sequence of str
        Assignments `a.b=value` for the rerun, such as another `data.path`.
    rerun : bool
        Whether to play it again, in a temporary folder.
    watch : callable or None
        Told of the rerun's progress.

    Raises
    ------
    ScenarioError
        If it is not the folder of a finished run, or it can't be played again here.
    """
    require_finished(folder)
    report = Report(folder)
    changed = _check_files(folder, report)
    environment = _environment(folder)
    if "environment.json" not in changed:
        _check_inputs(environment, report)
        report.notes += version_notes(environment, versions())
    if not rerun:
        return report
    unsure = sorted(changed & _NEEDED)
    if unsure:
        report.notes.append(f"not played again: {' and '.join(unsure)} is not what was played")
        return report
    timing_only = bool(environment.get("timing_only"))
    with ScratchFolder("verify") as place:
        again = place / "run"
        scenario, path = _scenario(
            folder, modules, _possible_here(folder, sets, report), timing_only
        )
        runner.play(
            scenario, lambda: _make_folder(again), path, timing_only, watch, sub_folders=False
        )
        routes = _environment(again).get("routes") or {}
        report.notes += [route["advice"] for route in routes.values() if "advice" in route]
        with verified_files.allow_changed():  # the first row that differs is named, too
            _compare(folder, again, report)
    return report


def _possible_here(folder: Path, sets: Sequence[str], report: Report) -> list[str]:
    """Assignments for the rerun, with another backend where the run's own is not there."""
    missing = why_missing()
    try:
        run = run_folder.scenario(folder).get("run", {})
    except ScenarioError:
        return list(sets)  # `_scenario` says what is wrong
    sets = ["run.engine=local", *sets] if run.get("engine") == "ray" else list(sets)
    if missing is None or run.get("backend") != "native":
        return sets
    report.notes.append(f'[run] backend = "native": {missing}; "auto" in its place')
    return [*sets, "run.backend=auto"]


def run_folders(path: Path) -> list[Path]:
    """The folders of runs at or anywhere below a path, by name; none that a sweep has put aside.

    Raises
    ------
    ScenarioError
        If there are none, or they lie among too many folders that are of no run.
    """
    found, of_runs, others = [], set[str](), 0
    for name, folders, files in os.walk(path):
        folders[:] = [folder for folder in folders if run_folder.UNFINISHED not in folder]
        is_sweep = ARGUMENTS in files
        if "status.json" in files and not is_sweep:
            found.append(Path(name))
        if is_sweep or "status.json" in files or os.path.dirname(name) in of_runs:
            of_runs.add(name)
            continue
        others += 1
        if others > MOST_FOLDERS:
            raise ScenarioError(
                f"{path}: more than {MOST_FOLDERS:,} folders here and below are of no run; name "
                "the folder of a run, or one in which there are runs, as in runs/NAME or runs"
            )
    if not found:
        raise ScenarioError(f"{path}: no run here or below (no status.json)")
    return sorted(found)


def outer_folders(path: Path, runs: Sequence[Path]) -> list[Path]:
    """The folders between a path and its runs, of several algorithms or of sweeps, by name."""
    between = {outer for run in runs for outer in run.parents if path in outer.parents}
    return sorted(outer for outer in between if (outer / checksums.NAME).is_file())


def require_finished(folder: Path) -> None:
    """Refuse the folder of a run, or of several runs or a sweep, that something is left to do in.

    Raises
    ------
    ScenarioError
        Says how to go on.
    """
    state = status.state(folder)
    if state in ("running", "cut off", "failed", "interrupted"):
        remedy = (
            ""
            if folder_lock.holder(folder)
            else f"; netsim resume {one_line(folder)} goes on with it"
        )
        raise ScenarioError(f"{folder}: not the folder of a finished run: it is {state}{remedy}")
    if any((folder / JOURNAL / name).is_file() for name in (command.FILE, "ended.json")):
        raise ScenarioError(
            f"{folder}: not the folder of a finished run: its last files are missing; "
            f"netsim resume {one_line(folder)} writes them"
        )


def verify_files(folder: Path, runs: Sequence[Path]) -> Report:
    """Check the files of a folder of results that is not itself a run's, if it has a list.

    `runs`: folders below it that are checked for themselves.

    Raises
    ------
    ScenarioError
        If something is left to do in it.
    """
    require_finished(folder)
    report = Report(folder)
    if (folder / checksums.NAME).exists():
        _check_files(folder, report, runs)
        try:
            report.differences += _other_runs(folder)
        except ScenarioError as error:
            report.differences.append(str(error))
    return report


def _other_runs(folder: Path) -> list[str]:
    """Lines on runs that a folder of several once had, and of a sweep on those of another place.

    Its list of files has none of theirs.
    """
    if sweep_results.is_sweep(folder):
        return sweep_results.missing(folder) + sweep_results.misplaced(folder)
    names = run_folder.algorithms_in(folder)
    return [f"{folder / name}: missing" for name in names if not (folder / name).is_dir()]


def _check_files(folder: Path, report: Report, runs: Sequence[Path] = ()) -> set[str]:
    """Compare every file with its checksum; returns the names of those that differ."""
    try:
        known = checksums.read(folder)
    except ScenarioError as error:
        report.differences.append(str(error))
        return {checksums.NAME}
    there = set(checksums.files(folder))
    wrong: dict[str, str] = {}
    for name, digest in known.items():
        if name not in there:
            wrong[name] = "missing"
            continue
        path = folder / name
        try:
            if path.suffix != ".npz" and path.lstat().st_size > MOST_BYTES:
                wrong[name] = "changed: larger than what a run writes"
            elif checksums.sha256(path) != digest:
                wrong[name] = "changed"
        except (ScenarioError, OSError) as error:
            wrong[name] = f"can't be read ({one_line(error)})"
    wrong |= dict.fromkeys(there - known.keys(), "not of the run")
    known_inside = {*runs, *outer_folders(folder, runs)}
    own = {
        name
        for name in checksums.inner_folders(folder)
        if folder / name not in known_inside and run_folder.UNFINISHED not in name
    }
    wrong |= dict.fromkeys(own, "not of the run: has a list of checksums of its own")
    report.differences += [f"{folder / name}: {what}" for name, what in sorted(wrong.items())]
    if not wrong:
        report.same.append(f"{len(known)} files of the run")
    return set(wrong)


def _check_inputs(environment: dict[str, Any], report: Report) -> None:
    """Compare the files that the run was made of with what they are now."""
    count, problems = 0, []
    for name, kind in run_inputs.SORTS.items():
        for entry in run_inputs.files(environment, name):
            count += 1
            try:
                if not entry.is_as_it_was():
                    problems.append(f"{kind} {entry.file}: changed")
            except FileNotFoundError:
                problems.append(f"{kind} {entry.file}: missing")
            except (OSError, ValueError) as error:
                problems.append(f"{kind} {entry.file}: can't be read ({error})")
    report.differences += problems
    if count and not problems:
        report.same.append(f"{count} files that it was made of")


def _environment(folder: Path) -> dict[str, Any]:
    """Contents of `environment.json`; empty where it can't be read, as its checksum then says."""
    try:
        return run_folder.environment(folder)
    except ScenarioError:
        return {}


def version_notes(then: dict[str, Any], now: dict[str, Any]) -> list[str]:
    """List the versions that have changed, one a line.

    `then` and `now`: as `versions` gives them.
    """
    notes = []
    for name, here in now.items():
        before = then.get(name)
        if name == "packages":
            was = before or {}
            notes += [
                f"{package}: {was.get(package)} then, {version} here"
                for package, version in here.items()
                if was.get(package) != version
            ]
        elif before == here:
            continue
        elif name == "netsim_sources_sha256":
            notes.append("netsim: its modules are others than then")
        else:
            notes.append(f"{name}: {before} then, {here} here")
    return notes


def _scenario(
    folder: Path, modules: Kinds, sets: Sequence[str], timing_only: bool
) -> tuple[Scenario, str]:
    """The scenario of a run folder, and the name of its file."""
    try:
        draft = draft_of(str(run_folder.scenario_file(folder)), sets, modules)
        scenario = check(draft, modules)
        problems = runner.machine_problems(scenario, draft.path, modules, timing_only)
    except ScenarioError as error:
        problems = str(error).splitlines()
    if problems:
        remedy = (
            f"{folder}: can't be played again here; components of your own need --components DIR"
            f"{_folders_then(folder)}; --no-rerun checks the files alone"
        )
        raise ScenarioError("\n".join([*problems, remedy]))
    return scenario, draft.path


def _folders_then(folder: Path) -> str:
    """Describe the folders of the user's components at the time of the run; never read."""
    environment, shipped = _environment(folder), Path(algorithms_package().__path__[0])
    files = [
        Path(entry.file)
        for name in ("algorithm", "components")
        for entry in run_inputs.files(environment, name)
    ]
    own = dict.fromkeys(str(file.parent) for file in files if file.parent != shipped)
    return f" (then: {', '.join(own)})" if own else ""


def _make_folder(folder: Path) -> Path:
    folder.mkdir()
    return folder


def _compare(folder: Path, again: Path, report: Report) -> None:
    try:
        recorded = run_folder.summary(folder)
    except ScenarioError as error:
        report.differences.append(str(error))
        recorded = {}
    now = run_folder.summary(again)
    for what, key in run_difference.FINGERPRINTS.items():
        if recorded and recorded.get(key) is now.get(key) is None:
            continue  # it had no tensor work, or no log: there is nothing to compare
        if recorded.get(key) == now.get(key):
            report.same.append(f"{what}, played again")
        elif recorded:
            report.differences.append(f"{what}: another one when played again")
    try:
        found = run_difference.first_differences(folder, again)
        report.differences += [
            f"{'from here on: ' if difference is found[0] else ''}{difference}"
            for difference in found
        ]
        report.differences += run_difference.other_differences(folder, again)
    except ScenarioError as error:
        report.differences.append(str(error))
