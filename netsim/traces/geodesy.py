"""Places in degrees: as metres on a plane, or refused where metres are asked for.

The plane is the azimuthal equidistant projection of a sphere of radius 6,371,008.8 m (the mean
radius of the Earth, Moritz, J. Geodesy 2000) around the middle of the places: distances from the
middle are great-circle distances, others of places within d of it are too long by a part of at most
about (d / R)^2 / 6 (Snyder, Map Projections: A Working Manual, USGS 1987, eq. 25-1).
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from netsim.traces.files import Text

EARTH_M = 6_371_008.8
FARTHEST_M = 500e3
"""From the middle of the places: there distances err by 0.1 % at most."""


def project_to_plane(text: Text, latitude: ArrayLike, longitude: ArrayLike) -> NDArray[np.float64]:
    """Places on a plane.

    Parameters
    ----------
    text : Text
        The file, for errors.
    latitude, longitude : (n,) array_like
        In degrees.

    Returns
    -------
    (n, 2) float64
        East and north of the middle [m].

    Raises
    ------
    DataError
        If an angle is none, or places lie too far apart for a plane.
    """
    lat, lon = np.asarray(latitude, np.float64), np.asarray(longitude, np.float64)
    for name, angle, most in (("latitude", lat, 90.0), ("longitude", lon, 360.0)):
        wild = ~(np.abs(angle) <= most)
        if wild.any():
            raise text.error(
                f"a {name} is {angle[int(np.argmax(wild))]:g} degrees, beyond {most:g}; are "
                "latitude and longitude the other way round, or metres?"
            )
    phi, lam = np.radians(lat), np.radians(lon)
    points = np.stack([np.cos(phi) * np.cos(lam), np.cos(phi) * np.sin(lam), np.sin(phi)], axis=1)
    middle = points.min(axis=0) + points.max(axis=0)
    middle /= np.linalg.norm(middle) or 1.0
    east = np.array([-middle[1], middle[0], 0.0])
    east = east / np.linalg.norm(east) if east.any() else np.array([0.0, 1.0, 0.0])
    north = np.cross(middle, east)
    x, y, up = points @ east, points @ north, points @ middle
    off = np.hypot(x, y)  # sine of the angle at the centre
    angle = np.arctan2(off, up)
    if (angle * EARTH_M > FARTHEST_M).any():
        raise text.error(
            f"its places lie up to {angle.max() * EARTH_M / 1e3:,.0f} km from their middle; at "
            f"most {FARTHEST_M / 1e3:g} km fit on a plane"
        )
    stretch = np.divide(angle, off, out=np.ones_like(off), where=off > 0.0) * EARTH_M
    return np.stack([x * stretch, y * stretch], axis=1)


def degrees_problem(places: NDArray[np.float64], words: Sequence[str] = ()) -> str | None:
    """Why places that should be in metres look like degrees; None: they do not.

    Places of a network in degrees lie closer together than they lie from where the equator meets
    Greenwich, and have four decimals or more, since one degree is 111 km.

    Parameters
    ----------
    places : (n, 2) float64
    words : sequence of str
        As the file writes them, x and y in turn; none: as Python writes the numbers.

    Returns
    -------
    str or None
        A clause, and the remedy.
    """
    if len(places) < 2 or not np.isfinite(places).all():
        return None
    x, y = np.abs(places).max(axis=0)
    if max(x, y) > 180.0 or min(x, y) > 90.0:
        return None
    low, high = places.min(axis=0), places.max(axis=0)
    spread, off = float(np.hypot(*(high - low))), float(np.hypot(*((low + high) / 2.0)))
    if spread == 0.0:
        return None
    written = words or [repr(value) for value in places.ravel().tolist()]
    decimals = [len(word.partition(".")[2]) for word in written if "e" not in word.lower()]
    fine = sum(count >= 4 for count in decimals) >= 0.5 * len(written)
    rounded = sum(4 <= count <= 8 for count in decimals) >= 0.5 * len(written)
    tight = fine and spread < 1.0 and off > 10.0 * spread
    if tight or (rounded and off > 2.0 * spread):
        return (
            f"its places lie within {spread:.3g} m of each other if they are metres, and look like "
            "degrees"
        )
    return None
