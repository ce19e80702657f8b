"""Polling of the clock, the disk and signals between two events, at a pace that costs nothing."""

import time

MOST_EVENTS = 256
LONG_S, SHORT_S = 0.1, 0.02
"""Events between two looks are quartered and doubled so that they take about as long as this."""

TOLD_EVERY_S = 0.5
"""Wall time between two words on the progress."""


class Polling:
    """Number of events between two looks, by the wall clock; no result depends on it."""

    def __init__(self) -> None:
        self._looked_s = self._told_s = time.monotonic()
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

    def is_progress_due(self) -> bool:
        """Return whether the progress is to be told now; it is taken to be told then."""
        if self._looked_s < self._told_s + TOLD_EVERY_S:
            return False
        self._told_s = self._looked_s
        return True
