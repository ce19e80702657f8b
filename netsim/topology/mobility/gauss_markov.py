"""Gauss-Markov mobility: a velocity that is correlated with the previous one.

Source: Liang and Haas, IEEE/ACM Trans. Netw. 2003, eq. (2) with mean velocity 0, by axis:
v' = a v + sqrt(1 - a^2) sigma w, w standard normal. Each axis is stationary with variance sigma^2
and correlation a^n over n steps.
"""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import scipy
from numpy.typing import NDArray
from pydantic import Field

from netsim.errors import ScenarioError
from netsim.registry import Duration
from netsim.rng import Streams
from netsim.topology.mobility import Mobility, Speed, Track
from netsim.topology.mobility._ways import Knot, Ways
from netsim.units import to_ns

FASTEST_SIGMA = 6.0
"""Speeds are cut here, in sigma: one in 66 million is."""


class GaussMarkov(Mobility):
    """A velocity that is correlated with the last one, from the placement on.

    Nodes are reflected at the border of the disc of `nodes.radius_m`; uniform placement stays
    uniform.

    Attributes
    ----------
    mean_m_per_s
        Mean speed, sigma sqrt(pi / 2).
    memory
        a, correlation of a velocity with the one a step before.
    step_s
        Time from one velocity to the next.
    """

    kind: Literal["gauss_markov"] = "gauss_markov"
    mean_m_per_s: Speed = 1.0
    memory: Annotated[float, Field(ge=0, lt=1, allow_inf_nan=False)] = 0.75
    step_s: Annotated[Duration, Field(le=1e6)] = 1.0

    @property
    def sigma_m_per_s(self) -> float:
        """Standard deviation of the velocity along an axis."""
        return self.mean_m_per_s / math.sqrt(math.pi / 2)

    def turn_every_s(self, radius_m: float) -> float | None:
        return min(self.step_s, radius_m / self.mean_m_per_s)  # a new velocity, or the border

    def track(
        self, start_m: NDArray[np.float64], radius_m: float, streams: Streams, folder: Path | None
    ) -> Track | None:
        outside = np.hypot(*start_m.T) > radius_m
        if outside.any():
            node = int(np.argmax(outside))
            raise ScenarioError(
                f'[mobility] kind = "gauss_markov": node {node} is placed at '
                f"{start_m[node].tolist()} m, outside the disc of nodes.radius_m = {radius_m:g}"
            )
        places = start_m.tolist()
        knots = [self._knots(i, x, y, radius_m, streams) for i, (x, y) in enumerate(places)]
        return Ways(knots, FASTEST_SIGMA * self.sigma_m_per_s)

    def _knots(
        self, node: int, x: float, y: float, radius_m: float, streams: Streams
    ) -> Iterator[Knot]:
        sigma, step_ns = self.sigma_m_per_s, to_ns(self.step_s)
        fresh = math.sqrt(1 - self.memory**2)
        vx, vy = self._normal(node, 0, streams)
        vx, vy = sigma * vx, sigma * vy
        number = 0
        yield 0, x, y
        while True:
            cut = min(1.0, FASTEST_SIGMA * sigma / (math.hypot(vx, vy) or 1.0))
            vx, vy = cut * vx, cut * vy
            left_s = self.step_s
            while (wall_s := _time_to_border(x, y, vx, vy, radius_m)) < left_s:
                x, y, left_s = x + wall_s * vx, y + wall_s * vy, left_s - wall_s
                yield (number + 1) * step_ns - to_ns(left_s), x, y
                outward = (vx * x + vy * y) / (x * x + y * y)
                vx, vy = vx - 2 * outward * x, vy - 2 * outward * y
            x, y = x + left_s * vx, y + left_s * vy
            number += 1
            yield number * step_ns, x, y
            wx, wy = self._normal(node, number, streams)
            vx = self.memory * vx + fresh * sigma * wx
            vy = self.memory * vy + fresh * sigma * wy

    def _normal(self, node: int, number: int, streams: Streams) -> tuple[float, float]:
        """Two standard normal draws."""
        u = streams.uniforms("gauss markov", node, number, counters=(0, 1))
        x, y = scipy.special.ndtri(np.maximum(u, 2.0**-54)).tolist()
        return x, y


def _time_to_border(x: float, y: float, vx: float, vy: float, radius_m: float) -> float:
    """Return the time until a node that goes straight on leaves the disc; infinite if it rests."""
    speed2, outward = vx * vx + vy * vy, x * vx + y * vy
    inside = max(0.0, radius_m * radius_m - x * x - y * y)
    if speed2 == 0.0:
        return math.inf
    # on the border and going outward by a rounding error it would be reflected again and again
    return max((math.sqrt(outward * outward + speed2 * inside) - outward) / speed2, 1e-9)
