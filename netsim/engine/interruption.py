"""Ctrl-C, SIGTERM and SIGHUP while a run is played: it ends where it can go on.

SIGHUP is that of a terminal that closes; `nohup` lets it be ignored.
"""

import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

ENDS = tuple(
    number for name in ("SIGTERM", "SIGHUP") if (number := getattr(signal, name, None)) is not None
)
"""Signals that end a process without a word, unless it handles them."""

USUAL: dict[int, Any] = {
    signal.SIGINT: signal.default_int_handler,
    **dict.fromkeys(ENDS, signal.SIG_DFL),
}
"""Usual handlers of the signals, before anybody has changed them."""


class Interrupted(KeyboardInterrupt):
    """End of a run between two events, on request.

    Attributes
    ----------
    exit_code : int
        Of the process: 130 after Ctrl-C, 143 after SIGTERM, 129 after SIGHUP.
    """

    def __init__(self, number: int) -> None:
        super().__init__(f"by {signal.Signals(number).name}")
        self.exit_code = 128 + number


class Interruption:
    """Request to end a run.

    Attributes
    ----------
    signal : int or None
        The signal that asked.
    when_asked : callable
        Called at once.
    """

    def __init__(self) -> None:
        self.signal: int | None = None
        self.when_asked: Callable[[], object] = lambda: None

    def ask(self, number: int, frame: FrameType | None = None) -> None:
        """Take a signal: the first one asks, the second one stops at once.

        Raises
        ------
        Interrupted
            At the second one.
        """
        if self.signal is not None:
            raise Interrupted(number)
        self.signal = number
        self.when_asked()

    def require_none(self) -> None:
        """End the run if it has been asked to.

        Raises
        ------
        Interrupted
        """
        if self.signal is not None:
            raise Interrupted(self.signal)


@contextmanager
def asked_by_signals() -> Iterator[Interruption]:
    """Let the signals of `USUAL` ask; those that somebody else handles or ignores stay as they are.

    Raises
    ------
    Interrupted
        At the end, if a signal came too late to end the run.
    """
    interruption = Interruption()
    with _handled(interruption.ask, USUAL):
        yield interruption
    interruption.require_none()


@contextmanager
def raised_at_once() -> Iterator[None]:
    """Let a signal raise Interrupted at once, unless `asked_by_signals` is open.

    A process that plays several runs hears it between two of them, and while it plans or builds.

    Raises
    ------
    Interrupted
        Also where a library has made another error of it, as pydantic does.
    """
    raising = _Raising()
    with _handled(raising, USUAL):
        try:
            yield
        except Exception as error:
            if raising.signal is None:
                raise
            stop = Interrupted(raising.signal)
            stop.__notes__ = getattr(error, "__notes__", [])
            raise stop from error


class _Raising:
    """Handler that raises at once, and knows the signal that it has raised for."""

    def __init__(self) -> None:
        self.signal: int | None = None

    def __call__(self, number: int, frame: FrameType | None) -> None:
        self.signal = number
        raise Interrupted(number)


@contextmanager
def _handled(handler: Callable[..., None], numbers: Iterable[int]) -> Iterator[None]:
    """Handle signals, those alone that nobody else handles or ignores, by the main thread."""
    before: dict[int, Any] = {}
    if threading.current_thread() is threading.main_thread():
        before = {number: signal.getsignal(number) for number in numbers}
    taken = {n: was for n, was in before.items() if was is USUAL[n] or isinstance(was, _Raising)}
    for number in taken:
        signal.signal(number, handler)
    try:
        yield
    finally:
        for number, was in taken.items():
            signal.signal(number, was)
