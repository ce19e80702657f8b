"""One episode: a run that pauses wherever a node asks for a decision.

The run plays in a thread of its own, of which and of the caller's only one goes on at a time: it
plays from one decision to the next while the caller waits.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any

import torch

from netsim.node.decisions import Abandoned, Agent, Decision, Totals

_guard = threading.Lock()
_callers: list[int] = []
"""For each episode under way the number of torch's threads before it began."""


def _compute_in_one_thread() -> None:
    """Let the caller's networks compute in one thread, as the run does, while episodes play."""
    with _guard:
        _callers.append(_callers[0] if _callers else torch.get_num_threads())
        torch.set_num_threads(1)


def _compute_as_before() -> None:
    """Give the caller its threads back where no other episode plays."""
    with _guard:
        before = _callers.pop()
        if not _callers:
            torch.set_num_threads(before)


class Episode:
    """A run that is played decision by decision.

    Parameters
    ----------
    play : callable
        (agent) -> list of str; plays the run, asks `agent` for decisions, and gives its warnings.
    to_horizon : bool
        Whether the run goes on to its horizon where nothing is left to decide.

    Attributes
    ----------
    decision : Decision or None
        The one that waits for an answer; None once the episode is over.
    totals : Totals
        At this decision, or where the episode is over.
    finished : bool
        Whether nothing is left to decide, since the method has come to its end.
    warnings : list of str
        Those of a run that has come to its horizon.
    """

    def __init__(self, play: Callable[[Agent], list[str]], to_horizon: bool) -> None:
        self.decision: Decision | None = None
        self.warnings: list[str] = []
        self.totals = Totals(0.0, 0.0, 0.0, 0.0, 1.0)
        self.finished, self._ended, self._given_up = False, False, False
        self._play, self._to_horizon = play, to_horizon
        self._questions: SimpleQueue[Decision | BaseException | None] = SimpleQueue()
        self._answers: SimpleQueue[Any] = SimpleQueue()
        self._thread = threading.Thread(target=self._in_thread, name="netsim episode", daemon=True)
        self._process = os.getpid()
        _compute_in_one_thread()
        self._thread.start()
        self._next()

    def _in_thread(self) -> None:
        try:
            self.warnings = self._play(_Pausing(self))
        except Abandoned:
            pass
        except BaseException as error:
            self._questions.put(error)
            return
        self._questions.put(None)

    def ask(self, decision: Decision) -> Any:
        """Wait, in the run's thread, for the answer to a decision.

        Raises
        ------
        Abandoned
            If nobody is going to answer.
        """
        if not self._given_up:  # else a further node asks at the instant at which the run ends
            self._questions.put(decision)
            answer = self._answers.get()
            if answer is not Abandoned:
                return answer
            self._given_up = True
        raise Abandoned

    def finish(self, totals: Totals) -> None:
        """Note, in the run's thread, that nothing is left to decide.

        Raises
        ------
        Abandoned
            If the run does not go on to its horizon.
        """
        self.finished, self.totals = True, totals
        if not self._to_horizon:
            raise Abandoned

    def _next(self) -> None:
        self.decision = None  # it holds the run, which is freed where it ends
        found = self._questions.get()
        self._ended = found is None or isinstance(found, BaseException)
        if self._ended:
            _compute_as_before()
        if isinstance(found, BaseException):
            self._thread.join()
            raise found
        self.decision = found
        if found is not None:
            self.totals = found.totals

    def answer(self, action: Any) -> None:
        """Play on with an action, to the next decision or to the end.

        Raises
        ------
        ProtocolError
            If the action is not in the decision's space; the decision still waits.
        NetsimError
            If the run fails; the episode is over.
        """
        assert self.decision is not None
        self.decision.checked(action)
        self._answers.put(action)
        self._next()

    @property
    def is_here(self) -> bool:
        """True in the process in which it began: threads are not there in one forked from it."""
        return self._process == os.getpid()

    def close(self) -> None:
        """End the run where it is; nothing happens if it has ended, or is another process's."""
        if not self.is_here:
            return
        if not self._ended:
            self._ended, self.decision = True, None
            self._answers.put(Abandoned)
            self._questions.get()
            _compute_as_before()
        self._thread.join()


class _Pausing:
    """The agent of a run that pauses at each decision."""

    def __init__(self, episode: Episode) -> None:
        self._episode = episode

    def __call__(self, decision: Decision) -> Any:
        return self._episode.ask(decision)

    def finished(self, totals: Totals) -> None:
        """End the episode: no decider has a process any more."""
        self._episode.finish(totals)

    def ended(self, totals: Totals) -> None:
        """Keep what the run has come to, unless the episode was over before."""
        if not self._episode.finished:
            self._episode.totals = totals
