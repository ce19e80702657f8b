"""Going on with a run: its events are played again up to a checkpoint, and compared with it."""

import gc
from collections.abc import Callable
from pathlib import Path

import numpy as np
from torch import device as Device

from netsim.engine.checkpoints.checkpoint import Checkpoint, Moment
from netsim.engine.checkpoints.journal import Journal
from netsim.engine.checkpoints.writing import cells_of
from netsim.errors import ReplayError
from netsim.learning.replay import Replay
from netsim.learning.scheduler import Scheduler
from netsim.recording.recorder import Recorder


class CheckpointReplay:
    """Replay of an interrupted run up to its checkpoint, which it verifies.

    Parameters
    ----------
    journal : Journal
        Of the run.
    checkpoint : Checkpoint
        The one to go on from.
    numbers : (n,) float64
        What `node.value` had given by then.
    changed : list of str
        What is not as it was: versions, machine, the algorithm's file.
    when_there : callable
        (folder of what was set aside, or None) -> anything; called once the run is where it was.

    Attributes
    ----------
    is_over : bool
        Whether the run is where it was.
    for_scheduler : Replay
        Stands in for the tensor work of the run's scheduler.
    """

    def __init__(
        self,
        journal: Journal,
        checkpoint: Checkpoint,
        numbers: np.ndarray,
        changed: list[str],
        when_there: Callable[[Path | None], object],
    ) -> None:
        self.journal, self.checkpoint = journal, checkpoint
        self.changed, self.is_over = changed, False
        self._when_there = when_there
        self.for_scheduler = Replay(numbers, {*checkpoint.pending, *checkpoint.again})

    def events_until_look(self, events: int, evaluations: int) -> int:
        """Return the number of events until the next look; 0: the checkpoint is reached."""
        then = self.checkpoint.moment
        if events == then.events:
            return 0 if evaluations == then.evaluations else 1
        if events > then.events:
            raise ReplayError(
                f"evaluation {evaluations} came after {then.events} events, now after {events}"
            )
        return then.events - events

    def go_on(
        self, moment: Moment, scheduler: Scheduler, recorder: Recorder, device: Device
    ) -> None:
        """Give back what tensor work had made, and let the run write again.

        Parameters
        ----------
        moment : Moment
            Where the run is: at the checkpoint.
        device : torch.device
            Where values lie.

        Raises
        ------
        ReplayError
            If anything is not as it was; nothing has been written.
        """
        checkpoint = self.checkpoint
        asked = checkpoint.numbers - self.for_scheduler.unread_count
        _require("virtual time [ns]", moment.time_ns, checkpoint.moment.time_ns)
        _require("results of jobs", scheduler.cells, checkpoint.submitted)
        _require("numbers asked for", asked, checkpoint.numbers)
        _require("hash of the events", recorder.event_log_sha256(), checkpoint.event_log_sha256)
        gc.collect()  # what only garbage held need not have been there
        cells = {cell.number: cell for cell in cells_of(scheduler)}
        made = {number for job in self.for_scheduler.jobs.values() for number in job.result_numbers}
        _require("jobs to run", len(self.for_scheduler.kept - made), 0)
        stored = {number for group in checkpoint.groups for number in group.cells}
        _require("values that were not there", len(cells.keys() - made - stored), 0)
        for number, value in self.journal.cells(checkpoint):
            if number in cells:
                _require("shape of a value", cells[number].shape, tuple(value.shape))
                cells[number].fill(value.to(device))
        scheduler.go_on(checkpoint.pending)
        scheduler.restore(checkpoint.counters)
        self.is_over = True
        aside = self.journal.go_on(checkpoint)
        recorder.go_on(checkpoint.extents)
        self._when_there(aside)


def _require(what: str, found: object, before: object) -> None:
    if found != before:
        raise ReplayError(f"{what}: {found}, at first {before}")
