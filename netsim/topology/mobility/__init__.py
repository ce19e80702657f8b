"""Positions of nodes over time; one mobility model a file, its name is its `kind`.

A position is a function of (seed, node, time): however often and in whatever order it is asked
for, it is the same.
"""

from abc import abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, ClassVar, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from netsim.registry import Component, Plausible
from netsim.rng import Streams
from netsim.units import SPEED_OF_LIGHT_M_PER_S


class Track(Protocol):
    """The trajectories of all nodes.

    Attributes
    ----------
    fastest_m_per_s : float
        No node is ever faster.
    """

    fastest_m_per_s: float

    def at(self, nodes: Sequence[int], time_ns: int) -> NDArray[np.float64]:
        """Positions [m] of some nodes at one instant; (len(nodes), 2), in space (len(nodes), 3)."""


@runtime_checkable
class SpaceTrack(Track, Protocol):
    """Trajectories in space, (len(nodes), 3), around a body that blocks the sight.

    Attributes
    ----------
    step_m : float
        Motion over which no distance that occurs changes noticeably.
    """

    step_m: float

    def in_sight(
        self, src: int, others: NDArray[np.int64], from_ns: int, to_ns: int
    ) -> NDArray[np.bool_]:
        """Mask of the nodes that may have sight of `src` at some instant of an interval.

        Parameters
        ----------
        src : int
        others : (n,) int64
        from_ns, to_ns : int

        Returns
        -------
        (n,) bool
        """


@runtime_checkable
class StraightTrack(Track, Protocol):
    """Trajectories that are made of straight legs, each at a constant speed."""

    def knots(self, node: int, until_ns: int) -> list[tuple[int, float, float]]:
        """Return the turns of a node: (time [ns], x [m], y [m]), the last at `until_ns`."""


@runtime_checkable
class HighTrack(Track, Protocol):
    """Trajectories whose heights change, too.

    Attributes
    ----------
    height_span_m : (float, float)
        No node is ever lower or higher [m].
    """

    height_span_m: tuple[float, float]

    def heights_m(self, nodes: Sequence[int], time_ns: int) -> NDArray[np.float64]:
        """Heights above the ground [m] of some nodes at one instant; shape (len(nodes),)."""


Speed = Annotated[
    float,
    Field(gt=0, le=SPEED_OF_LIGHT_M_PER_S, allow_inf_nan=False),
    Plausible(most=350.0, why="faster than sound"),
]
"""In m/s."""


class Mobility(Component):
    """Base of the mobility models.

    Attributes
    ----------
    states_places : bool
        Whether it says where all nodes are, so that `[nodes]` may not.
    states_heights : bool
        Whether it says how high its nodes are.
    """

    states_places: ClassVar[bool] = False
    states_heights: ClassVar[bool] = False

    def turn_every_s(self, radius_m: float) -> float | None:
        """About how long a node goes straight on in a disc [s]; None: a file says."""
        return None

    @abstractmethod
    def track(
        self, start_m: NDArray[np.float64], radius_m: float, streams: Streams, folder: Path | None
    ) -> Track | None:
        """The trajectories of the nodes; None if none of them ever moves.

        Parameters
        ----------
        start_m : (N, 2) array
            Where the scenario places them; a model that has a stationary distribution of its own
            starts from that instead.
        radius_m : float
            Radius of the disc around the origin in which they move.
        streams : Streams
            The only randomness.
        folder : Path or None
            The data folder, where files may lie.

        Raises
        ------
        ScenarioError
            If the placement does not fit, or a file is not there or not what it should be.
        """
