"""Origins: which job of which node computed a value, and from which values.

Kept for as long as somebody may ask from whom a node has a model that is not finite.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol
from weakref import ref as weak

_MOST_GENERATIONS = 8
"""So far back origins are kept where no training says that values were sound."""


class Described(Protocol):
    """The work of a job."""

    def describe(self) -> str:
        """The work in a few words."""


class Origin:
    """The job that computed a value, and the values that it read.

    Parameters
    ----------
    work : Described
    node : int
        The node that asked for it.
    time_ns : int
        When it did.
    read : iterable of Origin or None
        Of the values that it read; None of values that were given.
    cells : tuple of weak references to cells
        Its results.

    Attributes
    ----------
    sources : list of Origin
        Each once; empty as soon as the result is known to be sound.
    is_sound : bool or None
        Whether the first result is a sound model; None: not known.
    """

    __slots__ = ("cells", "generation", "is_sound", "node", "sources", "time_ns", "work")

    def __init__(
        self,
        work: Described,
        node: int,
        time_ns: int,
        read: Iterable[Origin | None],
        cells: tuple[weak[Any], ...],
    ) -> None:
        self.work, self.node, self.time_ns, self.cells = work, node, time_ns, cells
        self.is_sound: bool | None = None
        sources = list(dict.fromkeys(one for one in read if one is not None))
        generation = 1 + max((one.generation for one in sources), default=-1)
        if generation > _MOST_GENERATIONS:
            sources, generation = [source._without_sources() for source in sources], 1
        self.sources = sources
        self.generation: int = generation

    def _without_sources(self) -> Origin:
        """Copy the origin without its sources."""
        found = Origin(self.work, self.node, self.time_ns, (), self.cells)
        found.is_sound = self.is_sound
        return found

    def note_soundness(self, is_sound: bool) -> None:
        """Note whether the first result is sound; if so, drop the sources."""
        self.is_sound = is_sound
        if is_sound:
            self.sources = []
