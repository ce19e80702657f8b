"""Nodes go round in circles about where they start."""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from netsim.registry import Positive
from netsim.rng import Streams
from netsim.topology.mobility import Mobility, Track
from netsim.units import to_s


class Starting(Mobility):
    """A circle a node, each from a phase of its own.

    Attributes
    ----------
    circle_m : float
        Radius of the circles [m].
    speed_m_per_s : float
        Along them [m/s].
    """

    kind: Literal["starting"] = "starting"
    circle_m: Positive = 5.0
    speed_m_per_s: Positive = 1.0

    def track(
        self, start_m: NDArray[np.float64], radius_m: float, streams: Streams, folder: Path | None
    ) -> Track:
        """The trajectories as functions of time; see `netsim.topology.mobility.Mobility`."""
        phases = [streams.uniform("mobility/starting", node) for node in range(len(start_m))]
        return _Circles(start_m, np.array(phases), self.circle_m, self.speed_m_per_s)


class _Circles:
    """Positions of nodes that go round in circles."""

    def __init__(
        self,
        start_m: NDArray[np.float64],
        phases: NDArray[np.float64],
        circle_m: float,
        speed_m_per_s: float,
    ) -> None:
        self.fastest_m_per_s = speed_m_per_s
        self._start_m, self._phases, self._circle_m = start_m, phases, circle_m

    def at(self, nodes: Sequence[int], time_ns: int) -> NDArray[np.float64]:
        """Positions [m] of some nodes at one instant; shape (len(nodes), 2)."""
        own = np.asarray(nodes, dtype=int)
        turned = to_s(time_ns) * self.fastest_m_per_s / self._circle_m
        angle = 2.0 * np.pi * self._phases[own] + turned
        around = np.stack([np.cos(angle), np.sin(angle)], axis=1)
        places: NDArray[np.float64] = self._start_m[own] + self._circle_m * around
        return places
