"""Runs played one after the other in this process."""

import os
import socket
from collections.abc import Iterator

from netsim.campaign.grid import Job
from netsim.campaign.workers.play_job import Ask, play_job
from netsim.campaign.workers.reports import Ended, Report, Started


class InProcess:
    """Player in the process of the sweep itself; see `reports.Workers`.

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
        """Nothing is left behind."""
