"""Playing from Python: `netsim.run`, `netsim.sweep`, `netsim.resume`."""

import tomllib
import warnings
from collections.abc import Callable, Iterable, Mapping
from contextlib import nullcontext
from numbers import Integral
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

from netsim.campaign import folder_rotation, run_inputs, sweep_folder, sweeping
from netsim.campaign import fork as campaign_fork
from netsim.campaign import resume as campaign_resume
from netsim.campaign.final_views import RunEnding
from netsim.engine import component_record, output_folder, runner
from netsim.errors import AlteredError, FolderBusyError, RunWarning, ScenarioError
from netsim.node.decisions import Decision
from netsim.protocols.declaration import declaration_of
from netsim.python_api import progress_line
from netsim.python_api.arguments import as_path, require_flags, require_functions
from netsim.python_api.objects import Naming
from netsim.python_api.runs import Run, Sweep, opened_run, opened_sweep
from netsim.python_api.scenario import Scenario, as_scenario, kinds_for, parts
from netsim.recording import folder_lock, run_folder, status
from netsim.recording.observers import EvaluationEvent, MessageEvent, Observers, WakeupEvent
from netsim.recording.summary import run_folders
from netsim.scenario import check as check_tables
from netsim.scenario import draft_of, to_toml
from netsim.scenario.kinds import kinds_of
from netsim.scenario.sweep import Sweep as SweepTable
from netsim.traces.input_files import InputFile

_FREE = ("name", "paper", "run", "sweep")
"""Tables of a scenario on which no result depends."""

RUN, SWEEP, RESUME = "netsim.run", "netsim.sweep", "netsim.resume"
"""Names of the functions in errors about their arguments."""


def run(
    scenario: Scenario | str | Path,
    algorithms: Iterable[Any] | None = None,
    *,
    out: str | Path | None = None,
    timing_only: bool = False,
    engine: Literal["local", "ray"] | None = None,
    actors: int | None = None,
    check: bool = False,
    resume: bool = False,
    progress: bool = False,
    on_message: Callable[[MessageEvent], object] | None = None,
    on_wakeup: Callable[[WakeupEvent], object] | None = None,
    on_evaluation: Callable[[EvaluationEvent], object] | None = None,
    agent: Callable[[Decision], object] | None = None,
) -> Run:
    """Play a scenario: its algorithms one after the other, in one world, with the same draws.

    Observers are called in this thread while the run goes on, and get copies: they can't change its
    results. An exception that one raises ends the run. Ctrl-C, or the notebook's stop button, ends
    it between two events; `netsim resume` goes on with it.

    Parameters
    ----------
    scenario : Scenario, str or Path
        A scenario, a file, or the name of a shipped one.
    algorithms : iterable, optional
        Those to play in place of the scenario's: names, tables such as
        `{"kind": "fedavg", "name": "often", "local_steps": 20}`, modules and classes.
    out : str or Path, optional
        Folder of the results, which must be new or empty; None: the first free of `runs/NAME`,
        `runs/NAME-2`, ...
    timing_only : bool
        Without tensor work: what is asked is in seconds, bits and losses.
    engine : {"local", "ray"}, optional
        Where learning is computed: in this process, or by actors of the Ray cluster of
        $RAY_ADDRESS or of this machine (docs/cluster.md). None: as the scenario says.
    actors : int, optional
        How many; None: as the scenario says.
    check : bool
        Check the invariants while the run goes on, too.
    resume : bool
        Take `out` as it is found: open a run of this scenario that has ended, go on with one that
        was broken off; one without a checkpoint, or that failed, moves to `out.1` and is played
        anew, with a warning. A folder of another scenario is refused, also of one whose input files
        or algorithms have changed since, and so are observers and agents.
    progress : bool
        Show how it goes, in one line.
    on_message : callable, optional
        Called with a `MessageEvent` when a message has ended, once a receiver.
    on_wakeup : callable, optional
        Called with a `WakeupEvent` when a node wakes or skips a wake-up.
    on_evaluation : callable, optional
        Called with an `EvaluationEvent` when the nodes' models have been measured.
    agent : callable, optional
        Called with a `netsim.api.Decision` where a method leaves a decision to an agent; gives the
        action. None: the method's `policy` decides.

    Returns
    -------
    Run

    Raises
    ------
    ScenarioError
        If the input is bad; nothing was written.
    NetsimError
        If the run failed on its way; what was written stays readable.
    """
    require_flags(RUN, timing_only=timing_only, check=check, resume=resume, progress=progress)
    require_functions(
        RUN,
        on_message=(on_message, "MessageEvent -> anything"),
        on_wakeup=(on_wakeup, "WakeupEvent -> anything"),
        on_evaluation=(on_evaluation, "EvaluationEvent -> anything"),
        agent=(agent, "decision -> action"),
    )
    chosen = as_scenario(scenario, algorithms)
    asked = {"engine": engine, "actors": actors}
    asked = {key: value for key, value in asked.items() if value is not None}
    if asked:
        chosen = chosen.replace(run=asked)
    draft, objects, folders = parts(chosen)
    _require_at_home(draft.path, objects, chosen.tables.run.engine)
    if chosen.tables.sweep is not None:
        raise ScenarioError(
            f"{draft.path}: [sweep]: netsim.run plays one point; netsim.sweep(scenario) plays them "
            "all, scenario.replace(sweep=None) takes the table away"
        )
    observers = Observers(on_message=on_message, on_wakeup=on_wakeup, on_evaluation=on_evaluation)
    if resume:
        if observers != Observers() or agent is not None:
            argument = "agent" if agent is not None else "observers"
            raise ScenarioError(f"{RUN}: resume=True: takes no {argument}; leave one of both out")
        there = _found_there(chosen, out, timing_only, progress, engine, actors)
        if there is not None:
            return there
    with folder_lock.released() as made:
        claimed: list[Path] = []

        def make_folder() -> Path:
            """Claim the folder; the run stays there wherever the working folder is meanwhile."""
            claimed.append(output_folder.claim(_path(out), chosen.tables.name))
            made.append(claimed[0].absolute())
            return made[0]

        with kinds_for(chosen) as kinds, progress_line.line(progress) as watch:
            if agent is not None and not any(
                declaration_of(kinds[entry.kind]).decides is not None
                for entry in chosen.tables.algorithm
            ):
                raise ScenarioError(
                    f"{RUN}: agent: no algorithm leaves decisions to an agent (node.decide); leave "
                    'it out, or play "client_selection", or a method of your own'
                )
            _require(runner.machine_problems(chosen.tables, draft.path, kinds, timing_only), out)
            played = runner.play(
                chosen.tables,
                make_folder,
                draft.path,
                timing_only,
                watch,
                components=folders,
                check=check,
                observers=observers,
                agent=agent,
                ending=RunEnding(chosen.tables, figures=False, report=False),
                warn=lambda text: warnings.warn(text, RunWarning, stacklevel=4),
            )
    found = opened_run(made[0], played, chosen)
    found._shown = claimed[0]
    for warning in found.warnings:
        warnings.warn(warning, RunWarning, stacklevel=2)
    return found


def _require_at_home(path: str | Path, objects: object, engine: str) -> None:
    """Refuse objects where actors compute, which they do not reach."""
    if objects and engine == "ray":
        raise ScenarioError(
            f'{path}: [run] engine = "ray": algorithms and components that are objects of '
            "this process do not reach the others; put them into files of a folder, "
            "components=[folder]"
        )


def _found_there(
    scenario: Scenario,
    out: str | Path | None,
    timing_only: bool,
    progress: bool,
    engine: Literal["local", "ray"] | None,
    actors: int | None,
) -> Run | None:
    """The run that a folder holds, gone on with where need be; None: it is to be played.

    A folder of another scenario, and one that a process writes into, are refused.
    """
    if out is None:
        raise ScenarioError(f"{RUN}: resume=True: needs out=, the folder to go on with")
    folder = as_path(out, "out")
    if not output_folder.has_begun(folder):
        return None
    with kinds_for(scenario) as kinds:
        found = check_tables(draft_of(str(folder / "scenario.toml"), (), kinds), kinds)
        modules = {entry.name: kinds[entry.kind] for entry in scenario.tables.algorithm}
    there, here = (tomllib.loads(text) for text in (to_toml(found), scenario.to_toml()))
    differing = [
        key
        for key, (was, now) in sweep_folder.pairs(there, here).items()
        if was != now and key.partition(".")[0] not in _FREE
    ]
    if differing:
        raise ScenarioError(
            f"{folder}: is a run with other {', '.join(differing)}; choose another folder"
        )
    has_ended = campaign_resume.has_ended(folder)
    has_failed = not has_ended and status.read(folder).get("state") == "failed"
    changed = [] if has_failed else _changed_since(folder, modules, timing_only)
    if changed:
        raise ScenarioError(
            f"{folder}: is a run of something else: {'; '.join(changed)}; choose another folder"
        )
    objects = parts(scenario)[1]
    if objects and not has_failed:
        names = ", ".join([*(name for _, name in objects.components), *objects.algorithms])
        warning = f"{folder}: taken as it is: whether {names} was the same object then is not known"
        warnings.warn(warning, RunWarning, stacklevel=3)
    if has_ended:
        campaign_resume.require_every_run(folder)
        return opened_run(folder, run_folders(folder), scenario)
    why = "it failed"
    if not has_failed:
        try:
            return resume(folder, scenario, engine=engine, actors=actors, progress=progress)
        except FolderBusyError:
            raise
        except (ScenarioError, AlteredError) as error:  # nothing was written
            why = str(error)
    aside = folder_rotation.move(folder)
    warning = f"{folder}: moved to {aside} and played anew: {why}"
    warnings.warn(warning, RunWarning, stacklevel=3)
    return None


def _changed_since(folder: Path, modules: Mapping[str, ModuleType], timing_only: bool) -> list[str]:
    """Describe what differs, beside its scenario, between the run of a folder and the one wanted.

    `modules`: of the algorithms, by their names in the scenario.
    """
    found, changes = [], run_inputs.Changes()
    for run in [folder, *(folder / name for name in modules)]:
        if not (run / "environment.json").is_file():
            continue
        environment = run_folder.environment(run)
        if environment.get("timing_only", timing_only) != timing_only:
            found.append(f"it was played {'with' if not timing_only else 'without'} timing_only")
        found += [f"{what} has changed" for what in changes.since(run, *run_inputs.SORTS)]
        name = next(iter(modules)) if run == folder else run.name
        then = [file.sha256 for file in run_inputs.files(environment, "algorithm")][:1]
        file = getattr(modules[name], "__file__", None)
        now = [InputFile.of(Path(file)).sha256] if file else []
        if then != now and "algorithm" in environment and not any("algorithm" in f for f in found):
            found.append(f"algorithm {name} has changed")
    return list(dict.fromkeys(found))


def sweep(
    scenario: Scenario | str | Path,
    over: Mapping[str, Iterable[Any]] | None = None,
    *,
    seeds: Iterable[int] | None = None,
    algorithms: Iterable[Any] | None = None,
    out: str | Path | None = None,
    only: tuple[int, int] | None = None,
    timing_only: bool = False,
    progress: bool = False,
    **table: Any,
) -> Sweep:
    """Play a scenario many times: at every point of a grid, with every seed.

    Runs of one seed share their draws as far as their scenarios agree, so that points are compared
    seed by seed. A folder that holds this very sweep is gone on with, unless it has objects.

    Parameters
    ----------
    scenario : Scenario, str or Path
        A scenario, a file, or the name of a shipped one.
    over : mapping of str to iterable, optional
        By key path (`radio__reachable` or `radio.reachable`) the values to play.
    seeds : iterable of int, optional
        None: the scenario's own.
    algorithms : iterable, optional
        As of `run`.
    out : str or Path, optional
        As of `run`, or the folder of the same sweep.
    only : (int, int), optional
        Play a part: which, from 1, of how many; `--only 3/8` of the command. Needs `out`.
    timing_only : bool
        Without tensor work.
    progress : bool
        Show a line for each run.
    **table
        Other keys of `[sweep]`: `jobs` (runs at a time; of a scenario with objects always 1),
        `show`, `target`, `select`; `trials`, `draw`, `search` and `prune` of a search.

    Returns
    -------
    Sweep

    Raises
    ------
    ScenarioError
        If there is anything wrong with the input; nothing was written.
    RunFailedError
        If a run failed; the others' results are there.
    """
    require_flags(SWEEP, timing_only=timing_only, progress=progress)
    if only is not None and not _is_part(only):
        problem = "is no part; say which, from 1, of how many, such as (3, 8)"
        raise ScenarioError(f"{SWEEP}: only = {only!r}: {problem}")
    chosen = _with_sweep(as_scenario(scenario, algorithms), {"over": over, "seeds": seeds, **table})
    draft, objects, folders = parts(chosen)
    if objects:  # what they were when a folder was begun is not known
        _require([], out)
    with kinds_for(chosen):
        where = sweeping.Where(only=only)
        top = sweeping.play(
            draft, chosen.tables, _path(out), folders, timing_only, not progress, where
        )
    found = opened_sweep(top, chosen)
    for warning in found.warnings:
        warnings.warn(warning, RunWarning, stacklevel=2)
    return found


def resume(
    folder: str | Path,
    scenario: Scenario | None = None,
    *,
    engine: Literal["local", "ray"] | None = None,
    actors: int | None = None,
    progress: bool = False,
    tell: Callable[[str], object] | None = None,
) -> Run:
    """Continue a run from its last checkpoint, with the numbers of an uninterrupted run.

    A run that has ended is opened. A sweep goes on by `netsim.sweep` with the same `out`.

    Parameters
    ----------
    folder : str or Path
        Of the run: what `out` named.
    scenario : Scenario, optional
        The one that was begun, if it has objects: the folder knows these by their names alone, and
        takes from here what bears a name. Everything else is as the folder has it.
    engine : {"local", "ray"}, optional
        Where learning is computed from now on; None: as before. Results are the same.
    actors : int, optional
        How many; None: as before, and with `engine` as the folder's scenario says.
    progress : bool
        Show how it goes, in one line.
    tell : callable, optional
        Told in words from where it goes on, and of anything that has changed since: `print`.

    Returns
    -------
    Run

    Raises
    ------
    ScenarioError
        If it can't go on; what was written stays as it was.
    NetsimError
        If it failed on its way.
    """
    path = as_path(folder, "folder")
    require_flags(RESUME, progress=progress)
    require_functions(RESUME, tell=(tell, "text -> anything"))
    if campaign_resume.has_ended(path):
        campaign_resume.require_every_run(path)
        return opened_run(path, run_folders(path), scenario)
    say = tell or (lambda _: None)
    folders, changes = component_record.recall(path)
    for change in changes if scenario is None else ():
        say(change)
    known = nullcontext(kinds_of(folders)) if scenario is None else kinds_for(scenario)
    with known as kinds, progress_line.line(progress) as watch:
        run = campaign_resume.read_unfinished(path, kinds, engine=engine, actors=actors)
        if scenario is not None:
            _require_at_home(path, parts(scenario)[1], run.scenario.run.engine)
        with folder_lock.held(path, take_over=True):
            figures, page = run.command.figures, run.command.report
            ending: runner.Ending = campaign_fork.ending_of(run, figures, say) or RunEnding(
                run.scenario, figures, page
            )
            played = campaign_resume.play(run, kinds, say, watch, ending=ending)
    return opened_run(path, played, scenario)


def _with_sweep(scenario: Scenario, stated: Mapping[str, Any]) -> Scenario:
    """The scenario with what is stated of `[sweep]` laid over its own; a sweep has to be stated."""
    draft, objects, folders = parts(scenario)
    own, naming = draft.copy(), Naming()
    table = {key: value for key, value in stated.items() if value is not None}
    if "over" in table:
        table["over"] = naming.swept(table["over"])
    if "draw" in table:
        table["draw"] = naming.swept(table["draw"], ranges=True)
    if "seeds" in table:
        table["seeds"] = _seeds(table["seeds"])
    objects = objects.or_those_of(naming.found)
    if objects and table.setdefault("jobs", 1) != 1:
        raise ScenarioError(
            f"{SWEEP}: jobs = {table['jobs']}: objects can't travel to other processes; leave jobs "
            "out, or put them into files of a folder and name it by components="
        )
    own.lay_over({"sweep": table}, SWEEP)
    found = Scenario._of(own, objects, folders)
    if found.tables.sweep is None or found.tables.sweep == SweepTable():
        raise ScenarioError(
            f"{draft.path}: has no [sweep] table; say what to vary: over={{...}}, seeds=range(5)"
        )
    return found


def _is_part(only: Any) -> bool:
    """Return whether something says which part of how many."""
    is_pair = isinstance(only, list | tuple) and len(only) == 2
    return is_pair and all(map(_is_whole, only)) and 1 <= only[0] <= only[1]


def _seeds(given: Any) -> list[int]:
    """The seeds of a sweep; what are no whole numbers is refused."""
    is_list = isinstance(given, Iterable) and not isinstance(given, str | bytes)
    seeds = list(given) if is_list else [given]
    if not is_list or not all(map(_is_whole, seeds)):
        raise ScenarioError(
            f"{SWEEP}: seeds = {given!r}: must be whole numbers, such as range(5) or [0, 3, 7]"
        )
    return [int(seed) for seed in seeds]


def _is_whole(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def _require(problems: list[str], out: str | Path | None) -> None:
    """Refuse what this machine or the folder can't do, before anything is written.

    The error is a `FolderBusyError` where nothing is wrong but that a process writes there.
    """
    folder = _path(out)
    taken = None if folder is None else output_folder.out_problem(folder, "out")
    if folder is not None and taken is not None:
        if not problems and folder_lock.holder(folder) is not None:
            raise FolderBusyError(taken)
        problems = [taken, *problems]
    if problems:
        raise ScenarioError("\n".join(problems))


def _path(out: str | Path | None) -> Path | None:
    return None if out is None else as_path(out, "out")
