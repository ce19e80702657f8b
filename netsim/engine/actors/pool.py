"""The actors of a run as its event loop calls them, wherever they are."""

from __future__ import annotations

from typing import Any, Protocol

from netsim.engine.actors.actor import About
from netsim.errors import ComputeError, one_line

TOLD = 240
"""Letters of an error of the cluster's that a message has; it may go on for pages."""

Handle = Any
"""Stands for what an actor will return; may be an argument of another actor's call."""


class LostError(Exception):
    """An actor is gone, or a row that was to come from one."""


def given_up(tries: int, last: LostError | None) -> ComputeError:
    """Return the error of a run whose actors are lost again and again.

    Parameters
    ----------
    tries : int
    last : LostError or None
        Of which the beginning is told.
    """
    return ComputeError(
        f"actors were lost {tries} times in a row, perhaps for want of memory; netsim resume goes "
        f"on from the last checkpoint; the last time: {one_line(str(last)[:TOLD])}"
    )


class Pool(Protocol):
    """Actors of one run, by number.

    Attributes
    ----------
    size : int
    about : list of About
        Each in words.
    at_once_bytes : int
        Rows that go to one actor together; a job that reads more gets them in parts.
    """

    size: int
    at_once_bytes: int

    @property
    def about(self) -> list[About]: ...

    def call(self, actor: int, method: str, *given: Any) -> Handle:
        """Begin a call of a `ShardActor`; those of one actor happen in order.

        Parameters
        ----------
        actor : int
        method : str
        *given : object
            Its arguments; a `Handle` stands for what that call returns.
        """

    def is_ready(self, handle: Handle) -> bool:
        """Return whether a call has ended."""

    def get(self, handle: Handle) -> Any:
        """Return what a call has returned, once it has ended.

        Raises
        ------
        LostError
        """

    def replaced(self) -> list[int]:
        """Begin a new actor in place of each that is gone; their numbers."""

    def close(self) -> None:
        """End all of them."""
