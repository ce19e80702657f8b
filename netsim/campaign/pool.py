"""Play all runs of a sweep, whatever becomes of the processes that play them."""

import os
import socket
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from rich.console import Console
from rich.text import Text

from netsim.campaign.grid import Job, Outcome
from netsim.campaign.play_job import Ask, play_job
from netsim.engine.interruption import asked_by_signals, raised_at_once
from netsim.recording import status
from netsim.recording.whole_files import Digests, sha256_of


@dataclass(frozen=True)
class Started:
    """Report that a process of a machine has started a run."""

    job: Job
    pid: int
    host: str


@dataclass(frozen=True)
class Progress:
    """Progress of a run: virtual time and horizon, in s."""

    job: Job
    virtual_s: float
    horizon_s: float


@dataclass(frozen=True)
class Lost:
    """The process that played a run is gone."""

    job: Job
    why: str


Report = Started | Progress | Outcome | Lost
"""An outcome says that its run has ended."""


class Workers(Protocol):
    """Something that plays runs.

    Attributes
    ----------
    slots : int
        How many runs at a time.
    """

    slots: int

    def start(self, job: Job) -> None:
        """Begin with a run; only while fewer than `slots` are under way."""

    def reports(self) -> Iterable[Report]:
        """Yield new reports, waiting at most 0.5 s."""

    def stop(self) -> Iterable[Report]:
        """Make all runs end; what ended on its own before that is among the reports."""

    def close(self) -> None:
        """Leave no process behind."""


@contextmanager
def stop_requests(in_process: bool) -> Iterator[Callable[[], None]]:
    """Let signals end a sweep.

    `in_process`: whether this process itself plays the runs, which take the signals then, but for
    those between two of them; else the first one waits to be looked for, so that no report is torn,
    and the second one ends all at once.

    Yields
    ------
    callable
        Raises Interrupted if a signal has come.
    """
    if in_process:
        with raised_at_once():
            yield lambda: None
        return
    with asked_by_signals() as interruption:
        yield interruption.require_none


TRIES = 3
"""Tries of a run whose process is killed: the run itself may be the cause."""


class Source(Protocol):
    """Source of runs: a list of them, or a search that decides on the next."""

    def next_job(self) -> Job | None:
        """A run to begin with; None if there is none before another one ends."""

    def ended(self, outcome: Outcome) -> None:
        """Hear what became of a run."""


class Grid:
    """Runs that are known from the beginning; see `Source`."""

    def __init__(self, jobs: Iterable[Job]) -> None:
        self._jobs = iter(jobs)

    def next_job(self) -> Job | None:
        """The next run of the list."""
        return next(self._jobs, None)

    def ended(self, outcome: Outcome) -> None:
        """Do nothing: nothing depends on the end of a run."""


WRITTEN_EVERY_S = 1.0
"""Least wall time between two writings of `status.json`, but for the last."""


class SweepProgress:
    """Outcomes of a sweep's runs, and messages about them.

    Parameters
    ----------
    console : Console or None
        Where the lines go; None: nowhere.
    file : Path
        `status.json` of the sweep, or of a part of it.
    runs : int
        How many there are to be in all.
    done : int
        How many of them were done before.

    Attributes
    ----------
    outcomes : list of Outcome
        Of this process.
    """

    def __init__(self, console: Console | None, file: Path, runs: int, done: int) -> None:
        self.outcomes: list[Outcome] = []
        self._console, self._file = console, file
        self._runs, self._done = runs, done
        self._running: dict[str, dict[str, Any]] = {}
        self._tried: dict[str, list[str]] = {}
        self._written_s, self._state = 0.0, ""
        self.write("running")

    def started(self, report: Started) -> None:
        """Note that a run has started."""
        self._running[report.job.title] = {"pid": report.pid, "host": report.host}
        self.write("running", at_once=True)

    def progress(self, report: Progress) -> None:
        """Note the progress of a run."""
        if report.job.title in self._running:
            share = report.virtual_s / report.horizon_s
            self._running[report.job.title] |= {"share": round(share, 4)}
            self.write("running")

    def on_retry(self, job: Job, why: str) -> None:
        """Note that a run is played again, because its process is gone."""
        self._tried.setdefault(job.title, []).append(why)
        self._running.pop(job.title, None)
        self._say(Text(f"{job.title}  ") + Text(f"{why}; played again", style="yellow"))

    def ended(self, outcome: Outcome) -> None:
        """Note the end of a run."""
        self.outcomes.append(outcome)
        self._running.pop(outcome.job.title, None)
        self.write("running")
        how = Text("done", style="green")
        if outcome.problem:
            how = Text("failed", style="bold red")
        elif outcome.pruned:
            how = Text("pruned", style="yellow")
        number = self._done + len(self.outcomes)
        self._say(
            Text(f"{number:>{len(str(self._runs))}} of {self._runs}  {outcome.job.title}  ") + how
        )

    def _say(self, text: Text) -> None:
        if self._console is not None:
            self._console.print(text)

    @property
    def tried_again(self) -> list[str]:
        """The runs that were played more than once, and why."""
        return [f"{where}: {'; '.join(reasons)}" for where, reasons in self._tried.items()]

    def write(self, state: str, at_once: bool = False, done: int | None = None) -> None:
        """Write the file, if the last time is long enough ago or this is the end.

        Parameters
        ----------
        state : str
            `running`, `done`, `failed` or `interrupted`.
        at_once : bool
            Write in any case.
        done : int or None
            Runs that are done, by the folder; None: by what has been told.
        """
        now_s = time.monotonic()
        if state == "running" and not at_once and now_s < self._written_s + WRITTEN_EVERY_S:
            return
        self._written_s = now_s
        status.write(self._file.parent, self._content(state, done), self._file.name)
        self._state = state

    def failed(self, why: str) -> None:
        """Say that the sweep has failed, unless its end has been said; also on a full disk."""
        if self._state == "running":
            said = {**self._content("failed", None), "error": why}
            status.write_at_any_cost(self._file.parent, said, self._file.name)

    def digest(self, state: str, done: int | None = None) -> Digests:
        """Compute the SHA-256 of what `write` is about to write, by the file's name."""
        return {self._file.name: sha256_of(status.content(self._content(state, done)))}

    def _content(self, state: str, done: int | None) -> dict[str, Any]:
        failed = [o for o in self.outcomes if o.problem]
        good = [o for o in self.outcomes if not o.problem]
        return {
            "state": state,
            "runs": self._runs,
            "done": self._done + len(good) if done is None else done,
            "failed": {o.job.title: o.problem for o in failed},
            "played_again": self._tried,
            "running": self._running if state == "running" else {},
        }


def play_all(
    source: Source, workers: Workers, watcher: SweepProgress, check_stop: Callable[[], None]
) -> None:
    """Play all runs.

    Parameters
    ----------
    source : Source
        Of the runs.
    workers : Workers
        Plays them; closed at the end.
    watcher : SweepProgress
        Told of each run.
    check_stop : callable
        Raises KeyboardInterrupt if the sweep is to end.

    Raises
    ------
    KeyboardInterrupt
        Once all workers have ended and the watcher knows what they had done.
    """
    under_way: dict[Path, Job] = {}
    lost: dict[Path, list[str]] = defaultdict(list)

    def over(outcome: Outcome) -> None:
        del under_way[outcome.job.folder]
        source.ended(outcome)
        watcher.ended(outcome)

    def hear(report: Report, stopping: bool = False) -> None:
        if isinstance(report, Outcome):
            over(report)
        elif isinstance(report, Started):
            watcher.started(report)
        elif isinstance(report, Progress):
            watcher.progress(report)
        elif not stopping:
            gone(report)

    def gone(report: Lost) -> None:
        job, reasons = report.job, lost[report.job.folder]
        reasons.append(report.why)
        if len(reasons) < TRIES:
            watcher.on_retry(job, report.why)
            workers.start(job)
            return
        times = f"{TRIES} times" if len(set(reasons)) == 1 else f"at the last of {TRIES} tries"
        over(Outcome(job, f"{job.title}: {report.why}, {times}"))

    try:
        while True:
            check_stop()
            while len(under_way) < workers.slots and (job := source.next_job()) is not None:
                under_way[job.folder] = job
                workers.start(job)
            if not under_way:
                break
            for report in workers.reports():
                hear(report)
    except BaseException:
        for report in workers.stop():
            hear(report, stopping=True)
        raise
    finally:
        workers.close()


class InProcess:
    """Plays in the process of the sweep itself; see `Workers`.

    `ask`: whether a run that reports shall go on.
    """

    slots = 1

    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        self._job: Job | None = None

    def start(self, job: Job) -> None:
        """Note a run, which `reports` plays."""
        self._job = job

    def reports(self) -> Iterator[Report]:
        """Play the run."""
        job, self._job = self._job, None
        assert job is not None
        yield Started(job, os.getpid(), socket.gethostname())
        yield play_job(job, lambda *_: None, self._ask)

    def stop(self) -> Iterator[Report]:
        """Nothing: what interrupts the sweep has interrupted its run."""
        return iter(())

    def close(self) -> None:
        """Do nothing: no process is left behind."""
