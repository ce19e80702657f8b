"""SIGINT and SIGTERM to the process of a sweep: a word that it acts on when it is ready to."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from netsim.engine.interruption import Interrupted

SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def stop_requests(in_process: bool) -> Iterator[Callable[[], None]]:
    """Let signals end a sweep.

    Parameters
    ----------
    in_process : bool
        Whether this process itself plays the runs, which take the signals then; else the first one
        waits to be looked for, so that no report is torn, and the second one ends all at once.

    Yields
    ------
    callable
        Raises Interrupted if a signal has come.
    """
    come: list[int] = []

    def note(number: int, _: FrameType | None) -> None:
        come.append(number)
        if len(come) > 1:
            raise Interrupted(number)

    def check() -> None:
        if come:
            raise Interrupted(come[0])

    if in_process or threading.current_thread() is not threading.main_thread():
        yield check
        return
    before = {number: signal.signal(number, note) for number in SIGNALS}
    try:
        yield check
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
