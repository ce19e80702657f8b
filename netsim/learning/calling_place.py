"""Where in an algorithm's file the simulator was called, for errors that name the line."""

from __future__ import annotations

import sys
from pathlib import Path
from types import CodeType, FrameType
from typing import NamedTuple

ALGORITHMS = ("algorithms.", "netsim.algorithms.", "netsim_algorithms_")
"""How the names of algorithm modules begin: in the repository, installed, and a user's own."""


class Place(NamedTuple):
    """A line of an algorithm's file.

    Attributes
    ----------
    code : CodeType
        The function that it is in.
    line : int
    """

    code: CodeType
    line: int

    @property
    def name(self) -> str:
        """`FILE:LINE`."""
        return f"{Path(self.code.co_filename).name}:{self.line}"

    def __str__(self) -> str:
        """` (FILE:LINE)`, to stand behind what a message says."""
        return f" ({self.name})"


def is_ours(frame: FrameType) -> bool:
    """Whether a frame is the simulator's own."""
    name = str(frame.f_globals.get("__name__", ""))
    return name.startswith("netsim.") and not name.startswith("netsim.algorithms.")


def place_of(frame: FrameType) -> Place:
    """Where a frame is."""
    return Place(frame.f_code, frame.f_lineno)


def calling_place() -> Place | None:
    """The line that has called the simulator; None if none has."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and is_ours(frame):
        frame = frame.f_back
    return None if frame is None else place_of(frame)


def calling_line() -> str:
    """` (FILE:LINE)` of the algorithm that has called the simulator; empty if none has."""
    return str(calling_place() or "")
