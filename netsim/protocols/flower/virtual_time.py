"""Time as a Flower app sees it: `time`'s functions give virtual time where the app's code calls.

They do so only in the thread in which the app runs, and only for callers outside the standard
library: its queues and locks wait in real time.
"""

from __future__ import annotations

import functools
import sys
import threading
import time
import timeit
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

from netsim.units import NS_PER_S, to_ns

EPOCH_S = 1_767_225_600
"""Virtual time 0 as the app's clock has it: the beginning of 2026, UTC."""

Sleeps = Callable[[int], None]
"""Lets so many nanoseconds pass."""


class Changes:
    """Attributes of modules and classes that are changed, and come back."""

    def __init__(self) -> None:
        self._before: list[tuple[Any, str, Any]] = []

    def set(self, owner: Any, name: str, value: Any) -> None:
        """Give an attribute another value.

        Parameters
        ----------
        owner : object
            A module or class that has it.
        name : str
        value : object
        """
        self._before.append((owner, name, vars(owner)[name]))
        setattr(owner, name, value)

    def close(self) -> None:
        """Give all attributes the values that they had, the last one changed first."""
        while self._before:
            owner, name, value = self._before.pop()
            setattr(owner, name, value)


class VirtualTime:
    """Stand-ins for the functions of `time`.

    Parameters
    ----------
    now_ns : callable
        Virtual time [ns].
    changes : Changes
        By which they are set, and come back.
    """

    def __init__(self, now_ns: Callable[[], int], changes: Changes) -> None:
        self._clock_ns, self._changes = now_ns, changes
        self._thread: int | None = None
        self._sleep: Sleeps = lambda _: None
        self._began_ns: int | None = None
        self._slept_ns = 0
        epoch_ns = EPOCH_S * NS_PER_S
        virtual: dict[str, Callable[..., Any]] = {
            "sleep": lambda seconds: self._sleep(to_ns(seconds)),
            "time": lambda: (epoch_ns + self.now_ns()) / NS_PER_S,
            "time_ns": lambda: epoch_ns + self.now_ns(),
            **dict.fromkeys(("monotonic", "perf_counter"), lambda: self.now_ns() / NS_PER_S),
            **dict.fromkeys(("monotonic_ns", "perf_counter_ns"), self.now_ns),
        }
        self._stand_ins: dict[int, Callable[..., Any]] = {}
        for name, function in virtual.items():
            real = getattr(time, name)
            self._stand_ins[id(real)] = self._choose_clock(real, function)
            changes.set(time, name, self._stand_ins[id(real)])
        changes.set(timeit, "default_timer", self._stand_ins[id(timeit.default_timer)])
        self._reach_names()

    def now_ns(self) -> int:
        """Virtual time as the running code sees it [ns]."""
        began_ns = self._clock_ns() if self._began_ns is None else self._began_ns
        return began_ns + self._slept_ns

    def _choose_clock(
        self, real: Callable[..., Any], virtual: Callable[..., Any]
    ) -> Callable[..., Any]:
        @functools.wraps(real)
        def call_chosen(*arguments: Any) -> Any:
            if threading.get_ident() != self._thread:
                return real(*arguments)
            caller = str(sys._getframe(1).f_globals.get("__name__", ""))
            return (real if _is_library(caller) else virtual)(*arguments)

        return call_chosen

    def _reach_names(self) -> None:
        """Set them, too, where modules have taken the functions by name: `from time import sleep`.

        Modules that are loaded later take the stand-ins.
        """
        for module_name, module in list(sys.modules.items()):
            is_app = module_name == "__main__" or not _is_library(module_name)
            if not is_app or not isinstance(module, ModuleType):
                continue
            for name, value in list(vars(module).items()):
                if (stand_in := self._stand_ins.get(id(value))) is not None:
                    self._changes.set(module, name, stand_in)

    def runs_here(self, sleep: Sleeps) -> None:
        """Give virtual time to the calling thread alone, from now on."""
        self._thread, self._sleep, self._slept_ns = threading.get_ident(), sleep, 0

    def runs_nowhere(self) -> None:
        """Give real time to every thread."""
        self._thread = None

    @contextmanager
    def app_turn(self, at_ns: int | None = None) -> Iterator[Callable[[], int]]:
        """Let the app work in the calling thread; what it sleeps adds up.

        Parameters
        ----------
        at_ns : int, optional
            Virtual time at which it begins; by default, now.

        Yields
        ------
        callable
            Time that it has slept so far [ns].
        """

        def sleep(duration_ns: int) -> None:
            if duration_ns < 0:
                raise ValueError("sleep length must be non-negative")
            self._slept_ns += duration_ns

        self.runs_here(sleep)
        self._began_ns = at_ns
        try:
            yield lambda: self._slept_ns
        finally:
            self.runs_nowhere()
            self._began_ns, self._slept_ns = None, 0


def _is_library(module: str) -> bool:
    """Return whether a module is the standard library's or the simulator's."""
    top = module.partition(".")[0]
    return (top in sys.stdlib_module_names and top != "__main__") or top == "netsim"
