"""The line of progress under a call from Python, in a notebook's output or on standard error."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any

from netsim.engine.runner import Watch
from netsim.terminal.progress import Watcher, score_of, words_of

if TYPE_CHECKING:
    from netsim.engine.progress import Progress

_WRITTEN_EVERY_S = 0.5
"""Wall time between two writings of the line."""


@contextmanager
def line(shows: bool) -> Iterator[Watch | None]:
    """Open a line that shows progress, or give None if nothing is to be shown."""
    if not shows:
        yield None
        return
    told = _Line(_notebook_line() or _stderr_line())
    try:
        yield told
    finally:
        told.end()
        told.write_ended()


class _Line(Watcher):
    """Writer of the progress line; algorithms that have ended stand before it."""

    def __init__(self, write: Callable[[str, bool], None]) -> None:
        super().__init__(None)
        self._write = write
        self._ended: list[str] = []
        self._written_s = 0.0

    def show(self, name: str, step: "Progress") -> None:
        if time.monotonic() >= self._written_s + _WRITTEN_EVERY_S:
            self._write(" | ".join([*self._ended, f"{name}: {words_of(step)}"]), False)
            self._written_s = time.monotonic()

    def show_end(self, name: str, last: "Progress") -> None:
        self._ended.append(_ending(name, last))

    def write_ended(self) -> None:
        """Write the line for the last time."""
        if self._ended:
            self._write(" | ".join(self._ended), True)


def _ending(name: str, step: "Progress") -> str:
    score = "" if step.score is None else f", {score_of(step)}"
    return f"{name}: {step.virtual_s:,.4g} s in {step.wall_s:.1f} s{score}"


def _notebook_line() -> Callable[[str, bool], None] | None:
    """Return a writer into the output of the running notebook cell; None outside of notebooks."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    if shell is None or not hasattr(shell, "kernel"):
        return None
    display = import_module("IPython.display").display
    shown: list[Any] = []

    def write(text: str, last: bool) -> None:
        bundle = {"text/plain": text}
        if shown:
            shown[0].update(bundle, raw=True)
        else:
            shown.append(display(bundle, raw=True, display_id=True))

    return write


def _stderr_line() -> Callable[[str, bool], None]:
    width = 0

    def write(text: str, last: bool) -> None:
        nonlocal width
        with suppress(OSError, ValueError, AttributeError):  # its reader has gone, or it is closed
            sys.stderr.write("\r" + text.ljust(width) + ("\n" if last else ""))
            sys.stderr.flush()
        width = len(text)

    return write
