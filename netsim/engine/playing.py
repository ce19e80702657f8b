"""Playing one algorithm on a world: torch and Python set up for it, its state kept on disk."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from pathlib import Path
from typing import Any

from netsim.engine import process_settings, step_watchdog
from netsim.engine.checkpoints.journal import Ended, Journal
from netsim.engine.checkpoints.replay import CheckpointReplay
from netsim.engine.interruption import asked_by_signals
from netsim.engine.progress import Watcher
from netsim.engine.simulation import Simulation
from netsim.errors import AlteredError, NetsimError, ReplayError, ScenarioError, is_out_of_memory
from netsim.node.decisions import Abandoned, Agent
from netsim.recording import checksums, folder_lock, status
from netsim.recording.observers import Observers
from netsim.recording.whole_files import collect_digests, make_folder, sha256_of
from netsim.scenario.component_files import author_line
from netsim.scenario.tables import AlgorithmEntry
from netsim.units import to_s
from netsim.world.builder import World

Ending = Callable[[Path], object]


def play(
    world: World,
    entry: AlgorithmEntry,
    folder: Path | None = None,
    timing_only: bool = False,
    on_progress: Watcher | None = None,
    replay: CheckpointReplay | None = None,
    check: bool = False,
    observers: Observers | None = None,
    ending: Ending = lambda folder: None,
    agent: Agent | None = None,
) -> dict[str, Any]:
    """Play one algorithm on a world.

    With a folder, Ctrl-C, SIGTERM and SIGHUP end the run between two events, and it can go on.

    Parameters
    ----------
    entry : AlgorithmEntry
        Names the algorithm and holds its Params.
    folder : Path or None
        The run folder; None keeps nothing but the summary.
    timing_only : bool
        Without tensor work: what is asked is in seconds, bits and losses.
    on_progress : callable
        Told now and then.
    replay : CheckpointReplay or None
        Of the past of the run in `folder`, if it goes on; None: it begins.
    check : bool
        Whether to check the invariants (`netsim.engine.invariants`) while the run goes on, too.
    observers : Observers or None
        Told of messages, wake-ups and evaluations as they happen.
    ending : callable
        (folder) -> anything; draws what belongs into the folder beside tables and summary, before
        its checksums are listed and it says that the run is done.
    agent : callable or None
        Takes the decisions that the algorithm leaves to an agent; None: its policy does.

    Returns
    -------
    dict
        The summary.

    Raises
    ------
    ScenarioError
        If the entry has a `set`: its world is `world.build(scenario.of(entry))`.
    NetsimError
        If the run fails; what was written stays readable.
    ReplayError
        If it can't go on, since it takes another course than it did; nothing was written.
    Interrupted
        If a signal ended it.
    Abandoned
        If the agent wants no more of it.
    """
    if entry.set:
        raise ScenarioError(
            f"[algorithm] {entry.name}: its set makes a world of its own; build scenario.of(entry) "
            "and play the entry of this name in its scenario"
        )
    with ExitStack() as held:
        if folder is not None:  # it belongs to this process meanwhile
            make_folder(folder)
            held.enter_context(folder_lock.held(folder))
            held.enter_context(collect_digests(folder))
        with process_settings.of_runs(world.scenario.run.tf32):
            try:
                found, left_behind = _played_alone(
                    world, entry, folder, timing_only, on_progress, replay, check, observers, agent
                )
            except Abandoned:  # let go of here: its traceback holds the run, which is freed now
                found = None
        if found is None:
            raise Abandoned
        ended = None if folder is None else Journal(folder).ended()
        if ended is not None:
            assert folder is not None
            conclude(folder, ended, ending, left_behind)
        else:
            for check_freed in left_behind:
                check_freed()
    return found


def conclude(
    folder: Path, ended: Ended, ending: Ending, checks: Sequence[Callable[[], None]] = ()
) -> None:
    """Do what is left to do of a run all of whose events have happened; `done` is said last.

    Parameters
    ----------
    folder : Path
        Of the run, which this process holds and whose files it records.
    ending : callable
        Draws what follows from the tables; is called unless that had been done.
    checks : sequence of callable
        Called before it.

    Raises
    ------
    NetsimError
        If it failed; `netsim resume` does what is missing.
    """
    done = {"state": "done", "virtual_s": ended.virtual_s}
    try:
        if not (folder / checksums.NAME).is_file():
            for check in checks:
                check()
            ending(folder)
            said = {"status.json": sha256_of(status.content(done))}
            checksums.write(folder, {**ended.written, **checksums.results(folder), **said})
        status.write(folder, done)
    except BaseException as error:
        status.write_at_any_cost(folder, _outcome(error, ended.virtual_s))
        error.add_note(
            f"all events had happened; the results are in {folder}, and netsim resume {folder} "
            "does what is missing"
        )
        raise
    Journal(folder).end()


def _played_alone(
    world: World,
    entry: AlgorithmEntry,
    folder: Path | None,
    timing_only: bool,
    on_progress: Watcher | None,
    replay: CheckpointReplay | None,
    check: bool,
    observers: Observers | None,
    agent: Agent | None,
) -> tuple[dict[str, Any], Sequence[Callable[[], None]]]:
    """The summary, and what is to be checked once the run is freed.

    A function of its own: when it has returned, nothing holds the run any more, and `of_runs` frees
    it before the memory of the next one is asked for.
    """
    with (
        # Signals end a run between two events where that leaves something to go on from.
        nullcontext() if folder is None else asked_by_signals() as interruption,
        step_watchdog.watched(),
        _same_course(folder, replay),
    ):
        run = Simulation(
            world, entry, folder, timing_only, on_progress, interruption, replay, check, agent
        )
        if observers is not None:
            told = observers.called_by(run.checks.generators.observer)
            told.watch(run.recorder, run.evaluator.values_told, entry.name)
        try:
            found = _play_to_end(run, folder)
        finally:
            run.objects.close()
            run.learning.close()
        return found, run.checks.left_behind()


@contextmanager
def _same_course(folder: Path | None, replay: CheckpointReplay | None) -> Iterator[None]:
    """Say so if a run that goes on can't come to where it was."""
    try:
        yield
    except Exception as error:
        if replay is None or replay.is_over:
            raise
        because = ", ".join(replay.changed) or "the algorithm draws random numbers of its own"
        raise ReplayError(
            f"{folder}: does not replay, nothing was written; the reason may be: {because}: "
            f"{failure_text(error)}"
        ) from error


def _play_to_end(run: Simulation, folder: Path | None) -> dict[str, Any]:
    """The summary of a run, which goes to its folder with all else."""
    try:
        if folder is not None and run.replay is None:
            run.write_inputs(folder)
            status.write(folder, {"state": "running"})
        run.tell("first evaluation" if run.replay is None else "replaying what is kept")
        run.to_horizon()
        run.objects.notify_ended()
        run.tell("writing tables and summary")
        found = run.finish(folder)
        if folder is not None:
            Journal(folder).end_events(to_s(run.clock.now))
            run.tell("drawing figures")
        return found
    except BaseException as error:
        if folder is not None and run.replay is None:
            _leave(run, folder, error)
        raise


def _leave(run: Simulation, folder: Path, error: BaseException) -> None:
    """Write what waits of a run that has ended before its time, and what ended it."""
    altered = isinstance(error, AlteredError)  # all stays as it was found
    written, virtual_s = {} if altered else run.recorder.salvage(), to_s(run.clock.now)
    outcome = {**_outcome(error, virtual_s), "rows_written": written}
    is_written = status.write_at_any_cost(folder, outcome)
    if outcome["state"] == "failed" and not altered:
        rows = ", ".join(f"{rows} rows of {table}" for table, rows in written.items()) or "no rows"
        error.add_note(f"it had come to {virtual_s:g} s of virtual time and written {rows}")
        if not is_written and folder.exists():
            error.add_note(f"{folder / 'status.json'} could not be written and does not say so")


def _outcome(error: BaseException, virtual_s: float) -> dict[str, Any]:
    """Contents of `status.json` of a run that an error has ended."""
    if isinstance(error, KeyboardInterrupt):
        return {"state": "interrupted", "error": "", "virtual_s": virtual_s}
    return {"state": "failed", "error": failure_text(error), "virtual_s": virtual_s}


def failure_text(error: BaseException) -> str:
    """An error of a run in short: what it is, the algorithm's line that led to it, and its notes.

    Returns
    -------
    str
        One or several lines. The line of code is the last one of an algorithm; where no algorithm
        is involved and the error is none of netsim's own, the one that raised it.
    """
    text, line = str(error), author_line(error)
    if not isinstance(error, NetsimError):
        text = f"{type(error).__name__}: {text}" if text else type(error).__name__
        frame = traceback.extract_tb(error.__traceback__)[-1]
        line = line or f"at {frame.filename}:{frame.lineno} in {frame.name}: {frame.line}"
    if is_out_of_memory(error) and "out of memory" not in text.lower():
        text = f"out of memory: {text}"
    notes = getattr(error, "__notes__", [])
    return "\n".join([text, *([line] if line else []), *notes])
