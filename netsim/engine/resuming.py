"""Going on with runs that were killed: `netsim resume`."""

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from netsim.engine import runner
from netsim.engine.checkpoints.command import FILE, FOLDER, Command
from netsim.errors import ScenarioError
from netsim.recording import folder_lock, run_folder
from netsim.results import status
from netsim.results.summary import write_json
from netsim.scenario import AlgorithmEntry, Scenario, check, draft_of
from netsim.units import to_s

if TYPE_CHECKING:
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
"""What is said where a field of `provenance.made_with` differs whose values say nothing."""


@dataclass(frozen=True)
class Unfinished:
    """A run of one or several algorithms as its folder shows it.

    Attributes
    ----------
    folder : Path
    scenario : Scenario
        All of it.
    path : str
        The scenario's file.
    sub_folders : bool
        Whether each algorithm has a folder of its own.
    timing_only : bool
        Without tensor work.
    """

    folder: Path
    scenario: Scenario
    path: str
    sub_folders: bool
    timing_only: bool

    def own(self, entry: AlgorithmEntry) -> Path:
        """The folder of one algorithm."""
        return self.folder / entry.name if self.sub_folders else self.folder


def has_ended(folder: Path) -> bool:
    """Whether the folder is that of a run of which nothing is left to play."""
    if (folder / FOLDER / FILE).is_file():
        return False
    runs = [path.parent for path in folder.glob("*/status.json")]
    return _is_done(folder) or (bool(runs) and all(map(_is_done, runs)))


def found(folder: Path, modules: Mapping[str, ModuleType]) -> Unfinished:
    """What is in the folder of a run.

    Parameters
    ----------
    folder : Path
    modules : mapping of str to module
        The algorithms.

    Raises
    ------
    ScenarioError
        If it is no folder of a run, or its scenario can't be played here.
    """
    path = run_folder.scenario_file(folder)
    if not folder.is_dir():
        raise ScenarioError(f"{folder}: is not a folder; name the folder of a run, as in runs/NAME")
    if not path.is_file():
        raise ScenarioError(
            f"{folder}: has no scenario.toml, so no run has begun in it; play the scenario anew "
            "with netsim run"
        )
    scenario = _scenario(path, modules)
    if scenario.sweep is not None:
        raise ScenarioError(
            f"{folder}: is the folder of a sweep; netsim sweep with the same --out goes on with it"
        )
    command = Command.read(folder)
    problems = runner.machine_problems(scenario, str(path), modules, command.timing_only)
    if problems:
        raise ScenarioError("\n".join(problems))
    return Unfinished(folder, scenario, str(path), command.sub_folders, command.timing_only)


def play(
    run: Unfinished,
    modules: Mapping[str, ModuleType],
    tell: Tell,
    watch: runner.Watch | None,
    observers: "Observers | None" = None,
) -> list[Path]:
    """Play what is left of a run.

    Parameters
    ----------
    run : Unfinished
    modules : mapping of str to module
        The algorithms.
    tell : callable
        Told in words from where it goes on.
    watch : callable or None
        Told of the progress.
    observers : Observers or None
        Told of what happens, what is played once more included.

    Returns
    -------
    list of Path
        The folder of every algorithm.

    Raises
    ------
    ScenarioError
        If it can't go on; what was written stays as it was.
    RunFailedError
        If it failed on its way.
    """
    from netsim.engine import playing  # here: it brings torch
    from netsim.engine.checkpoints.journal import Journal

    worlds: dict[int, World] = {}

    def begin(entry: AlgorithmEntry, own: Path, told: "Watcher") -> None:
        own.mkdir(exist_ok=True)
        with folder_lock.held(own, take_over=True):
            path = run_folder.scenario_file(own)
            if path.is_file() and status.read(own):
                scenario = _scenario(path, modules)
                world, entry = runner.build(scenario, str(path)), scenario.algorithm[0]
                _go_on(world, entry, own, run.timing_only, told, tell, observers)
                return
            scenario = run.scenario.of(entry)
            if id(scenario) not in worlds:
                worlds[id(scenario)] = runner.build(scenario, run.path)
            entry = next(e for e in scenario.algorithm if e.name == entry.name)
            playing.play(
                worlds[id(scenario)], entry, own, run.timing_only, told, observers=observers
            )

    with folder_lock.held(run.folder, take_over=True):
        unfinished = []
        for entry in run.scenario.algorithm:
            own = run.own(entry)
            if _is_done(own):
                tell(f"{own}: has ended already")
            else:
                unfinished.append((entry, own))
        runner.play_each(unfinished, run.folder, begin, watch)
        Journal(run.folder).end()
    return [run.own(entry) for entry in run.scenario.algorithm]


def _go_on(
    world: "World",
    entry: AlgorithmEntry,
    folder: Path,
    timing_only: bool,
    told: "Watcher",
    tell: Tell,
    observers: "Observers | None",
) -> None:
    """Play one algorithm from its newest checkpoint, or anew if there is none.

    Parameters
    ----------
    world : World
    entry : AlgorithmEntry
    folder : Path
        Of its run, which this process holds.
    timing_only : bool
        Without tensor work: always played anew.
    told : callable
        Told of the progress.
    tell : callable
        Told in words from where it goes on.
    observers : Observers or None
    """
    from netsim.engine import playing
    from netsim.engine.checkpoints.journal import Journal
    from netsim.engine.past import Past
    from netsim.engine.provenance import made_with

    journal = Journal(folder)
    checkpoint, numbers, damaged = journal.read()
    for problem in damaged:
        tell(f"{problem}; goes on from the checkpoint before it, or from the beginning")
    if checkpoint is None or timing_only:
        aside = journal.go_on(None)
        why = "--timing-only keeps no checkpoints" if timing_only else "there is no checkpoint"
        tell(f"{folder}: {why}: played again from the beginning{_moved(aside)}")
        playing.play(world, entry, folder, timing_only, told, observers=observers)
        return
    now = made_with(world, importlib.import_module(type(entry.params).__module__))
    changed = _changed(checkpoint.made_with, now)
    for change in changed:
        tell(f"{folder}: {change}: from the checkpoint on the same numbers are not promised")
    then_s = to_s(checkpoint.moment.time_ns)
    tell(f"{folder}: played again without learning up to its checkpoint at {then_s:g} s")

    def when_there(aside: Path | None) -> None:
        status.write(folder, {"state": "running"})
        _note(folder / "environment.json", {"virtual_s": then_s, **now})
        tell(f"{folder}: goes on at {then_s:g} s{_moved(aside)}")

    past = Past(journal, checkpoint, numbers, changed, when_there)
    playing.play(world, entry, folder, timing_only, told, past, observers=observers)


def _scenario(path: Path, modules: Mapping[str, ModuleType]) -> Scenario:
    return check(draft_of(str(path), (), modules), modules)


def _is_done(folder: Path) -> bool:
    return status.read(folder).get("state") == "done" and (folder / "summary.json").is_file()


def _moved(aside: Path | None) -> str:
    return "" if aside is None else f"; what was written after that is in {aside}"


def _changed(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """What of versions, machine and code is not as it was, in words."""
    return [
        UNSPOKEN.get(name, f"{name} was {before.get(name)} and is {value}")
        for name, value in now.items()
        if before.get(name) != value
    ]


def _note(path: Path, resumed: Mapping[str, Any]) -> None:
    """Add to `environment.json` that a run has gone on, and with what."""
    try:
        environment = run_folder.json_file(path)
    except (FileNotFoundError, ScenarioError):
        return  # the run itself does not need it
    environment["resumed"] = [*environment.get("resumed", []), resumed]
    write_json(path, environment)
