"""Circles, which fixed-wing aircraft fly to stay near a place.

The loiter of Zeng and Zhang, "Energy-Efficient UAV Communication With Trajectory Optimization",
IEEE Trans. Wireless Commun. 2017: at a height of its own a node goes round a centre c with radius r
at a speed v: c + r (cos, sin)(p + v t / r), p its phase.
"""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from netsim.registry import Positive
from netsim.rng import Streams
from netsim.topology.mobility import Mobility, Speed, Track
from netsim.units import NS_PER_S


class Circle(Mobility):
    """Each node circles around where it is placed, at the height that `[nodes]` gives it.

    Attributes
    ----------
    circle_m
        Radius of the circle.
    m_per_s
        Speed.
    phase
        Beginning of a node on its circle: drawn for each ("random"), or all to the east of their
        centres ("aligned").
    """

    kind: Literal["circle"] = "circle"
    circle_m: Positive = 50.0
    m_per_s: Speed = 10.0
    phase: Literal["random", "aligned"] = "random"

    def track(
        self, start_m: NDArray[np.float64], radius_m: float, streams: Streams, folder: Path | None
    ) -> Track | None:
        phases = np.zeros(len(start_m))
        if self.phase == "random":
            phases = streams.uniforms("circle", counters=np.arange(len(start_m)))
        return _Round(start_m, 2.0 * math.pi * phases, self.circle_m, self.m_per_s)


class _Round:
    """Circles of all nodes.

    Parameters
    ----------
    centres_m : (N, 2) float64
    phases : (N,) float64
        Angles at time 0.
    circle_m, m_per_s : float
        Radius and speed.
    """

    def __init__(
        self,
        centres_m: NDArray[np.float64],
        phases: NDArray[np.float64],
        circle_m: float,
        m_per_s: float,
    ) -> None:
        self._centres_m, self._phases, self._circle_m = centres_m, phases, circle_m
        self.fastest_m_per_s = m_per_s

    def at(self, nodes: Sequence[int], time_ns: int) -> NDArray[np.float64]:
        """Positions [m] of some nodes at one instant; shape (len(nodes), 2)."""
        which = list(nodes)
        turned = self.fastest_m_per_s * time_ns / NS_PER_S / self._circle_m
        angle = self._phases[which] + turned
        arm_m = self._circle_m * np.stack([np.cos(angle), np.sin(angle)], axis=1)
        return np.asarray(self._centres_m[which] + arm_m)
