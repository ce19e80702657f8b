"""Progress of a sweep: a line for each run, and `status.json` in the sweep's folder."""

import hashlib
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from netsim.campaign.grid import Job, Outcome
from netsim.campaign.pool import Progress, Started
from netsim.recording.summary import json_text, write_json
from netsim.recording.whole_files import Digests

NAMED = 12
"""Runs that did not end are listed up to this many."""

WRITTEN_EVERY_S = 1.0
"""Least wall time between two writings of the file, but for the last."""


class SweepProgress:
    """Outcomes of a sweep's runs, and messages about them; see `supervisor.Watcher`.

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
        self._written_s = 0.0
        self.write("running")

    def started(self, report: Started) -> None:
        """A run is being played."""
        self._running[report.job.where] = {"pid": report.pid, "host": report.host}
        self.write("running", at_once=True)

    def progress(self, report: Progress) -> None:
        """A run has come so far."""
        if report.job.where in self._running:
            share = report.virtual_s / report.horizon_s
            self._running[report.job.where] |= {"share": round(share, 4)}
            self.write("running")

    def again(self, job: Job, why: str) -> None:
        """A run is played once more: its process is gone."""
        self._tried.setdefault(job.where, []).append(why)
        self._running.pop(job.where, None)
        self._say(Text(f"{job.where}  ") + Text(f"{why}; played again", style="yellow"))

    def ended(self, outcome: Outcome) -> None:
        """A run has ended for good."""
        self.outcomes.append(outcome)
        self._running.pop(outcome.job.where, None)
        self.write("running")
        how = Text("done", style="green")
        if outcome.problem:
            how = Text("failed", style="bold red")
        elif outcome.pruned:
            how = Text("pruned", style="yellow")
        number = self._done + len(self.outcomes)
        self._say(
            Text(f"{number:>{len(str(self._runs))}} of {self._runs}  {outcome.job.where}  ") + how
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
        write_json(self._file, self._content(state, done))

    def digest(self, state: str, done: int | None = None) -> Digests:
        """By the file's name the SHA-256 of what `write` is about to write."""
        text = json_text(self._content(state, done))
        return {self._file.name: hashlib.sha256(text.encode()).hexdigest()}

    def _content(self, state: str, done: int | None) -> dict[str, Any]:
        failed = [o for o in self.outcomes if o.problem]
        good = [o for o in self.outcomes if not o.problem]
        return {
            "state": state,
            "runs": self._runs,
            "done": self._done + len(good) if done is None else done,
            "failed": {o.job.where: o.problem for o in failed},
            "played_again": self._tried,
            "running": self._running if state == "running" else {},
        }


def listed(lines: Sequence[str], most: int) -> list[str]:
    """Lines, the last of which says how many were left out."""
    more = len(lines) - most
    return [*lines[:most], *([f"and {more} more"] if more > 0 else [])]
