"""Energy that nodes take from their surroundings; one law a file, its name is its `kind`.

What a node harvests fills its battery, and what the full battery can't hold is spilled. A node
whose charge has fallen to `off_level` is off, as one that churn switches off, until it has risen to
`on_level`; then it goes on with what it had: its models, its processes, the local step it was at.
The charge of a node is linear between known instants, so that both are found, not looked for.

The power that a node harvests is a function of (seed, node, time).
"""

import math
from abc import abstractmethod
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, NamedTuple, Self

from pydantic import Field, model_validator

from netsim.registry import Component, Fraction, Plausible
from netsim.rng import Streams
from netsim.units import NS_PER_S

LISTED_AS = "energy.harvest"
"""Name of this family in `netsim list`: the scenario table that chooses from it."""


MOST_W = 1e6
"""Of one node. What a battery holds of much more is lost in the rounding of what is spilled."""

Power = Annotated[float, Field(ge=0, le=MOST_W), Plausible(most=1e4, why="it is in watt")]
"""Power that a node harvests [W]."""


class Piece(NamedTuple):
    """A stretch of constant power.

    Attributes
    ----------
    until_ns : int or None
        Where it ends; None: it has no end.
    watt : float
    """

    until_ns: int | None
    watt: float


class Harvest(Component):
    """Base of the laws.

    Attributes
    ----------
    start_level
        Part of `battery_j` that batteries hold at the start.
    off_level
        Part of `battery_j` at which a node goes off.
    on_level
        Part of `battery_j` from which a node that went off is on again.
    """

    start_level: Fraction = 1.0
    off_level: Fraction = 0.0
    on_level: Fraction = 0.1

    @model_validator(mode="after")
    def _goes_off_before_it_comes_back(self) -> Self:
        if self.off_level >= self.on_level:
            raise ValueError(
                f"off_level = {self.off_level:g} must be less than on_level = {self.on_level:g}"
            )
        return self

    @abstractmethod
    def pieces(
        self, nodes: Sequence[int], streams: Streams, folder: Path | None
    ) -> list[Iterator[Piece]] | None:
        """Powers of some nodes, from time 0 on; None: they harvest nothing, and stay off empty.

        Parameters
        ----------
        nodes : sequence of int
        streams : Streams
            The only randomness.
        folder : Path or None
            The data folder, where files may lie.

        Raises
        ------
        ScenarioError
            If a file is not there or not what it should be.
        """


class Supply:
    """The power that each node harvests.

    Parameters
    ----------
    law : Harvest
    pieces : sequence of iterator of Piece
        One a node, by ascending ends; the last may end, and then nothing is harvested.
    """

    def __init__(self, law: Harvest, pieces: Sequence[Iterator[Piece]]) -> None:
        self.law = law
        self._coming = list(pieces)
        self._known: list[list[Piece]] = [[] for _ in pieces]
        self._ends_ns: list[list[float]] = [[] for _ in pieces]

    def piece_at(self, node: int, time_ns: int) -> Piece:
        """The piece that holds an instant."""
        known, ends_ns = self._known[node], self._ends_ns[node]
        while not ends_ns or ends_ns[-1] <= time_ns:
            piece = next(self._coming[node], Piece(None, 0.0))
            known.append(piece)
            ends_ns.append(math.inf if piece.until_ns is None else piece.until_ns)
        return known[bisect_right(ends_ns, time_ns)]

    def joules(self, node: int, until_ns: int) -> float:
        """Energy [J] that a node is offered from time 0 to an instant."""
        total, now_ns = 0.0, 0
        while now_ns < until_ns:
            piece = self.piece_at(node, now_ns)
            ends_ns = until_ns if piece.until_ns is None else min(until_ns, piece.until_ns)
            total += piece.watt * (ends_ns - now_ns)
            now_ns = ends_ns
        return total / NS_PER_S


def supply(law: Harvest, nodes: int, streams: Streams, folder: Path | None) -> Supply | None:
    """Make the supply of nodes 0, 1, ... by a law; None: nothing.

    Parameters
    ----------
    law : Harvest
    nodes : int
        How many there are.
    streams : Streams
    folder : Path or None
        The data folder, where files may lie.

    Raises
    ------
    ScenarioError
        If a file is not there or not what it should be.
    """
    found = law.pieces(range(nodes), streams, folder)
    return None if found is None else Supply(law, found)


def slot_pieces(powers: Iterator[float], slot_ns: int) -> Iterator[Piece]:
    """Pieces of one length after each other."""
    for number, watt in enumerate(powers, start=1):
        yield Piece(number * slot_ns, watt)
