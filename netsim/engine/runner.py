"""One run of a scenario: checks of machine and output folder, then its algorithms in turn."""

import gc
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from traceback import clear_frames
from types import ModuleType
from typing import TYPE_CHECKING, Any, Protocol

from netsim.engine import component_record, output_folder
from netsim.engine.checkpoints.command import Command
from netsim.engine.progress import Doing
from netsim.errors import (
    FolderBusyError,
    NetsimError,
    ReplayError,
    ScenarioError,
    UnsuitableError,
    one_line,
)
from netsim.protocols.declaration import declaration_of
from netsim.recording.whole_files import write_text
from netsim.scenario import AlgorithmEntry, Scenario, to_toml
from netsim.traces.files import data_folder

if TYPE_CHECKING:
    from netsim.engine.progress import Progress, Watcher
    from netsim.node.decisions import Agent
    from netsim.recording.observers import Observers
    from netsim.world.builder import World

Watch = Callable[[AlgorithmEntry, "Progress"], None]


class Ending(Protocol):
    """Final drawings beside the tables of a run, before the run counts as done."""

    def run(self, folder: Path, alone: bool) -> object:
        """Draw what belongs to one algorithm's run; `alone`: its folder is that of the whole."""

    def finish_all(self, top: Path, folders: Sequence[Path]) -> object:
        """Draw and list what belongs to several algorithms, each in a folder of its own."""

    @property
    def figures(self) -> bool:
        """Return whether there are figures."""

    @property
    def report(self) -> bool:
        """Return whether there is a page."""


class RunFailedError(NetsimError):
    """A run failed after it had begun; what was written stays readable."""


def machine_problems(
    scenario: Scenario, path: str, modules: Mapping[str, ModuleType], timing_only: bool = False
) -> list[str]:
    """List the reasons why this machine or mode can't play a scenario, one a line.

    Parameters
    ----------
    path : str
        The scenario's file, for errors.
    modules : mapping of str to module
        The algorithms.
    timing_only : bool
        Without tensor work.
    """
    problems = []
    device = scenario.run.device
    if device.startswith("cuda"):
        from netsim.world.device import device_problem  # here: it brings torch

        missing = device_problem(device)
        if missing:
            problems.append(f'{path}: [run] device = "{device}": {missing}')
    if scenario.run.engine == "ray" and find_spec("ray") is None:
        problems.append(
            f"{path}: [run] engine = \"ray\": Ray is not installed: pip install 'netsim-dfl[ray]', "
            'or play with engine = "local"'
        )
    problems += [
        f'{path}: [algorithm] kind = "{entry.kind}": its course depends on computed values, '
        "so it cannot run with --timing-only"
        for entry in scenario.algorithm
        if timing_only and declaration_of(modules[entry.kind]).needs_values
    ]
    return problems


def build(scenario: Scenario, path: str, doing: Doing | None = None) -> "World":
    """The scenario's world: reads the data, places nodes, cuts shards; writes nothing.

    Parameters
    ----------
    path : str
        The scenario's file, for errors.
    doing : callable or None
        Told what is being made.

    Raises
    ------
    ScenarioError
    """
    from netsim import world  # here: help does not wait for it

    try:
        return world.build(scenario, data_folder(), doing)
    except ScenarioError as error:
        raise _in_file(path, error) from error
    except (MemoryError, OverflowError) as error:
        reason = one_line(error) or type(error).__name__
        raise ScenarioError(
            f"{path}: needs more memory than there is ({reason}); play fewer nodes, or smaller "
            "parts"
        ) from error


def build_all(scenario: Scenario, path: str, doing: Doing | None = None) -> "dict[str, World]":
    """Build the worlds by algorithm: one world for all, but for those with a `set`.

    Parameters
    ----------
    scenario, path, doing
        As of `build`.

    Raises
    ------
    ScenarioError
    """
    built: dict[int, World] = {}
    found = {}
    for entry in scenario.algorithm:
        own = scenario.of(entry)
        if id(own) not in built:
            built[id(own)] = build(own, path, doing)
        found[entry.name] = built[id(own)]
    return found


def require_suitable(worlds: "Mapping[str, World]", path: str) -> None:
    """Begin every algorithm's run in its world without playing it, so that it may refuse it.

    `worlds`: by the algorithm's name. `path`: the scenario's file, for errors.

    Raises
    ------
    ScenarioError
        With all that is missing, one a line.
    """
    from netsim import engine  # here: help does not wait for it

    refused: dict[str, None] = {}
    for name, world in worlds.items():
        try:
            engine.Simulation(world, world.scenario.entry(name), None, True, None)
        except UnsuitableError as error:
            refused |= dict.fromkeys(str(error).splitlines())
    gc.collect(1)  # these runs, which are as young as that; a run freezes what it finds
    if refused:
        raise _in_file(path, UnsuitableError("\n".join(refused)))


def _in_file(path: str, error: ScenarioError) -> ScenarioError:
    """The error with the scenario's file before every line that begins with a table."""
    lines = str(error).splitlines()
    located = [f"{path}: {text}" if text.startswith("[") else text for text in lines]
    return type(error)("\n".join(located))


def play(
    scenario: Scenario,
    make_folder: Callable[[], Path],
    path: str,
    timing_only: bool = False,
    watch: Watch | None = None,
    sub_folders: bool | None = None,
    components: Sequence[Path] = (),
    check: bool = False,
    observers: "Observers | None" = None,
    doing: Doing | None = None,
    ending: Ending | None = None,
    warn: Callable[[str], object] | None = None,
    agent: "Agent | None" = None,
    fork: "Mapping[str, Any] | None" = None,
) -> list[Path]:
    """Build the world and play every algorithm on it.

    Parameters
    ----------
    make_folder : callable
        Creates the run folder; called only once the world has been built, so that bad input
        leaves nothing behind.
    path : str
        The scenario's file, for errors.
    timing_only : bool
        Without tensor work.
    watch : callable or None
        Told of the progress.
    sub_folders : bool or None
        Whether each algorithm gets a folder of its own; None: if there are several.
    components : sequence of Path
        Folders of components of the user's own, which `netsim resume` looks for where this user's
        own record says (`component_record`).
    check : bool
        Whether to check the invariants while a run goes on, too.
    observers : Observers or None
        Told of messages, wake-ups and evaluations as they happen.
    doing : callable or None
        Told what is done before the first algorithm begins.
    ending : Ending or None
        Draws what belongs beside the tables.
    warn : callable or None
        Told, before anything is played, if memory may not suffice.
    agent : callable or None
        Takes the decisions that algorithms leave to an agent; None: their policies do.
    fork : mapping or None
        What it is a fork of, see `Command`.

    Returns
    -------
    list of Path
        The folder of every algorithm.

    Raises
    ------
    ScenarioError
        If the input is bad; nothing was written.
    RunFailedError
        If the run failed on its way.
    """
    from netsim import engine  # here: help and validation do not wait for it
    from netsim.engine.checkpoints.journal import Journal

    worlds = build_all(scenario, path, doing)
    if len(worlds) > 1:  # the run of one alone is begun before anything is written
        require_suitable(worlds, path)
    folder = make_folder()
    need = max((world.need for world in worlds.values()), key=lambda need: need.size)
    if warn is not None and need.remark is not None:
        warn(need.remark)
    if sub_folders is None:
        sub_folders = len(scenario.algorithm) > 1
    alone = not sub_folders
    try:
        component_record.remember(folder, components)
        drawn = (ending.figures, ending.report) if ending else (True, True)
        Command(sub_folders, timing_only, *drawn, agent is not None, fork).write(folder)
        if sub_folders:
            Journal(folder).keep_scenario(to_toml(scenario))
            write_text(folder / "scenario.toml", to_toml(scenario))
    except BaseException:
        output_folder.release(folder)
        raise

    def begin(entry: AlgorithmEntry, own: Path, told: "Watcher") -> None:
        built = worlds[entry.name]
        try:
            engine.play(
                built, built.scenario.entry(entry.name), own, timing_only, told,
                check=check, observers=observers, ending=drawing(ending, alone), agent=agent,
            )  # fmt: skip
        except ScenarioError as error:
            raise _in_file(path, error) from error

    done = [folder / e.name if sub_folders else folder for e in scenario.algorithm]
    play_each(list(zip(scenario.algorithm, done, strict=True)), folder, begin, watch)
    conclude(folder, done, sub_folders, ending)
    return done


def play_each(
    entries: Sequence[tuple[AlgorithmEntry, Path]],
    folder: Path,
    begin: Callable[[AlgorithmEntry, Path, "Watcher"], object],
    watch: Watch | None,
) -> None:
    """Play algorithms in turn; one that fails keeps the others from nothing.

    Parameters
    ----------
    entries : sequence of (AlgorithmEntry, Path)
        Each with its own folder: that of the run, or one in it.
    folder : Path
        Of the run.
    begin : callable
        (entry, own folder, what is told of the progress) -> anything; plays it.
    watch : callable or None
        Told of the progress.

    Raises
    ------
    Exception
        That of the first one that failed, once the others have been played; it says what became
        of them, and where the results are. RunFailedError if the run failed on its way.
    """
    failed: list[tuple[AlgorithmEntry, Exception]] = []
    for entry, own in entries:
        try:
            with _placed(folder, own):
                begin(entry, own, partial(watch, entry) if watch is not None else lambda _: None)
        except (FolderBusyError, ReplayError):
            raise
        except Exception as error:
            if len(entries) == 1 or not folder.exists():
                raise
            clear_frames(error.__traceback__)  # they hold all of the run
            failed.append((entry, error))
    if not failed:
        return
    (first, cause), others = failed[0], failed[1:]
    names = [entry.name for entry, _ in failed]
    played = [str(own) for entry, own in entries if entry.name not in names]
    cause.add_note(f"this was {first.name}, algorithm of {folder / first.name}")
    for entry, other in others:
        cause.add_note(f"{entry.name} failed, too: {type(other).__name__}: {one_line(other)}")
    if played:
        cause.add_note(
            f"the others were played to their end: {', '.join(played)}; netsim compare shows them"
        )
    raise cause


def drawing(ending: Ending | None, alone: bool) -> Callable[[Path], object]:
    """Draw of one algorithm's run what there is to be drawn."""
    return (lambda folder: None) if ending is None else partial(ending.run, alone=alone)


def conclude(
    folder: Path, folders: Sequence[Path], sub_folders: bool, ending: Ending | None
) -> None:
    """Do what is left once every algorithm is done; the journal of the whole goes last.

    Parameters
    ----------
    folders : sequence of Path
        One an algorithm.
    sub_folders : bool
        Whether they are not the same.
    """
    from netsim.engine.checkpoints.journal import Journal

    try:
        if sub_folders and ending is not None:
            ending.finish_all(folder, folders)
    except BaseException as error:
        error.add_note(
            f"all runs had ended; their results are in {folder}, and netsim resume {folder} does "
            "what is missing"
        )
        raise
    Journal(folder).end()
    component_record.forget(folder)


@contextmanager
def _placed(folder: Path, own: Path) -> Iterator[None]:
    """Say of what goes wrong with an algorithm where its results are, `own` of a run's folder."""
    try:
        yield
    except (FolderBusyError, ReplayError):
        raise  # the folder is as it was
    except BaseException as error:
        if output_folder.release(folder):
            raise  # refused before anything was written
        error.add_note(f"what was written stays readable: {own if own.exists() else folder}")
        if isinstance(error, KeyboardInterrupt):
            error.add_note(f"netsim resume {folder} goes on with it")
        if isinstance(error, ScenarioError):  # too late to be bad input
            raise RunFailedError(str(error)) from error
        raise
