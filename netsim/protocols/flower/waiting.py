"""Wall time that an app takes, and word of it while it goes on."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

TOLD_AFTER_S = 60.0
"""Wall time of one wait after which it is told of; then after twice as much, and so on."""


class Waiting:
    """Waits of a run for its app; a long one is told of on standard error.

    Parameters
    ----------
    limit_s : float or None
        Wall time that a wait may take at most, as the user has said; None: no end is set.
    told_after_s : float
    """

    def __init__(self, limit_s: float | None, told_after_s: float = TOLD_AFTER_S) -> None:
        self.limit_s, self._told_after_s = limit_s, told_after_s
        self._now: tuple[str, float] | None = None
        self._over = threading.Event()
        self._thread: threading.Thread | None = None

    @contextmanager
    def on(self, what: str) -> Iterator[None]:
        """Wait for something, named as the subject of a sentence."""
        if self._thread is None:
            self._thread = threading.Thread(
                target=self._report_long_waits, name="waiting", daemon=True
            )
            self._thread.start()
        self._now = what, time.monotonic()
        try:
            yield
        finally:
            self._now = None

    def _report_long_waits(self) -> None:
        reported: tuple[str, float] | None = None
        next_s = self._told_after_s
        while not self._over.wait(min(1.0, self._told_after_s / 4)):
            now = self._now
            if now is not reported:
                reported, next_s = now, self._told_after_s
            if now is None:
                continue
            what, began_s = now
            taken_s = time.monotonic() - began_s
            if taken_s < next_s:
                continue
            next_s = 2 * taken_s
            end = (
                "call_limit_s of [algorithm] would set it an end, and Ctrl-C twice ends the run"
                if self.limit_s is None
                else f"call_limit_s = {self.limit_s:g} is its end"
            )
            with suppress(OSError, ValueError):  # a standard error that is closed hears nothing
                sys.stderr.write(
                    f"\n{what}, has taken {taken_s:.0f} s of wall time so far, and the run waits "
                    f"for it: {end}\n"
                )
                sys.stderr.flush()

    def close(self) -> None:
        """Tell of nothing any more."""
        self._over.set()
        if self._thread is not None:
            self._thread.join()
