"""Writing the checkpoints of a run while it is played, at a pace of which it is hardly slower."""

import gc
import time
from math import prod
from typing import Any

from netsim.engine.checkpoints.checkpoint import Moment
from netsim.engine.checkpoints.journal import Journal
from netsim.learning.refs import Cell
from netsim.learning.replay import Numbers
from netsim.learning.scheduler import Scheduler
from netsim.recording.recorder import Recorder

FIRST_S = 2.0
"""Wall time of a run before its first checkpoint."""

LEAST_S = 10.0
"""Wall time between two checkpoints, at least."""

MOST_S = 600.0
"""Wall time between two checkpoints at most, unless they are costly."""

SHARE_LOST = 0.05
"""Of the wall time of a run so far, what a kill may cost before `MOST_S` is reached."""

SHARE_SPENT = 0.01
"""Of the wall time since the last checkpoint, what the next one may take."""

BYTES_PER_S = 150e6
"""Assumed speed of writing values, before the first checkpoint has shown it."""

FIRST_COST_S = 0.02
"""Assumed cost of a checkpoint beside its values [s]."""


class Pace:
    """Times of checkpoints, by the wall clock; no result depends on it."""

    def __init__(self) -> None:
        self._began_s = time.monotonic()
        self._due_s = self._began_s + FIRST_S
        self._is_first = True

    def is_due(self) -> bool:
        """Return whether a checkpoint is due now."""
        return time.monotonic() >= self._due_s

    def postponed(self, size_bytes: int) -> bool:
        """Return whether the first checkpoint waits, since its values take too long to write."""
        if not self._is_first:
            return False
        cost_s = FIRST_COST_S + size_bytes / BYTES_PER_S
        self._due_s = self._began_s + cost_s / SHARE_SPENT
        return time.monotonic() < self._due_s

    def written(self, cost_s: float) -> None:
        """Note that a checkpoint was written in `cost_s` [s]."""
        now_s = time.monotonic()
        self._is_first = False
        lost_s = min(MOST_S, SHARE_LOST * (now_s - self._began_s))
        self._due_s = now_s + max(LEAST_S, lost_s, cost_s / SHARE_SPENT)


BYTES_PER_VALUE = 4
"""Taken for the size of values before they are written."""


class Checkpointing:
    """Writer of the checkpoints of one run.

    Parameters
    ----------
    scheduler : Scheduler
        With a backend.
    made_with : dict
        Versions and machine.
    """

    def __init__(
        self, journal: Journal, scheduler: Scheduler, recorder: Recorder, made_with: dict[str, Any]
    ) -> None:
        self._journal, self._scheduler, self._recorder = journal, scheduler, recorder
        self._made_with = made_with
        self._given = 0
        self._pace = Pace()
        scheduler.handed_out = []

    def go_on(self, given: int) -> None:
        """Count on from so many numbers that `node.value` had given."""
        self._given = given

    def is_due(self) -> bool:
        """Return whether a checkpoint is due."""
        return self._pace.is_due() and not self._pace.postponed(self._size_bytes())

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
            "pending": tuple(scheduler.pending_numbers()),
            "again": tuple(again),
            "numbers": self._given,
            "made_with": self._made_with,
        }
        self._journal.write(computed, numbers, contents, scheduler.fetch_cells)
        self._pace.written(time.perf_counter() - began_s)

    def _size_bytes(self) -> int:
        """About how much is to be written."""
        return BYTES_PER_VALUE * sum(prod(cell.shape) for cell in cells_of(self._scheduler))


def cells_of(scheduler: Scheduler) -> list[Cell]:
    """The results of a run's jobs that somebody holds, in the order of their jobs.

    The garbage collector lists all objects, and cells of this run are picked from them, so that no
    code that submits a job has to note it. Cells held by cyclic garbage alone are among them.
    """
    found = [
        one
        for one in gc.get_objects()
        if type(one) is Cell and one.scheduler is scheduler and one.number >= 0
    ]
    return sorted(found, key=lambda cell: cell.number)
