"""Play all runs of a sweep, whatever becomes of the processes that play them."""

import os
import socket
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from netsim.campaign.grid import Job, Outcome
from netsim.campaign.play_job import Ask, play_job
from netsim.engine.interruption import asked_by_signals


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
class Ended:
    """Report that a run has ended, with its outcome."""

    outcome: Outcome


@dataclass(frozen=True)
class Lost:
    """The process that played a run is gone."""

    job: Job
    why: str


Report = Started | Progress | Ended | Lost


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

    Parameters
    ----------
    in_process : bool
        Whether this process itself plays the runs, which take the signals then; else the first one
        waits to be looked for, so that no report is torn, and the second one ends all at once.

    Yields
    ------
    callable
        Raises Interrupted if a signal has come.
    """
    if in_process:
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


class Watcher(Protocol):
    """Listener to the progress of a sweep."""

    def started(self, report: Started) -> None:
        """Note that a run has started."""

    def progress(self, report: Progress) -> None:
        """Note the progress of a run."""

    def on_retry(self, job: Job, why: str) -> None:
        """Note that a run is played again, because its process is gone."""

    def ended(self, outcome: Outcome) -> None:
        """Note the end of a run."""


def play_all(
    source: Source, workers: Workers, watcher: Watcher, check_stop: Callable[[], None]
) -> None:
    """Play all runs.

    Parameters
    ----------
    source : Source
        Of the runs.
    workers : Workers
        Plays them; closed at the end.
    watcher : Watcher
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
        folder = outcome.job.folder
        del under_way[folder]
        outcome_of_all_tries = replace(outcome, tries=tuple(lost.pop(folder, ())))
        source.ended(outcome_of_all_tries)
        watcher.ended(outcome_of_all_tries)

    def hear(report: Report, stopping: bool = False) -> None:
        if isinstance(report, Ended):
            over(report.outcome)
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

    Parameters
    ----------
    ask : callable
        Whether a run that reports shall go on.
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
        yield Ended(play_job(job, lambda *_: None, self._ask))

    def stop(self) -> Iterator[Report]:
        """Nothing: what interrupts the sweep has interrupted its run."""
        return iter(())

    def close(self) -> None:
        """Do nothing: no process is left behind."""
