"""Going on with runs that were killed: `netsim resume`."""

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from netsim.campaign import sweep_folder
from netsim.campaign.scenario_edits import (
    Edits,
    changed_at,
    edits_since,
    holds,
    in_words,
    read_scenario,
)
from netsim.engine import output_folder, runner
from netsim.engine.checkpoints.command import FILE, FOLDER, Command
from netsim.errors import ScenarioError
from netsim.recording import checksums, folder_lock, run_folder, status
from netsim.recording.json_files import json_file
from netsim.recording.parquet_parts import part_files
from netsim.recording.schema import TABLES
from netsim.recording.summary import json_text, write_json
from netsim.recording.whole_files import (
    collect_digests,
    make_folder,
    sha256_of,
    write_text,
    written_into,
)
from netsim.scenario import AlgorithmEntry, Scenario, to_toml
from netsim.units import to_s

if TYPE_CHECKING:
    from netsim.engine.checkpoints.journal import Journal
    from netsim.engine.checkpoints.replay import CheckpointReplay
    from netsim.engine.progress import Watcher
    from netsim.recording.observers import Observers
    from netsim.world.builder import World

Tell = Callable[[str], object]
UNSPOKEN = {
    "netsim_sources_sha256": "netsim's sources have changed",
    "native_kernel": "the native kernel is another one",
    "algorithm": "the algorithm's file has changed",
    "inputs": "an input file has changed",
    "components": "the file of a component has changed",
}
"""Words for fields of `provenance.made_with` whose values say nothing to a reader."""


@dataclass(frozen=True)
class Unfinished:
    """A run of one or several algorithms as its folder shows it."""

    folder: Path
    scenario: Scenario  # all of it
    path: str  # the scenario's file
    command: Command  # how it was begun
    # by the folder of an algorithm that is under way: the keys that its `scenario.toml` has changed
    # since, each with the value before and now. They hold from where the run goes on
    edits: Mapping[Path, Edits] = field(default_factory=dict)
    # keys of `[run]` that say where learning is computed from now on
    computed: Mapping[str, Any] = field(default_factory=dict)

    def own(self, entry: AlgorithmEntry) -> Path:
        """The folder of one algorithm."""
        return self.folder / entry.name if self.command.sub_folders else self.folder


def has_ended(folder: Path) -> bool:
    """Return whether the folder is that of a run of which nothing is left to do."""
    if (folder / FOLDER / FILE).is_file():
        return False
    runs = [path.parent for path in folder.glob("*/status.json")]
    return _is_done(folder) or (bool(runs) and all(map(_is_done, runs)))


def require_whole(folder: Path) -> None:
    """Refuse the folder of a run that has ended and of which files are missing.

    Raises
    ------
    ScenarioError
    """
    own = [folder, *(path.parent for path in sorted(folder.glob("*/status.json")))]
    lost = [
        f"{place / name}"
        for place in own
        if (place / checksums.NAME).is_file()
        for name in checksums.read(place)
        if not (place / name).exists()
    ]
    _require_none_lost(folder, lost)
    require_every_run(folder)


def require_every_run(folder: Path) -> None:
    """Refuse the folder of a run of several algorithms that has ended and lacks that of one.

    Raises
    ------
    ScenarioError
    """
    names = [] if _is_done(folder) else run_folder.algorithms_in(folder)
    _require_none_lost(
        folder, [f"{folder / name}" for name in names if not (folder / name).is_dir()]
    )


def _require_none_lost(folder: Path, lost: Sequence[str]) -> None:
    if lost:
        more = f" and {len(lost) - 1:,} more" if len(lost) > 1 else ""
        raise ScenarioError(
            f"{lost[0]}: is missing{more}, and the run has ended: put it back, or write it "
            f"anew (a page by netsim report {folder}, figures by netsim plot, tables by netsim "
            f"run {folder / 'scenario.toml'} in another folder)"
        )


def read_unfinished(
    folder: Path,
    modules: Mapping[str, ModuleType],
    with_changes: bool = False,
    engine: str | None = None,
    actors: int | None = None,
) -> Unfinished:
    """Read the folder of an unfinished run.

    Parameters
    ----------
    modules : mapping of str to module
        The algorithms.
    with_changes : bool
        Whether what `scenario.toml` has changed since the run was begun shall hold from where it
        goes on.
    engine : str or None
        Where learning is computed from now on, which changes no result; None: as before.
    actors : int or None
        How many of them; None: as before.

    Raises
    ------
    ScenarioError
        If it is no folder of a run, its scenario can't be played here, or has changed.
    """
    path = run_folder.scenario_file(folder)
    if not folder.is_dir():
        raise ScenarioError(f"{folder}: is not a folder; name the folder of a run, as in runs/NAME")
    if not output_folder.has_begun(folder):
        raise ScenarioError(
            f"{folder}: has no scenario.toml, so no run has begun in it; play the scenario with "
            f"netsim run SCENARIO --out {folder}"
        )
    computed = _computed(engine, actors)
    scenario = read_scenario(path, modules, computed)
    if actors is not None and scenario.run.engine == "local":
        raise ScenarioError(
            f'{path}: actors = {actors}: [run] engine is "local", which has none; leave it out, or '
            'name engine = "ray"'
        )
    if scenario.sweep is not None:
        raise ScenarioError(
            f"{folder}: is the folder of a sweep; netsim sweep with the same --out goes on with it"
            if sweep_folder.definition(folder)
            else f"{path}: [sweep] is not of the run that was begun here, which is one run; take "
            "the table out, and play the sweep in a folder of its own: netsim sweep SCENARIO --out "
            "FOLDER"
        )
    command = Command.read(folder)
    if command.agent:
        raise ScenarioError(
            f"{folder}: an agent took its decisions, which is not kept; play it anew, with "
            "netsim.run(scenario, agent=...) and another out"
        )
    problems = runner.machine_problems(scenario, str(path), modules, command.timing_only)
    if problems:
        raise ScenarioError("\n".join(problems))
    run = Unfinished(folder, scenario, str(path), command, computed=computed)
    return replace(run, edits=_allowed_edits(run, modules, with_changes))


def _computed(engine: str | None, actors: int | None) -> dict[str, Any]:
    """Keys of `[run]` for another engine than the one before."""
    found: dict[str, Any] = {} if engine is None else {"engine": engine}
    if actors is not None or engine == "local":
        found["actors"] = "auto" if actors is None else actors
    return found


def _allowed_edits(
    run: Unfinished, modules: Mapping[str, ModuleType], with_changes: bool
) -> dict[Path, Edits]:
    """Find the changes in the scenarios of what is left to play.

    Raises
    ------
    ScenarioError
        If anything has, and that is not wanted.
    """
    from netsim.engine.checkpoints.journal import Journal

    owns = [run.own(entry) for entry in run.scenario.algorithm]
    edits_by_folder = {own: edits_since(own, modules) for own in owns if own != run.folder}
    edits_by_folder = {
        own: edits for own, edits in edits_by_folder.items() if edits and not _is_done(own)
    }
    of_all = edits_since(run.folder, modules)
    lines = [
        f"{own / 'scenario.toml'}: {key}: {in_words(was)} when the run was begun, "
        f"{in_words(now)} now"
        for own, edits in {run.folder: of_all, **edits_by_folder}.items()
        for key, (was, now) in edits.items()
    ]
    if lines and run.command.sub_folders and of_all:
        lines.append(
            f"{run.folder}: several algorithms are compared on one scenario; put back what it "
            "said, or play the other scenario in a folder of its own: netsim run"
        )
        raise ScenarioError("\n".join(lines))
    if lines and not with_changes:
        lines.append(
            f"{run.folder}: put it back, or add --with-changes: what is new then holds from where "
            "the run goes on, and its record says so"
        )
        raise ScenarioError("\n".join(lines))
    edits_by_folder = edits_by_folder if run.command.sub_folders else {run.folder: of_all}
    for own, edits in edits_by_folder.items():
        kept = Journal(own).scenario()
        if kept is not None and edits and next(own.glob("journal/checkpoint-*.json"), None):
            changed_at(own / "scenario.toml", kept, edits, to_s(1), modules)
    return edits_by_folder


def play(
    run: Unfinished,
    modules: Mapping[str, ModuleType],
    tell: Tell,
    watch: runner.Watch | None,
    observers: "Observers | None" = None,
    ending: "runner.Ending | None" = None,
) -> list[Path]:
    """Do what is left of a run: play, draw, list checksums, say that it is done.

    Parameters
    ----------
    modules : mapping of str to module
        The algorithms.
    tell : callable
        Told in words from where it goes on.
    watch : callable or None
        Told of the progress.
    observers : Observers or None
        Told of what happens, what is played once more included.
    ending : Ending or None
        Draws what belongs beside the tables.

    Returns
    -------
    list of Path
        The folder of every algorithm.

    Raises
    ------
    ScenarioError
        If it can't go on; what was written stays as it was.
    AlteredError
        If a file is not what the run has written; all of its algorithm stays as it is, and
        the others are played.
    RunFailedError
        If it failed on its way.
    """
    from netsim.engine import playing  # here: it brings torch
    from netsim.engine.checkpoints.journal import Journal

    worlds: dict[int, World] = {}
    drawing = runner.drawing(ending, alone=not run.command.sub_folders)

    def begin(entry: AlgorithmEntry, own: Path, told: "Watcher") -> None:
        make_folder(own, above=False)
        with folder_lock.held(own, take_over=True), collect_digests(own):
            ended = Journal(own).ended()
            if ended is not None:
                checksums.require_as_written(own, ended.written)
                tell(f"{own}: all events had happened; what was missing is written")
                playing.conclude(own, ended, drawing)
                return
            is_there = status.read(own) or any(part_files(own / name) for name in TABLES)
            if run_folder.scenario_file(own).is_file() and is_there:
                world, played, replay = _Going(run, own, modules, tell).prepared()
            else:
                scenario, replay = run.scenario.of(entry), None
                if id(scenario) not in worlds:
                    worlds[id(scenario)] = runner.build(scenario, run.path)
                world, played = worlds[id(scenario)], scenario.entry(entry.name)
            playing.play(
                world, played, own, run.command.timing_only, told, replay,
                observers=observers, ending=drawing,
            )  # fmt: skip

    folders = [run.own(entry) for entry in run.scenario.algorithm]
    with folder_lock.held(run.folder, take_over=True):
        unfinished = []
        for entry, own in zip(run.scenario.algorithm, folders, strict=True):
            if _is_done(own):
                with folder_lock.held(own, take_over=True):  # what a killed process left goes
                    if own != run.folder:
                        Journal(own).end()
                tell(f"{own}: has ended already")
            else:
                unfinished.append((entry, own))
        runner.play_each(unfinished, run.folder, begin, watch)
        runner.conclude(run.folder, folders, run.command.sub_folders, ending)
    return folders


@dataclass(frozen=True)
class _Going:
    """Continuation of one algorithm from its newest checkpoint; a new run if there is none.

    `folder` is its own, which this process holds.
    """

    run: Unfinished
    folder: Path
    modules: Mapping[str, ModuleType]
    tell: Tell

    @property
    def _own_edits(self) -> Edits:
        return self.run.edits.get(self.folder, {})

    def prepared(self) -> "tuple[World, AlgorithmEntry, CheckpointReplay | None]":
        """Make ready what is played in its folder, and the replay of what had been."""
        from netsim.engine.checkpoints.journal import Journal
        from netsim.engine.checkpoints.replay import CheckpointReplay
        from netsim.engine.provenance import made_with

        folder, tell, timing_only = self.folder, self.tell, self.run.command.timing_only
        journal = Journal(folder)
        checkpoint, numbers, damaged = journal.read()
        for problem in damaged:
            tell(f"{problem}; goes on from the checkpoint before it, or from the beginning")
        if checkpoint is None or timing_only:
            world, entry = self._world(
                read_scenario(run_folder.scenario_file(folder), self.modules)
            )
            if self._own_edits:
                tell(f"{folder}: what has changed in scenario.toml holds from the beginning")
            self._give_way(journal, None)
            aside = journal.go_on(None)
            why = "--timing-only keeps no checkpoints" if timing_only else "there is no checkpoint"
            tell(f"{folder}: {why}: played again from the beginning{_moved_aside_note(aside)}")
            return world, entry, None
        written = {n: d for n, d in checkpoint.written.items() if n != "scenario.toml"}
        _allow_notes(folder / "environment.json", written)
        checksums.require_as_written(folder, written, later=True)
        scenario = self._from_then_on(journal, checkpoint.moment.time_ns)
        world, entry = self._world(scenario)
        now = made_with(world, importlib.import_module(type(entry.params).__module__))
        changed = _changed(checkpoint.made_with, now)
        for change in changed:
            tell(f"{folder}: {change}: from the checkpoint on the same numbers are not promised")
        then_s = to_s(checkpoint.moment.time_ns)
        tell(f"{folder}: played again without learning up to its checkpoint at {then_s:g} s")

        def when_there(aside: Path | None) -> None:
            self._give_way(journal, to_toml(scenario, entry))
            path = folder / "scenario.toml"
            written_into(folder)[path.name] = checksums.sha256(path)
            status.write(folder, {"state": "running"})
            resumed = {"virtual_s": then_s, **now, **self.run.computed}
            _note(folder / "environment.json", resumed)
            tell(f"{folder}: goes on at {then_s:g} s{_moved_aside_note(aside)}")

        return world, entry, CheckpointReplay(journal, checkpoint, numbers, changed, when_there)

    def _world(self, scenario: Scenario) -> "tuple[World, AlgorithmEntry]":
        asked = scenario.run.model_copy(update=dict(self.run.computed))
        scenario = scenario.model_copy(update={"run": asked})
        return runner.build(scenario, str(self.folder / "scenario.toml")), scenario.algorithm[0]

    def _from_then_on(self, journal: "Journal", time_ns: int) -> Scenario:
        """The scenario that was begun, in which edits hold from the checkpoint on."""
        path, kept = run_folder.scenario_file(self.folder), journal.scenario()
        if kept is None:
            return read_scenario(path, self.modules)
        at_s = to_s(time_ns + 1)  # after what has happened at the instant of the checkpoint
        for key, (was, now) in self._own_edits.items():
            held = f"{in_words(was)} until {at_s:g} s, {in_words(now)} from then on"
            self.tell(f"{path}: {key}: {held}")
        return changed_at(path, kept, self._own_edits, at_s, self.modules)

    def _give_way(self, journal: "Journal", text: str | None) -> None:
        """Set aside a `scenario.toml` that somebody has edited, before it is written anew.

        `text` is what it is to hold; None: the run will write it.
        """
        path, kept = run_folder.scenario_file(self.folder), journal.scenario()
        if kept is None or holds(path, kept.text):
            return
        digest = checksums.sha256(path)
        instead_of = kept.instead_of
        if text is not None and self._own_edits:
            instead_of = (*instead_of, digest)
            journal.keep_scenario(text, instead_of)
        if text is None or digest in instead_of:
            self.tell(f"{path}: as it was edited is now in {journal.set_aside_scenario()}")
        if text is not None and digest in instead_of:
            write_text(path, text)


def _is_done(folder: Path) -> bool:
    return sweep_folder.state(folder) == "done"


def _moved_aside_note(aside: Path | None) -> str:
    return "" if aside is None else f"; what was written after that is in {aside}"


def _changed(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """List the versions, machine and code that have changed, in words."""
    return [
        UNSPOKEN.get(name, f"{name} was {before.get(name)} and is {value}")
        for name, value in now.items()
        if before.get(name) != value
    ]


def _allow_notes(path: Path, written: dict[str, str]) -> None:
    """Take `environment.json` as it is if it differs by notes alone, of times it has gone on since.

    A run may be killed after such a note and before its next checkpoint, again and again. Its
    digest in `written`, those of the checkpoint's files, is changed.
    """
    try:
        environment, digest = json_file(path), checksums.sha256(path)
    except (OSError, ScenarioError):
        return  # told with the others
    notes = environment.get("resumed", [])
    for count in range(len(notes)):
        before = {**environment, "resumed": notes[:count]}
        if not count:
            del before["resumed"]
        if sha256_of(json_text(before)) == written.get(path.name):
            written[path.name] = digest


def _note(path: Path, resumed: Mapping[str, Any]) -> None:
    """Add to `environment.json` that a run has gone on, and with what."""
    try:
        environment = json_file(path)
    except (FileNotFoundError, ScenarioError):
        return  # the run itself does not need it
    environment["resumed"] = [*environment.get("resumed", []), resumed]
    write_json(path, environment)
