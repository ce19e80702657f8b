"""Play all runs of a sweep, even if workers die."""

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from netsim.campaign.grid import Job, Outcome
from netsim.campaign.workers.reports import Ended, Lost, Progress, Report, Started, Workers

TRIES = 3
"""Number of tries of a run whose process is killed: the run itself may be the cause."""


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
        """Nothing depends on it."""


class Watcher(Protocol):
    """Observer of a sweep's progress."""

    def started(self, report: Started) -> None:
        """A run is being played."""

    def progress(self, report: Progress) -> None:
        """A run has come so far."""

    def again(self, job: Job, why: str) -> None:
        """A run is played once more: its process is gone."""

    def ended(self, outcome: Outcome) -> None:
        """A run has ended for good."""


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
        told = replace(outcome, tries=tuple(lost.pop(folder, ())))
        source.ended(told)
        watcher.ended(told)

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
            watcher.again(job, report.why)
            workers.start(job)
            return
        times = f"{TRIES} times" if len(set(reasons)) == 1 else f"at the last of {TRIES} tries"
        over(Outcome(job, f"{job.where}: {report.why}, {times}"))

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
