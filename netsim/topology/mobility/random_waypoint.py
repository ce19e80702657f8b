"""Random waypoint: straight to a point drawn at random, a pause, straight to the next.

Source: Johnson and Maltz, 1996. Started from its stationary law (Navidi and Camp, IEEE TMC 2004;
Le Boudec and Vojnovic, INFOCOM 2005), so that neither density nor speed drifts as a run goes on:
a node that moves at time 0 is on a leg drawn with a probability proportional to its length, at a
place uniform on that leg, with a speed whose density is proportional to 1/v.
"""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import model_validator

from netsim.registry import NonNegative
from netsim.rng import Streams
from netsim.topology.mobility import Mobility, Speed, Track
from netsim.topology.mobility._ways import Knot, Ways
from netsim.units import to_ns

MEAN_LEG_OVER_RADIUS = 128 / (45 * math.pi)
"""Mean distance of two points uniform in a disc, over its radius."""


class RandomWaypoint(Mobility):
    """Waypoints uniform in the disc of `nodes.radius_m`, speeds uniform between two bounds.

    The placement's own places are not used.

    Attributes
    ----------
    min_m_per_s
        Least speed of a leg; greater than 0, for with 0 the mean speed would fall to 0 as time
        passes.
    max_m_per_s
        Greatest speed of a leg.
    pause_s
        Time for which a node rests at each waypoint.
    """

    kind: Literal["random_waypoint"] = "random_waypoint"
    min_m_per_s: Speed = 0.5
    max_m_per_s: Speed = 1.5
    pause_s: NonNegative = 0.0

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.max_m_per_s < self.min_m_per_s:
            raise ValueError("max_m_per_s must be at least min_m_per_s")
        return self

    def turn_every_s(self, radius_m: float) -> float | None:
        return MEAN_LEG_OVER_RADIUS * radius_m / self.max_m_per_s + self.pause_s

    def track(
        self, start_m: NDArray[np.float64], radius_m: float, streams: Streams, folder: Path | None
    ) -> Track | None:
        knots = [self._knots(node, radius_m, streams) for node in range(len(start_m))]
        return Ways(knots, self.max_m_per_s)

    def share_of_pauses(self, radius_m: float) -> float:
        """The probability that a node pauses at an instant."""
        low, high = self.min_m_per_s, self.max_m_per_s
        per_m_s = math.log(high / low) / (high - low) if high > low else 1 / low
        leg_s = MEAN_LEG_OVER_RADIUS * radius_m * per_m_s
        return self.pause_s / (self.pause_s + leg_s)

    def _knots(self, node: int, radius_m: float, streams: Streams) -> Iterator[Knot]:
        pauses, rest, along, quick = streams.uniforms("waypoint/start", node, counters=range(4))
        low, high = self.min_m_per_s, self.max_m_per_s
        time_s = 0.0
        if pauses < self.share_of_pauses(radius_m):
            x, y = point(radius_m, *streams.uniforms("waypoint/first", node, counters=(0, 1)))
            yield 0, x, y
            time_s = rest * self.pause_s
        else:
            (from_x, from_y), (x, y) = self._first_leg(node, radius_m, streams)
            start_x, start_y = from_x + along * (x - from_x), from_y + along * (y - from_y)
            yield 0, start_x, start_y
            time_s = math.hypot(x - start_x, y - start_y) / self._first_speed(quick)
            yield to_ns(time_s), x, y
            time_s += self.pause_s
        yield to_ns(time_s), x, y
        number = 0
        while True:
            one, two, quick = streams.uniforms("waypoint", node, number, counters=range(3))
            next_x, next_y = point(radius_m, one, two)
            time_s += math.hypot(next_x - x, next_y - y) / (low + (high - low) * quick)
            x, y, number = next_x, next_y, number + 1
            yield to_ns(time_s), x, y
            time_s += self.pause_s
            yield to_ns(time_s), x, y

    def _first_speed(self, u: float) -> float:
        """Density proportional to 1/v: so long is a leg walked."""
        return float(self.min_m_per_s * (self.max_m_per_s / self.min_m_per_s) ** u)

    def _first_leg(
        self, node: int, radius_m: float, streams: Streams
    ) -> tuple[tuple[float, float], tuple[float, float]]:
        """A leg drawn with a probability proportional to its length, by rejection."""
        number = 0
        while True:
            u = streams.uniforms("waypoint/first", node, number, counters=range(5)).tolist()
            start, end = point(radius_m, *u[:2]), point(radius_m, *u[2:4])
            if u[4] * 2 * radius_m < math.dist(start, end):
                return start, end
            number += 1


def point(radius_m: float, one: float, two: float) -> tuple[float, float]:
    """A point uniform in a disc, from two uniform draws.

    Parameters
    ----------
    radius_m : float
        Of the disc, around the origin.
    one, two : float
        In [0, 1): they become the distance from the origin and the angle.

    Returns
    -------
    x, y : float
        [m]
    """
    radius, angle = radius_m * math.sqrt(one), 2 * math.pi * two
    return radius * math.cos(angle), radius * math.sin(angle)
