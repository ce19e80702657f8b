"""Satellites of a Walker constellation on circular orbits, and stations on the turning Earth.

Source: J. G. Walker, "Satellite constellations", J. Brit. Interplanet. Soc. 37, 1984: i:t/p/f is t
satellites at inclination i in p planes of s = t/p. The ascending nodes of the planes are spread
over 360 degrees ("delta") or 180 ("star"); satellite k of plane j has at time T the argument of
latitude

    u = 2 pi k / s + 2 pi f j / t + n T,    n = sqrt(mu / a^3),    a = R + altitude.

The Earth is a sphere of its equatorial radius R that turns once in a sidereal day; orbits are
Kepler's, without perturbation. Places are inertial coordinates with the centre of the Earth as
origin and the north pole on the third axis.
"""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from netsim.errors import ScenarioError
from netsim.registry import Count, Index, NonNegative, Plausible, Positive
from netsim.rng import Streams
from netsim.topology.mobility import Mobility
from netsim.units import NS_PER_S

EARTH_RADIUS_M = 6_378_137.0
"""Equatorial (WGS 84)."""
EARTH_MU_M3_PER_S2 = 3.986004418e14
"""Gravitational parameter (WGS 84)."""
EARTH_TURNS_RAD_PER_S = 7.2921150e-5
"""Against the stars (WGS 84)."""
STEP_M = 100.0
"""Changes no free-space loss over 500 km by more than 0.002 dB."""
NEVER = 2.0
"""No cosine is as large."""

Elevation = Annotated[float, Field(ge=0, lt=90, allow_inf_nan=False)]
Latitude = Annotated[float, Field(ge=-90, le=90, allow_inf_nan=False)]
Longitude = Annotated[float, Field(ge=-180, le=360, allow_inf_nan=False)]


class Walker(Mobility):
    """Nodes 0, 1, ... are satellites, plane by plane; after them come the ground stations.

    A satellite and a station have sight of each other from `least_elevation_deg` on, two
    satellites where the straight line between them passes the Earth at `grazing_height_m` or
    higher, two stations never; where there is no sight nothing is received.

    Attributes
    ----------
    pattern
        Spread of the ascending nodes: over 360 degrees ("delta") or 180 ("star").
    satellites
        t, number of satellites in all planes.
    planes
        p, number of orbital planes.
    phasing
        f, in units of 360/t degrees: lead of a satellite over the one with its number in the plane
        before.
    inclination_deg
        i, angle between the planes and the equator.
    altitude_m
        Height of the orbits above the Earth.
    stations
        [latitude, longitude] of each ground station, in degrees. Example: `[[48.1, 11.6]]`
    least_elevation_deg
        Angle above the horizon from which a station has sight of a satellite.
    grazing_height_m
        Height that the line between two satellites keeps from the Earth at least: 80 km is where
        the air begins.
    """

    kind: Literal["walker"] = "walker"
    states_places: ClassVar[bool] = True
    pattern: Literal["delta", "star"] = "delta"
    satellites: Count
    planes: Count
    phasing: Index = 0
    inclination_deg: Annotated[float, Field(ge=0, le=180, allow_inf_nan=False)]
    altitude_m: Annotated[Positive, Plausible(1.5e5, 4e7, "it is in metres above the ground")]
    stations: tuple[tuple[Latitude, Longitude], ...] = ()
    least_elevation_deg: Elevation = 10.0
    grazing_height_m: NonNegative = 80e3

    @model_validator(mode="after")
    def _is_a_constellation(self) -> Self:
        if self.satellites % self.planes:
            raise ValueError(
                f"satellites = {self.satellites} must be a multiple of planes = {self.planes}"
            )
        if self.phasing >= self.planes:
            raise ValueError(f"phasing must be less than planes = {self.planes}")
        if self.grazing_height_m >= self.altitude_m:
            raise ValueError(f"grazing_height_m must be less than altitude_m = {self.altitude_m:g}")
        return self

    def track(
        self, start_m: NDArray[np.float64], radius_m: float, streams: Streams, folder: Path | None
    ) -> "Orbits":
        """The orbits; see the base class."""
        known = self.satellites + len(self.stations)
        if len(start_m) != known:
            raise ScenarioError(
                f'[mobility] kind = "walker": {self.satellites} satellites and '
                f"{len(self.stations)} stations are {known} nodes, and [nodes] count = "
                f"{len(start_m)}"
            )
        return Orbits(self)


class Orbits:
    """Trajectories of the satellites and stations of a constellation, and their lines of sight.

    Parameters
    ----------
    of : Walker

    Attributes
    ----------
    of : Walker
    fastest_m_per_s : float
        Speed of the satellites, sqrt(mu / a).
    mean_motion_rad_per_s : float
        n, their mean motion.
    step_m : float
    """

    def __init__(self, of: Walker) -> None:
        self.of, self.step_m = of, STEP_M
        axis_m = EARTH_RADIUS_M + of.altitude_m
        self.fastest_m_per_s = math.sqrt(EARTH_MU_M3_PER_S2 / axis_m)
        self.mean_motion_rad_per_s = self.fastest_m_per_s / axis_m
        flying, standing = of.satellites, len(of.stations)
        plane, slot = np.divmod(np.arange(flying), flying // of.planes)
        spread = (2.0 if of.pattern == "delta" else 1.0) * math.pi
        turned = 2.0 * math.pi * (slot * of.planes + of.phasing * plane) / flying
        lat, lon = np.radians(np.array(of.stations).reshape(-1, 2)).T
        tilt = math.radians(of.inclination_deg)
        # A place is a point on a circle: centre + cos(angle) across + sin(angle) along.
        node = spread * plane / of.planes
        self._angle = np.concatenate([turned, lon])
        self._rate = np.repeat(
            [self.mean_motion_rad_per_s, EARTH_TURNS_RAD_PER_S], [flying, standing]
        )
        self._radius_m = np.repeat([axis_m, EARTH_RADIUS_M], [flying, standing])
        zero, one = np.zeros(standing), np.ones(standing)
        self._across = np.concatenate(
            [
                np.stack([np.cos(node), np.sin(node), 0.0 * node], axis=1),
                np.stack([np.cos(lat), zero, zero], axis=1),
            ]
        )
        self._along = np.concatenate(
            [
                np.stack(
                    [
                        -np.sin(node) * math.cos(tilt),
                        np.cos(node) * math.cos(tilt),
                        np.full(flying, math.sin(tilt)),
                    ],
                    axis=1,
                ),
                np.stack([zero, np.cos(lat), zero], axis=1),
            ]
        )
        self._centre = np.concatenate(
            [np.zeros((flying, 3)), np.stack([zero, zero, one * np.sin(lat)], axis=1)]
        )
        low = math.radians(of.least_elevation_deg)
        cap = math.acos(EARTH_RADIUS_M / axis_m * math.cos(low)) - low
        limb = 2.0 * math.acos((EARTH_RADIUS_M + of.grazing_height_m) / axis_m)
        self._least = np.array([[math.cos(limb), math.cos(cap)], [math.cos(cap), NEVER]])

    def at(self, nodes: Sequence[int] | NDArray[np.int64], time_ns: int) -> NDArray[np.float64]:
        """Positions [m] of some nodes at one instant; shape (len(nodes), 3)."""
        which = np.asarray(nodes, np.int64)
        return self._radius_m[which, None] * self._directions(which, np.array(time_ns))

    def sight(
        self, one: NDArray[np.int64], other: NDArray[np.int64], time_ns: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Cosine of the angle between nodes, from the Earth's centre, less that at the limit.

        Parameters
        ----------
        one, other : int64 arrays
            Nodes.
        time_ns : int64 array
            Of a shape that goes with theirs.

        Returns
        -------
        ndarray
            At least 0 where they have sight of each other.
        """
        here, there = self._directions(one, time_ns), self._directions(other, time_ns)
        flying = self.of.satellites
        least = self._least[(one >= flying).astype(int), (other >= flying).astype(int)]
        return np.asarray((here * there).sum(axis=-1) - least)

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
        moved = 2.0 * self.mean_motion_rad_per_s * (to_ns - from_ns) / NS_PER_S
        found = self.sight(np.array(src), np.asarray(others), np.array(from_ns))
        return np.asarray(found >= -moved)

    def _directions(
        self, nodes: NDArray[np.int64], time_ns: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Unit vectors from the Earth's centre: the last axis has their three coordinates."""
        angle = (self._angle[nodes] + self._rate[nodes] * (time_ns / NS_PER_S))[..., None]
        found = np.cos(angle) * self._across[nodes] + np.sin(angle) * self._along[nodes]
        return np.asarray(found + self._centre[nodes])
