"""Places in degrees: on a plane as far apart as on the sphere, and told from metres."""

import math

import numpy as np
import pytest

from netsim.errors import DataError
from netsim.traces.files import Text
from netsim.traces.geodesy import EARTH_M, FARTHEST_M, degrees_problem, project_to_plane

TEXT = Text('[mobility] path = "x"', "")


def haversine_m(one, other):
    (lat, lon), (to_lat, to_lon) = np.radians(one), np.radians(other)
    half = math.sin((to_lat - lat) / 2) ** 2
    half += math.cos(lat) * math.cos(to_lat) * math.sin((to_lon - lon) / 2) ** 2
    return 2 * EARTH_M * math.asin(math.sqrt(half))


MIDDLES = [(0, 0), (47.5, 9.4), (-33.9, 151.2), (69.6, 18.9), (0.1, 179.99), (89.9, 30), (-90, 0)]


@pytest.mark.parametrize("middle", MIDDLES)
@pytest.mark.parametrize("reach_km", [0.1, 10, 100, 400])
def test_distances_are_those_of_the_great_circle_to_a_sixth_of_the_squared_angle(middle, reach_km):
    rng = np.random.default_rng(0)
    angle = reach_km * 1e3 / EARTH_M * np.sqrt(rng.uniform(size=40))
    bearing = rng.uniform(0, 2 * math.pi, size=40)
    lat0, lon0 = np.radians(middle)
    lat = np.arcsin(np.sin(lat0) * np.cos(angle) + np.cos(lat0) * np.sin(angle) * np.cos(bearing))
    lon = lon0 + np.arctan2(
        np.sin(bearing) * np.sin(angle) * np.cos(lat0),
        np.cos(angle) - np.sin(lat0) * np.sin(lat),
    )
    degrees = np.degrees(np.stack([lat, lon], axis=1))
    degrees[:, 1] = (degrees[:, 1] + 180) % 360 - 180  # both sides of the date line
    places = project_to_plane(TEXT, *degrees.T)
    # the middle of the places may lie a quarter of their reach off
    most = (1.25 * reach_km * 1e3 / EARTH_M) ** 2 / 6 + 1e-9
    for i in range(0, 40, 3):
        for j in range(i + 1, 40, 5):
            exact = haversine_m(degrees[i], degrees[j])
            assert np.hypot(*(places[i] - places[j])) == pytest.approx(exact, rel=most, abs=1e-3)


def test_east_is_x_and_north_is_y():
    [west, east, north] = project_to_plane(TEXT, [10.0, 10.0, 10.2], [20.0, 20.2, 20.1])
    assert east[0] > north[0] > west[0]
    assert north[1] > east[1]


def test_places_too_far_apart_for_a_plane_are_refused():
    reach = math.degrees(FARTHEST_M / EARTH_M)
    assert project_to_plane(TEXT, [-0.99 * reach, 0.99 * reach], [5, 5]).shape == (2, 2)
    with pytest.raises(DataError, match="its places lie up to 505 km from their middle"):
        project_to_plane(TEXT, [-1.01 * reach, 1.01 * reach], [5, 5])
    with pytest.raises(DataError, match="a latitude is 91 degrees, beyond 90"):
        project_to_plane(TEXT, [91.0], [5.0])
    with pytest.raises(DataError, match="a longitude is nan degrees"):
        project_to_plane(TEXT, [1.0], [math.nan])


DEGREES = [
    [[9.427966, 47.5085], [9.527966, 47.5085]],
    [[47.508512, 9.427966], [47.508612, 9.427981]],
    [[52.520008, 13.404954], [48.137154, 11.581981]],
    [[40.7128, -74.006], [34.0522, -118.2437]],
    [[-33.868820, 151.209290], [-33.9, 151.1], [-33.85, 151.2111], [-33.8688, 151.2093]],
]
METRES = [
    [[0.0, 0.0], [30.0, 40.0]],
    [[0.0, 0.0], [0.5, 0.25]],
    [[12.5, 40.0], [13.5, 41.0]],
    [[50.0, 50.0], [51.0, 50.0]],
    [[1000.1234, 2000.5678], [1000.2234, 2000.5678]],
    [[5.0, 5.0]],
    [[80.123456, 12.123456], [80.123456, 12.123456]],
]


@pytest.mark.parametrize("places", DEGREES)
def test_degrees_where_metres_are_asked_for_are_recognised(places):
    assert "look like degrees" in str(degrees_problem(np.array(places)))


@pytest.mark.parametrize("places", METRES)
def test_metres_are_metres(places):
    assert degrees_problem(np.array(places)) is None


@pytest.mark.thinned(3)
@pytest.mark.parametrize("decimals", [0, 1, 2, 3, 4, 6, 17])
@pytest.mark.parametrize(("count", "most"), [(3, 18), (10, 0), (50, 0)])
def test_placements_in_discs_are_metres(decimals, count, most):
    """Of 600: only three nodes that chance put close together, to four decimals, may be refused."""
    rng = np.random.default_rng(1)
    taken = 0
    for radius in (5.0, 60.0, 100.0):
        for _ in range(200):
            away, angle = radius * np.sqrt(rng.uniform(size=count)), rng.uniform(0, 7, size=count)
            disc = np.stack([away * np.cos(angle), away * np.sin(angle)], axis=1)
            taken += degrees_problem(disc.round(decimals)) is not None
    assert taken <= (most if decimals >= 4 else 0)
