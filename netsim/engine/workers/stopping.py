"""SIGINT and SIGTERM to the process of a sweep: a word that it acts on when it is ready to."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def stop_requests(at_once: bool) -> Iterator[Callable[[], None]]:
    """Let signals end a sweep.

    Parameters
    ----------
    at_once : bool
        Whether the first signal raises KeyboardInterrupt where the program is, as it must while
        this process itself plays a run; else the second one does, and the first waits to be
        looked for, so that no report is torn.

    Yields
    ------
    callable
        Raises KeyboardInterrupt if a signal has come.
    """
    come: list[int] = []

    def note(number: int, _: FrameType | None) -> None:
        come.append(number)
        if at_once or len(come) > 1:
            raise KeyboardInterrupt

    def check() -> None:
        if come:
            raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():
        yield check
        return
    before = {number: signal.signal(number, note) for number in SIGNALS}
    try:
        yield check
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
