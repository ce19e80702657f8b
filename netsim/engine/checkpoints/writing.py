"""Writing the checkpoints of a run, while it is played."""

import gc
import time
from math import prod
from typing import Any

from netsim.engine.checkpoints.contents import Moment
from netsim.engine.checkpoints.journal import Journal
from netsim.engine.checkpoints.pace import Pace
from netsim.learning.refs import Cell
from netsim.learning.replay import Numbers
from netsim.learning.scheduler import Scheduler
from netsim.recording.recorder import Recorder

BYTES_PER_VALUE = 4
"""Taken for the size of values before they are written."""


class Checkpointing:
    """Writer of the checkpoints of one run.

    Parameters
    ----------
    journal : Journal
    scheduler : Scheduler
        With a backend.
    recorder : Recorder
    made_with : dict
        Versions and machine.
    """

    def __init__(
        self,
        journal: Journal,
        scheduler: Scheduler,
        recorder: Recorder,
        made_with: dict[str, Any],
    ) -> None:
        self._journal, self._scheduler, self._recorder = journal, scheduler, recorder
        self._made_with = made_with
        self._given = 0
        self.pace = Pace()
        scheduler.handed_out = []

    def go_on(self, given: int) -> None:
        """Count on from so many numbers that `node.value` had given."""
        self._given = given

    def is_due(self) -> bool:
        """Return whether a checkpoint is due."""
        return self.pace.is_due() and not self.pace.postponed(self._size_bytes())

    def write(self, moment: Moment) -> None:
        """Write a checkpoint now, between two events."""
        began_s = time.perf_counter()
        scheduler, recorder = self._scheduler, self._recorder
        numbers: list[Numbers] = scheduler.handed_out or []
        scheduler.handed_out = []
        self._given += sum(map(len, numbers))
        computed, again = [], []
        for cell in cells_of(self._scheduler):
            if cell.recipe is not None:
                again.append(cell.number)
            elif cell.is_computed:
                computed.append(cell)
        contents = {
            "moment": moment,
            "extents": recorder.extents(),
            "written": self._journal.written(),
            "event_log_sha256": recorder.event_log_sha256(),
            "counters": scheduler.counters(),
            "submitted": scheduler.cells,
            "pending": tuple(scheduler.pending()),
            "again": tuple(again),
            "numbers": self._given,
            "made_with": self._made_with,
        }
        self._journal.write(computed, numbers, contents)
        self.pace.written(time.perf_counter() - began_s)

    def _size_bytes(self) -> int:
        """About how much is to be written."""
        return BYTES_PER_VALUE * sum(prod(cell.shape) for cell in cells_of(self._scheduler))


def cells_of(scheduler: Scheduler) -> list[Cell]:
    """The results of a run's jobs that somebody holds, in the order of their jobs.

    Found among all objects, so that nothing has to be noted where jobs are submitted. What is only
    held by cyclic garbage is among them.
    """
    found = [
        one
        for one in gc.get_objects()
        if type(one) is Cell and one.scheduler is scheduler and one.number >= 0
    ]
    return sorted(found, key=lambda cell: cell.number)
