"""A route in space: straight from waypoint to waypoint at one speed, as autopilots fly.

With s = v t along the route, and its length S: at s, in a loop at s mod S. Climbing takes its time:
distances are those in space (MAVLink mission protocol, MAV_CMD_NAV_WAYPOINT).
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from netsim.registry import Finite, NonNegative
from netsim.rng import Streams
from netsim.topology.mobility import Mobility, Speed, Track
from netsim.units import NS_PER_S


class Waypoints(Mobility):
    """All nodes fly one route, heights included; the placement's own places are not used.

    Attributes
    ----------
    waypoints_m
        Places along the route, [x, y, height above the ground]. Example: `[[0.0, 0.0, 50.0],
        [300.0, 0.0, 80.0]]`
    m_per_s
        Speed in space.
    loop
        Whether the route leads from its last waypoint back to the first, for ever; otherwise nodes
        stay at the last one.
    phase
        Beginning of a node on the route: at a place drawn for each ("random"), or at the first
        waypoint ("aligned").
    """

    states_heights: ClassVar[bool] = True
    kind: Literal["waypoints"] = "waypoints"
    waypoints_m: Annotated[
        tuple[tuple[Finite, Finite, NonNegative], ...], Field(min_length=2, max_length=10_000)
    ]
    m_per_s: Speed = 10.0
    loop: bool = True
    phase: Literal["random", "aligned"] = "random"

    @model_validator(mode="after")
    def _leads_somewhere(self) -> Self:
        if len(set(self.waypoints_m)) < 2:
            raise ValueError("waypoints_m: all are one place; give two that differ")
        return self

    def track(
        self, start_m: NDArray[np.float64], radius_m: float, streams: Streams, folder: Path | None
    ) -> Track | None:
        points = [*self.waypoints_m, self.waypoints_m[0]] if self.loop else self.waypoints_m
        shares = np.zeros(len(start_m))
        if self.phase == "random":
            shares = streams.uniforms("waypoints", counters=np.arange(len(start_m)))
        return _Route(np.array(points), shares, self.m_per_s, self.loop)


class _Route:
    """All nodes on one route.

    Parameters
    ----------
    points_m : (P, 3) float64
    shares : (N,) float64
        Of the route that nodes have behind them at time 0.
    m_per_s : float
    loop : bool
    """

    def __init__(
        self,
        points_m: NDArray[np.float64],
        shares: NDArray[np.float64],
        m_per_s: float,
        loop: bool,
    ) -> None:
        legs_m = np.linalg.norm(np.diff(points_m, axis=0), axis=1)
        self._points_m, self._loop = points_m, loop
        self._behind_m = np.concatenate([[0.0], np.cumsum(legs_m)])
        self._start_m = shares * self._behind_m[-1]
        self.fastest_m_per_s = m_per_s
        self.height_span_m = float(points_m[:, 2].min()), float(points_m[:, 2].max())

    def at(self, nodes: Sequence[int], time_ns: int) -> NDArray[np.float64]:
        """Positions [m] of some nodes at one instant; shape (len(nodes), 2)."""
        along_m = self._along_m(nodes, time_ns)
        return np.stack([self._axis(along_m, 0), self._axis(along_m, 1)], axis=1)

    def heights_m(self, nodes: Sequence[int], time_ns: int) -> NDArray[np.float64]:
        """Heights above the ground [m] of some nodes at one instant; shape (len(nodes),)."""
        return self._axis(self._along_m(nodes, time_ns), 2)

    def _along_m(self, nodes: Sequence[int], time_ns: int) -> NDArray[np.float64]:
        gone_m = self._start_m[list(nodes)] + self.fastest_m_per_s * time_ns / NS_PER_S
        return np.asarray(gone_m % self._behind_m[-1] if self._loop else gone_m)

    def _axis(self, along_m: NDArray[np.float64], axis: int) -> NDArray[np.float64]:
        return np.interp(along_m, self._behind_m, self._points_m[:, axis])
