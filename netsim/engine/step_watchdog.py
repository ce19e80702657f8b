"""A step of an algorithm that never ends: a loop without `yield`, told of by its line.

While such a step goes on nothing else does, the display included. So processor time is counted, and
a step in which the algorithm's own code has run for long, without any tensor work, is broken off.
Code that brings its own learning (`node.seeded`) may take as long as it needs.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from types import FrameType

from netsim.errors import ProtocolError
from netsim.learning.global_draws import foreign_code_runs

LOOKED_AT_EVERY_S = 2.0
"""Processor time between two looks."""

LOOKS = 15
"""Looks in a row at the same step, outside of any tensor work, after which it is broken off."""

EVENTS_PLANNED = 500_000
"""Events that a step may plan between two looks: a loop of them fills the memory sooner."""

_STEPS = {("netsim.clock", "play"), ("netsim.node.process_guard", "start_processes")}
"""Functions of the engine in whose frames a step of an algorithm runs."""

_AT_WORK = ("netsim.backends", "netsim.world", "netsim.recording", "netsim.learning")
"""Beginnings of the modules whose work may take long."""


@contextmanager
def watched() -> Iterator[None]:
    """Break off a step that does not end; of effect in the main thread only.

    Raises
    ------
    ProtocolError
        In the algorithm's code, at the line where it is.
    """
    in_main_thread = threading.current_thread() is threading.main_thread()
    if not in_main_thread or not hasattr(signal, "setitimer"):
        yield
        return
    watch = _Watch()
    before = signal.signal(signal.SIGVTALRM, watch.look)
    signal.setitimer(signal.ITIMER_VIRTUAL, LOOKED_AT_EVERY_S, LOOKED_AT_EVERY_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0.0)
        signal.signal(signal.SIGVTALRM, before)


class _Watch:
    """Comparison of the step under way with the one at the last look."""

    def __init__(self) -> None:
        self._last: Hashable = None
        self._alike = self._planned = 0

    def look(self, _: int, frame: FrameType | None) -> None:
        """Called by the timer.

        Raises
        ------
        ProtocolError
            If it is the same step once more.
        """
        step, planned = _step_under_way(frame)
        self._alike = self._alike + 1 if step is not None and step == self._last else 0
        fills_memory = self._alike > 0 and planned - self._planned > EVENTS_PLANNED
        self._last, self._planned = step, planned
        if self._alike >= LOOKS or fills_memory:
            looks, self._alike = self._alike, 0
            raise ProtocolError(
                f"this step has run for {looks * LOOKED_AT_EVERY_S:g} s of processor time without "
                "coming to a yield; a loop of a process needs a verb that takes time, waited for "
                "with yield"
            )


def _step_under_way(frame: FrameType | None) -> tuple[Hashable, int]:
    """Return a key of the algorithm's present step, and the number of planned events.

    None outside of a step, at tensor work, or while code runs that brings its own learning
    (`node.seeded`).
    """
    if foreign_code_runs():
        return None, 0
    while frame is not None:
        name = str(frame.f_globals.get("__name__", ""))
        if name.startswith(_AT_WORK):
            return None, 0
        if (name, frame.f_code.co_name) in _STEPS:
            found = frame.f_locals
            clock = found.get("self", found.get("clock"))
            step = id(frame), found.get("count"), getattr(clock, "now", None)
            return step, getattr(clock, "num_queued", 0)
        frame = frame.f_back
    return None, 0
