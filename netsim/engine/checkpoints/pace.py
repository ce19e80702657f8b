"""Pace of a run's looks at the clock, and of its checkpoints."""

import time

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

MOST_EVENTS = 256
LONG_S, SHORT_S = 0.1, 0.02
"""Events between two looks are halved and doubled so that they take about as long as this."""


class Pace:
    """Times of checkpoints, by the wall clock; no result depends on it."""

    def __init__(self) -> None:
        self._began_s = self._looked_s = time.monotonic()
        self._due_s = self._began_s + FIRST_S
        self._is_first = True
        self._events = 1

    def events(self) -> int:
        """Return the number of events until the next look; call it at every look."""
        now_s = time.monotonic()
        took_s, self._looked_s = now_s - self._looked_s, now_s
        if took_s > LONG_S:
            self._events = max(1, self._events // 4)
        elif took_s < SHORT_S:
            self._events = min(MOST_EVENTS, 2 * self._events)
        return self._events

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
        """A checkpoint has been written, which took `cost_s`."""
        now_s = time.monotonic()
        self._is_first = False
        lost_s = min(MOST_S, SHARE_LOST * (now_s - self._began_s))
        self._due_s = now_s + max(LEAST_S, lost_s, cost_s / SHARE_SPENT)
