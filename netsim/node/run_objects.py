"""Objects that exist once in a run, whichever nodes ask for them: an app, an agent, a library."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")


class RunObjects:
    """Objects of one run by the function that makes each.

    They belong to the run and not to the process: two runs at a time have two of them.
    """

    def __init__(self) -> None:
        self._made: dict[Callable[..., Any], Any] = {}

    def once(self, make: Callable[..., T], *arguments: Any) -> T:
        """Return what `make(*arguments)` gave at its first call in this run.

        Parameters
        ----------
        make : callable
            A class or a function of a module; it is what the object is found by.
        *arguments
            Read at the first call only.
        """
        if make not in self._made:
            self._made[make] = make(*arguments)
        found: T = self._made[make]
        return found

    def notify_ended(self) -> None:
        """Call `ended()` of each object that has it: the run has come to its end."""
        for one in self._made.values():
            listener = getattr(one, "ended", None)
            if callable(listener):
                listener()

    def close(self) -> None:
        """Call `close()` of each object that has one, the last one made first.

        Raises
        ------
        Exception
            What the first of them raised that did; the others are closed all the same.
        """
        failed: list[BaseException] = []
        while self._made:
            _, one = self._made.popitem()
            close = getattr(one, "close", None)
            if callable(close):
                try:
                    close()
                except Exception as error:
                    failed.append(error)
        if failed:
            raise failed[0]
