"""Walker constellations: published geometry, closed forms, and contacts computed a second way."""

import math

import numpy as np
import pytest
from scipy.optimize import brentq

from netsim import engine, world
from netsim.channels.path_loss.free_space import FreeSpace
from netsim.errors import ScenarioError
from netsim.rng import Streams
from netsim.scenario import from_dict
from netsim.topology import Site
from netsim.topology.mobility.walker import EARTH_RADIUS_M as R
from netsim.topology.mobility.walker import Walker
from netsim.topology.plus_grid import PlusGrid, contact_windows
from netsim.units import FOREVER_NS, NS_PER_S, SPEED_OF_LIGHT_M_PER_S, to_ns

MU, TURN = 3.986004418e14, 7.2921150e-5
STARLINK = {"satellites": 1584, "planes": 72, "phasing": 39, "inclination_deg": 53.0}
IRIDIUM = {"satellites": 66, "planes": 6, "phasing": 2, "inclination_deg": 86.4, "pattern": "star"}
SMALL = {
    "pattern": "star", "satellites": 24, "planes": 4, "phasing": 1, "inclination_deg": 87.9,
    "altitude_m": 1.2e6, "stations": [[48.1, 11.6], [-33.9, 18.4]],
}  # fmt: skip


def orbits(**keys):
    walker = Walker.model_validate(keys)
    count = walker.satellites + len(walker.stations)
    return walker.track(np.zeros((count, 2)), 0.0, Streams(0), None)


def meetings(track, horizon_s=86_400.0, **keys):
    count = track.of.satellites + len(track.of.stations)
    site = Site(count, Streams(0), track=track, horizon_ns=to_ns(horizon_s))
    return PlusGrid(**keys).meetings(site)


def apart_m(track, i, j, time_s):
    one, other = track.at([i, j], to_ns(time_s))
    return float(np.linalg.norm(one - other))


@pytest.mark.parametrize(
    ("altitude_m", "minutes"), [(550e3, 95.6), (780e3, 100.4), (1.2e6, 109.4), (20_183.6e3, 718.0)]
)
def test_periods_are_those_published(altitude_m, minutes):
    """Starlink, Iridium, OneWeb, and GPS, whose period is half a sidereal day."""
    track = orbits(satellites=1, planes=1, inclination_deg=53.0, altitude_m=altitude_m)
    period_s = 2 * math.pi * math.sqrt((R + altitude_m) ** 3 / MU)
    assert period_s / 60 == pytest.approx(minutes, abs=0.1)
    start, quarter, back = (track.at([0], to_ns(k * period_s / 4))[0] for k in (0, 1, 4))
    assert np.linalg.norm(back - start) < 1e-3
    assert start @ quarter == pytest.approx(0.0, abs=1e-6 * (R + altitude_m) ** 2)
    assert track.fastest_m_per_s == pytest.approx(2 * math.pi * (R + altitude_m) / period_s)


def test_a_star_has_the_planes_of_iridium():
    """66 satellites in 6 planes at 86.4 degrees and 780 km: neighbours are 4,033 km apart."""
    track = orbits(**IRIDIUM, altitude_m=780e3)
    at = track.at(range(66), 0)
    assert np.linalg.norm(at, axis=1) == pytest.approx((R + 780e3) * np.ones(66), rel=1e-12)
    normals = [np.cross(at[11 * k], at[11 * k + 2]) for k in range(6)]
    normals = [n / np.linalg.norm(n) for n in normals]
    assert [math.degrees(math.acos(n[2])) for n in normals] == pytest.approx([86.4] * 6)
    nodes = np.array([math.degrees(math.atan2(n[0], -n[1])) for n in normals])
    assert np.unwrap(nodes, period=360) == pytest.approx(np.arange(6) * 30.0, abs=1e-9)
    assert apart_m(track, 0, 1, 0.0) == pytest.approx(4.033e6, rel=2e-3)
    assert apart_m(track, 0, 10, 977.0) == pytest.approx(2 * 7158137 * math.sin(math.pi / 11))
    # phasing: the k-th of plane 1 is 2 * 360/66 degrees ahead of that of plane 0
    ahead = [math.asin(at[k, 2] / (R + 780e3) / math.sin(math.radians(86.4))) for k in (0, 11)]
    assert math.degrees(ahead[1] - ahead[0]) == pytest.approx(2 * 360 / 66)
    links = meetings(track, 600.0, between="grid").neighbours()
    assert all(len(peers) == 4 for peers in links[11:55])
    assert all(len(peers) == 3 for peers in (*links[:11], *links[55:])), "the seam has none"


@pytest.mark.slow
def test_a_delta_is_the_same_from_every_satellite():
    """Starlink's first shell, 53:1584/72/39: four links each, all of them alike over an orbit."""
    track = orbits(**STARLINK, altitude_m=550e3)
    site = Site(1584, Streams(0), track=track, horizon_ns=to_ns(60.0))
    peers = PlusGrid().neighbours(site)
    assert {len(some) for some in peers} == {4}
    for time_s in (0.0, 1234.5):
        at = track.at(range(1584), to_ns(time_s))
        apart = np.repeat(at, 4, axis=0) - at[np.concatenate(peers)]
        assert np.linalg.norm(apart, axis=1).max() < 5.016e6
    period_ns = to_ns(2 * math.pi / track.mean_motion_rad_per_s)
    across = [(i, i + 22) for i in range(0, 1562, 130)] + [
        (1562 + k, (k + 39) % 22) for k in (0, 7)
    ]
    at_ns = np.linspace(0, period_ns, 721).astype(np.int64)
    spans = [
        (float(found.min()), float(found.max()))
        for i, j in across
        for found in [track.sight(np.array(i), np.array(j), at_ns)]
    ]
    for low, high in spans:
        assert (low, high) == pytest.approx(spans[0], abs=1e-5)


@pytest.mark.parametrize(("altitude_m", "slant_m"), [(600e3, 1.932e6), (1.2e6, 3.131e6)])
def test_slant_ranges_are_those_of_tr_38_821(altitude_m, slant_m):
    """d(e) = sqrt(R^2 sin^2 e + h^2 + 2 h R) - R sin e; at 10 degrees 1,932 and 3,131 km."""
    rise = R * math.sin(math.radians(10.0))
    closed_m = math.sqrt(rise**2 + altitude_m**2 + 2 * altitude_m * R) - rise
    assert closed_m == pytest.approx(slant_m, rel=1e-3)
    track = orbits(
        satellites=1, planes=1, inclination_deg=0.0, altitude_m=altitude_m,
        stations=[[0.0, 0.0]], least_elevation_deg=10.0,
    )  # fmt: skip
    _, sets_ns = contact_windows(
        lambda t: track.sight(np.array(0), np.array(1), t), to_ns(86_400.0)
    )[0]
    assert apart_m(track, 0, 1, sets_ns / NS_PER_S) == pytest.approx(closed_m, abs=0.01)


def test_free_space_losses_are_those_of_tr_38_821():
    """Table 6.1.3.3-1: LEO at 600 km and 30 degrees, 159.1 dB at 2 GHz and 179.1 dB at 20 GHz."""
    rise = R * math.sin(math.radians(30.0))
    slant_m = math.sqrt(rise**2 + 600e3**2 + 2 * 600e3 * R) - rise
    assert FreeSpace().loss_db(slant_m, 2e9) == pytest.approx(159.1, abs=0.05)
    assert FreeSpace().loss_db(slant_m, 20e9) == pytest.approx(179.1, abs=0.05)
    assert FreeSpace(antennas_db=70.0).loss_db(slant_m, 20e9) == pytest.approx(109.1, abs=0.05)


def test_the_longest_pass_has_its_closed_form():
    """Overhead on the equator, to the east: 2 gamma / (n - w), again after 2 pi / (n - w)."""
    track = orbits(
        satellites=1, planes=1, inclination_deg=0.0, altitude_m=550e3,
        stations=[[0.0, 40.0]], least_elevation_deg=25.0,
    )  # fmt: skip
    low = math.radians(25.0)
    cap = math.acos(R / (R + 550e3) * math.cos(low)) - low
    closing = math.sqrt(MU / (R + 550e3) ** 3) - TURN
    found = contact_windows(lambda t: track.sight(np.array(0), np.array(1), t), to_ns(86_400.0))
    assert len(found) == 14
    for k, (rises_ns, sets_ns) in enumerate(found):
        overhead_s = (math.radians(40.0) + 2 * math.pi * k) / closing
        assert rises_ns / NS_PER_S == pytest.approx(overhead_s - cap / closing, abs=1e-8)
        assert sets_ns / NS_PER_S == pytest.approx(overhead_s + cap / closing, abs=1e-8)


def test_as_many_satellites_are_in_sight_as_the_cap_has_area():
    """Over all places of the Earth, t (1 - cos gamma) / 2: exact for each satellite."""
    k = np.arange(4000) + 0.5
    lat = np.degrees(np.arcsin(1 - 2 * k / 4000))
    lon = np.degrees(math.pi * (1 + 5**0.5) * k) % 360
    track = orbits(
        **IRIDIUM, altitude_m=780e3, least_elevation_deg=8.2,
        stations=np.stack([lat, lon], axis=1).tolist(),
    )  # fmt: skip
    low = math.radians(8.2)
    cap = math.acos(R / (R + 780e3) * math.cos(low)) - low
    assert math.degrees(cap) == pytest.approx(19.9, abs=0.1), "Iridium's published half angle"
    stations = np.arange(66, 4066)
    seen = [
        int((track.sight(np.array(i), stations, np.array(to_ns(500.0))) >= 0).sum())
        for i in range(66)
    ]
    expected = 66 * (1 - math.cos(cap)) / 2
    assert sum(seen) / 4000 == pytest.approx(expected, rel=5e-3)  # 1.97


def test_satellites_see_each_other_as_far_as_the_air_lets_them():
    """2 sqrt((R + h)^2 - (R + 80 km)^2): 5,016 km at 550 km (Bhattacherjee and Singla 2019)."""
    farthest_m = 2 * math.sqrt((R + 550e3) ** 2 - (R + 80e3) ** 2)
    assert farthest_m == pytest.approx(5.016e6, rel=2e-4)
    for each in range(3, 40):
        track = orbits(satellites=each, planes=1, inclination_deg=53.0, altitude_m=550e3)
        chord_m = apart_m(track, 0, 1, 77.0)
        lonely = not meetings(track, 600.0).neighbours()[0]
        assert lonely == (chord_m > farthest_m), each


def elsewhere_m(keys, node, time_s):
    """A place by rotation matrices, from the definition alone."""
    each = keys["satellites"] // keys["planes"]
    if node >= keys["satellites"]:
        lat, lon = np.radians(keys["stations"][node - keys["satellites"]])
        east = lon + TURN * time_s
        return R * np.array(
            [math.cos(lat) * math.cos(east), math.cos(lat) * math.sin(east), math.sin(lat)]
        )
    plane, slot = divmod(node, each)
    axis_m = R + keys["altitude_m"]
    spread = math.pi if keys.get("pattern") == "star" else 2 * math.pi
    node_rad = spread * plane / keys["planes"]
    tilt = math.radians(keys["inclination_deg"])
    turned = 2 * math.pi * slot / each + 2 * math.pi * keys["phasing"] * plane / keys["satellites"]
    turned += math.sqrt(MU / axis_m**3) * time_s
    about_x = [[1, 0, 0], [0, math.cos(tilt), -math.sin(tilt)], [0, math.sin(tilt), math.cos(tilt)]]
    c, s = math.cos(node_rad), math.sin(node_rad)
    about_z = [[c, -s, 0], [s, c, 0], [0, 0, 1]]
    flat = np.array([axis_m * math.cos(turned), axis_m * math.sin(turned), 0])
    return np.array(about_z) @ np.array(about_x) @ flat


def elevation_rad(keys, node, station, time_s):
    ground = elsewhere_m(keys, station, time_s)
    towards = elsewhere_m(keys, node, time_s) - ground
    return math.asin(towards @ ground / np.linalg.norm(towards) / np.linalg.norm(ground))


@pytest.mark.parametrize("station", [24, 25])
@pytest.mark.slow
def test_contacts_with_stations_are_those_computed_by_elevation(station):
    """Second by second and then by bisection of the elevation: the same windows to 1 us."""
    track, least = orbits(**SMALL), math.radians(10.0)
    found, horizon_s = meetings(track, 7200.0), 7200.0
    for node in range(0, 24, 5):

        def over(t, node=node):
            return elevation_rad(SMALL, node, station, t) - least

        times = np.arange(0.0, horizon_s + 1, 2.0)
        signs = np.array([over(t) >= 0 for t in times])
        flips = [brentq(over, times[k], times[k + 1], xtol=1e-9)
                 for k in np.flatnonzero(np.diff(signs))]  # fmt: skip
        edges = [e / NS_PER_S for span in found._spans.get((node, station), ()) for e in span]
        edges = [e for e in edges if 0 < e < horizon_s]
        assert edges == pytest.approx(flips, abs=1e-6)


def test_contacts_between_planes_have_their_closed_form():
    """cos psi = A + B cos(2 u + c): planes at 90 degrees of inclination, D apart, phases p apart.

    With u' = u + p: cos psi = cos D cos u cos u' + sin u sin u'
    = ((cos D + 1) cos p + (cos D - 1) cos(2 u + p)) / 2.
    """
    keys = dict(
        SMALL, satellites=20, planes=2, phasing=0, inclination_deg=90.0, altitude_m=7e5, stations=[]
    )
    track = orbits(**keys)
    axis_m = R + 7e5
    least = math.cos(2 * math.acos((R + 80e3) / axis_m))
    n = math.sqrt(MU / axis_m**3)
    # D = 90 degrees, p = 0: cos psi = (1 - cos 2u) / 2, in sight where cos 2u <= 1 - 2 least
    bend = math.acos(1 - 2 * least) / 2
    found = meetings(track, 20_000.0)._spans[0, 10]
    expected = [
        ((bend + k * math.pi) / n, ((k + 1) * math.pi - bend) / n) for k in range(len(found))
    ]
    assert len(found) == 7
    assert np.array(found) / NS_PER_S == pytest.approx(np.array(expected), abs=1e-8)


def test_windows_shorter_than_a_step_are_found():
    """A parabola that is over 0 for 1 s, one that is under it for 1 s, and one that never is."""
    middle = 123_456_789_012

    def parabola(t):
        return ((t - middle) / NS_PER_S) ** 2 - 0.25

    horizon = to_ns(1000.0)
    half = NS_PER_S // 2
    [(a, b)] = contact_windows(lambda t: -parabola(t), horizon)
    assert abs(a - (middle - half)) <= 1
    assert abs(b - (middle + half)) <= 2
    (_, a), (b, end) = contact_windows(parabola, horizon)
    assert abs(a - (middle - half)) <= 2
    assert abs(b - (middle + half)) <= 1
    assert end == FOREVER_NS
    assert contact_windows(lambda t: -parabola(t) - 0.26, horizon) == []
    assert contact_windows(lambda t: 1.0 + 0.0 * t, horizon) == [(0, FOREVER_NS)]


def scenario(**tables):
    return {
        "name": "leo", "horizon_s": 1200.0, "seed": 3,
        "nodes": {"count": 25, "groups": [
            {"name": "satellites", "count": 24},
            {"name": "station", "count": 1, "role": "server"},
        ]},
        "mobility": {"kind": "walker", **SMALL, "stations": [[48.1, 11.6]]},
        "topology": {"kind": "plus_grid"},
        "radio": {
            "carrier_hz": 26e9, "bandwidth_hz": 10e6, "tx_power_dbm": 40.0, "threshold_db": 0.0,
            "propagation_delay": True, "ttl_s": 10.0, "fading": {"kind": "none"},
            "path_loss": {"kind": "free_space", "antennas_db": 70.0},
            "rate": {"kind": "fixed", "rate_bps": 10e6},
        },
        "exchange": {"schedule": "rounds", "interval_s": 60.0, "deadline_s": 30.0},
        "data": {"kind": "digits", "partition": {"kind": "iid"}},
        "model": {"kind": "mlp", "hidden": [4]},
        "compute": {"kind": "fixed", "step_s": 0.2},
        "algorithm": {"kind": "fedavg", "local_steps": 1},
    } | tables  # fmt: skip


@pytest.mark.slow
def test_messages_arrive_after_the_distance_of_that_moment(tmp_path):
    """Bits over rate and distance over c, of the places computed a second way."""
    built = world.build(from_dict(scenario(horizon_s=400.0)))
    engine.play(built, built.scenario.algorithm[0], tmp_path, check=True, timing_only=True)
    import pandas as pd

    rows = pd.concat(map(pd.read_parquet, sorted((tmp_path / "messages").glob("*.parquet"))))
    arrived = rows[rows.outcome == "delivered"]
    assert len(arrived) > 300
    waited_s = []
    for one in arrived.sample(200, random_state=0).itertuples():
        keys = dict(SMALL, stations=[[48.1, 11.6]])
        ends = [elsewhere_m(keys, k, one.t_done_s) for k in (one.src, one.dst)]
        far_s = np.linalg.norm(ends[0] - ends[1]) / SPEED_OF_LIGHT_M_PER_S
        waited_s.append(one.age_s - far_s - one.bits / 10e6)
    waited_s = np.array(waited_s)
    assert waited_s.min() > -2e-6  # 15 km/s for 26 ms are 1.3 us of light
    assert (waited_s < 2e-6).sum() > 5, "those that found both radios free"


def test_where_the_earth_is_in_the_way_nothing_is_received():
    tables = scenario(topology={"kind": "complete"})
    built = world.build(from_dict(tables))
    snr = built.budget.mean_snr
    keys = dict(SMALL, stations=[[48.1, 11.6]])
    for time_s in (0.0, 600.0):
        for j in range(1, 24):
            ends = [elsewhere_m(keys, k, time_s) for k in (0, j)]
            chord = np.linalg.norm(ends[0] - ends[1])
            lowest_m = math.sqrt((R + 1.2e6) ** 2 - (chord / 2) ** 2)
            assert (snr.pair_snr(0, j, to_ns(time_s)) > 0) == (lowest_m >= R + 80e3)
            assert snr.pair_snr(0, j, to_ns(time_s)) == pytest.approx(
                float(snr.snr(0, [j], to_ns(time_s))[0])
            )


@pytest.mark.parametrize(
    ("tables", "told"),
    [
        ({"nodes": {"count": 24}}, "24 satellites and 1 stations are 25 nodes"),
        ({"nodes": {"count": 25, "placement": "disc"}}, "leave out placement"),
        ({"mobility": {"kind": "static"}, "nodes": {"count": 25, "placement": "disc"}},
         'set [mobility] kind = "walker"'),
        ({"horizon_s": 5e8}, "looks at who sees whom"),
    ],
)  # fmt: skip
def test_what_does_not_go_together_is_refused(tables, told):
    with pytest.raises(ScenarioError) as error:
        world.build(from_dict(scenario(**tables)))
    assert told in str(error.value)


@pytest.mark.parametrize(
    ("keys", "told"),
    [
        ({"planes": 5}, "must be a multiple of planes"),
        ({"phasing": 4}, "phasing must be less than planes"),
        ({"grazing_height_m": 2e6}, "grazing_height_m must be less than altitude_m"),
        ({"stations": [[91.0, 0.0]]}, "90"),
    ],
)
def test_what_is_no_constellation_is_refused(keys, told):
    with pytest.raises(ScenarioError) as error:
        from_dict(scenario(mobility={"kind": "walker", **SMALL, **keys}))
    assert told in str(error.value)


def test_shadowing_is_refused_in_space():
    radio = scenario()["radio"] | {
        "shadowing": {"kind": "log_normal", "sigma_db": 4.0, "decorrelation_m": 10.0}
    }
    with pytest.raises(ScenarioError, match="field over the ground"):
        world.build(from_dict(scenario(radio=radio)))
