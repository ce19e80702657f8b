"""Reports of a sweep's workers, and the interface of all sorts of workers."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from netsim.campaign.grid import Job, Outcome


@dataclass(frozen=True)
class Started:
    """A run is being played, by which process of which machine."""

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
    """A run has ended, well or not."""

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
