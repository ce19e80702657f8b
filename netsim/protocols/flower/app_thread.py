"""A ServerApp's thread, of which and the simulation only one runs at a time.

The app asks by requests; the thread stands still until the simulation has answered. It touches
nothing of the simulation, so that what it does follows from its answers alone.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from netsim.errors import ProtocolError
from netsim.learning.global_draws import KeptGenerators
from netsim.protocols.flower.calling import Surroundings
from netsim.protocols.flower.virtual_time import VirtualTime

PATIENCE_S = 5.0
"""Wall time that a thread gets to end when its run is over."""


@dataclass(frozen=True)
class Sleep:
    """Let so long pass."""

    duration_ns: int


@dataclass(frozen=True)
class NodeIds:
    """Answered by the ids of the nodes in reach."""


@dataclass(frozen=True)
class Push:
    """Send Flower's messages; answered by their ids."""

    messages: list[Any]


@dataclass(frozen=True)
class Pull:
    """Answered by the replies that are there; an empty answer takes time."""

    ids: list[str]


@dataclass(frozen=True)
class Wait:
    """Wait for the replies to some messages.

    Attributes
    ----------
    ids : list of str
    until_ns : int or None
        The latest end; None: that of the messages alone.
    """

    ids: list[str]
    until_ns: int | None


@dataclass(frozen=True)
class WaitForSome:
    """Wait until one of several waits has ended; answered by the replies of each that has."""

    waits: list[Wait]


Request = Sleep | NodeIds | Push | Pull | Wait | WaitForSome


class Abandoned(BaseException):
    """Ends an app whose run is over."""


class AppThread:
    """The thread of one app.

    Parameters
    ----------
    play : callable
        The app.
    time : VirtualTime
    generators : KeptGenerators
        The app's global random numbers.
    surroundings : Surroundings
        Its working folder, environment and search path.
    limit_s : float or None
        Wall time after which it must have come to a request.
    """

    def __init__(
        self,
        play: Callable[[], object],
        time: VirtualTime,
        generators: KeptGenerators,
        surroundings: Surroundings,
        limit_s: float | None,
    ) -> None:
        self._play, self._time, self._generators = play, time, generators
        self._surroundings, self._limit_s = surroundings, limit_s
        self._turns = dict[int, threading.Semaphore]()
        self._to_clock = threading.Semaphore(0)
        self._running: int | None = None
        self._asker = 0
        self._request: Request | None = None
        self._answer: Any = None
        self._failed: BaseException | None = None
        self._over = self._done = False
        self._thread = threading.Thread(target=self._run_app, daemon=True, name="ServerApp")

    # -- on the clock's side ---------------------------------------------------------------------

    def go_on(self, answer: object = None) -> Request | None:
        """Let the app run to its next request; None: it has ended.

        Raises
        ------
        BaseException
            What the app raised.
        ProtocolError
            If it has not come to one within the limit.
        """
        self._answer = answer
        with self._generators.in_force(), self._surroundings.in_force():
            if self._thread.ident is None:
                self._thread.start()
            else:
                self.wakes(self._asker)()
            if not self._to_clock.acquire(timeout=self._limit_s):
                raise ProtocolError(
                    "the ServerApp has neither asked the Grid for anything, slept nor ended for "
                    f"{self._limit_s:g} s of wall time; lengthen call_limit_s of [algorithm] if "
                    "it computes for so long"
                )
        if self._failed is not None:
            raise self._failed
        return self._request

    @property
    def has_ended(self) -> bool:
        """True if the app has returned or raised."""
        return self._done

    def close(self) -> None:
        """End the app if it has not ended."""
        self._over = True
        for turn in list(self._turns.values()):
            turn.release()
        if self._thread.ident is not None:
            self._thread.join(PATIENCE_S)

    # -- in the app's threads --------------------------------------------------------------------

    def ask(self, request: Request) -> Any:
        """Wait for the answer to a request.

        Raises
        ------
        ProtocolError
            In a thread that the app started by itself.
        Abandoned
            When the run is over.
        """
        self._require_turn()
        self._request, self._asker = request, threading.get_ident()
        self.lend_turn(self._to_clock.release)
        return self._answer

    def make_part(self, play: Callable[[], object]) -> AppPart:
        """Make a part of the app, which runs until it waits when it is resumed."""
        self._require_turn()
        return AppPart(self, play)

    @property
    def part(self) -> AppPart | None:
        """The part that runs; None: the app itself does, or another thread calls."""
        thread = threading.current_thread()
        return thread if isinstance(thread, AppPart) and thread.app is self else None

    def _require_turn(self) -> None:
        if self._over:
            raise Abandoned
        if threading.get_ident() != self._running:
            error = ProtocolError(
                f"thread {threading.current_thread().name} of the ServerApp calls the Grid or "
                "sleeps while the app's own thread runs on: virtual time has one course, so only "
                "the thread that runs main may; send to many by one send_and_receive, or by "
                "push_messages and pull_messages"
            )
            self._failed = error
            raise error

    def begin_turn(self) -> None:
        """Take the turn that the calling thread was started with."""
        self._turns[threading.get_ident()] = threading.Semaphore(0)
        self._take_turn()

    def _take_turn(self) -> None:
        self._running = threading.get_ident()
        self._time.runs_here(self._sleep)

    def give_turn(self, wake: Callable[[], object]) -> None:
        """Stop being the one that runs, and wake another."""
        self._running = None
        self._time.runs_nowhere()
        wake()

    def lend_turn(self, wake: Callable[[], object]) -> None:
        """Give the turn to another thread, and wait for it to come back.

        Raises
        ------
        Abandoned
            When the run is over.
        """
        turn = self._turns[threading.get_ident()]
        self.give_turn(wake)
        turn.acquire()
        if self._over:
            raise Abandoned
        self._take_turn()

    def wakes(self, ident: int) -> Callable[[], object]:
        """Return a function that wakes a thread that has lent its turn."""
        return self._turns[ident].release

    def _sleep(self, duration_ns: int) -> None:
        if duration_ns < 0:
            raise ValueError("sleep length must be non-negative")
        if (part := self.part) is not None:
            part.sleep(duration_ns)
        else:
            self.ask(Sleep(duration_ns))

    def _run_app(self) -> None:
        """Run the app, and hand over when it has ended."""
        try:
            self.begin_turn()
            self._play()
        except Abandoned:
            return
        except BaseException as error:
            if self._failed is None:
                self._failed = error
        self._request, self._done = None, True
        self.give_turn(self._to_clock.release)


class AppPart(threading.Thread):
    """A part of an app that waits for replies while others of it wait, too.

    Parameters
    ----------
    app : AppThread
    play : callable

    Attributes
    ----------
    waits_for : Wait or None
        For what it waits; None: it has ended.
    """

    def __init__(self, app: AppThread, play: Callable[[], object]) -> None:
        super().__init__(daemon=True, name="part of the ServerApp")
        self.app, self._play = app, play
        self.waits_for: Wait | None = None
        self._caller = 0
        self._answer: Any = None

    def go_on(self, answer: object = None) -> None:
        """Let it run until it waits or ends; called by the app's own thread."""
        self._answer, self._caller = answer, threading.get_ident()
        self.app.lend_turn(self.start if self.ident is None else self.app.wakes(self.ident))

    def ask(self, wait: Wait) -> Any:
        """Wait for replies; called by the part itself."""
        self.waits_for = wait
        self.app.lend_turn(self.app.wakes(self._caller))
        self.waits_for = None
        return self._answer

    def sleep(self, duration_ns: int) -> None:
        """Refuse to sleep."""
        raise ProtocolError(
            "a strategy or client proxy of Flower's legacy server sleeps while others wait for "
            f"their clients ({duration_ns / 1e9:g} s); sleep between rounds, or in the client"
        )

    def run(self) -> None:
        """Play, and give the turn back."""
        try:
            self.app.begin_turn()
            self._play()
        except Abandoned:
            return
        self.waits_for = None
        self.app.give_turn(self.app.wakes(self._caller))
