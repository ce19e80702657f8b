"""Find the line of an algorithm's file that called the simulator, for errors."""

from __future__ import annotations

import sys
from pathlib import Path
from types import CodeType, FrameType

ALGORITHMS = ("algorithms.", "netsim.algorithms.", "netsim_components_")
"""Prefixes of algorithm modules: in the repository, installed, and a user's own."""

Place = tuple[CodeType, int]
"""A function of an algorithm, and how far in it: finding the line takes time, so `line_of` does."""


def is_ours(frame: FrameType) -> bool:
    """Return whether a frame is the simulator's own."""
    name: str = frame.f_globals.get("__name__", "")
    return name.startswith("netsim.") and not name.startswith("netsim.algorithms.")


def place_of(frame: FrameType) -> Place:
    """Return the file and line of a frame."""
    return frame.f_code, frame.f_lasti


def line_of(place: Place) -> str:
    """`FILE:LINE` of a place."""
    code, instruction = place
    lines = (line for start, end, line in code.co_lines() if start <= instruction < end)
    return f"{Path(code.co_filename).name}:{next(lines, code.co_firstlineno)}"


def verb_place() -> Place | None:
    """The place of an algorithm that has called a verb; for the function that does the verb's work.

    None if no algorithm is below on the stack.
    """
    frame: FrameType | None = sys._getframe(3)  # this function, its caller, the verb, who called it
    while frame is not None and is_ours(frame):
        frame = frame.f_back
    return None if frame is None else (frame.f_code, frame.f_lasti)


def calling_line() -> str:
    """` (FILE:LINE)` of the algorithm that has called the simulator; empty if none has."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and is_ours(frame):
        frame = frame.f_back
    return "" if frame is None else f" ({line_of(place_of(frame))})"
