"""Nodes that fly: circles, routes in space, and groups that move each by a law of its own."""

import math

import numpy as np
import pytest

from netsim import engine, scenario, world
from netsim.channels.path_loss.free_space import FreeSpace
from netsim.errors import ScenarioError
from netsim.rng import Streams
from netsim.topology.mobility import HighTrack
from netsim.topology.mobility.circle import Circle
from netsim.topology.mobility.waypoints import Waypoints
from netsim.units import NS_PER_S, linear_to_db
from netsim.world.placement import distances

START_M = np.array([[0.0, 0.0], [100.0, -50.0], [7.0, 7.0]])
SQUARE = {
    "kind": "waypoints",
    "waypoints_m": [[0.0, 0.0, 30.0], [30.0, 0.0, 70.0], [30.0, 40.0, 70.0]],
    "m_per_s": 10.0,
    "phase": "aligned",
}


def built(mobility=None, **more):
    """A world of one drone and two devices on the ground."""
    keys = {
        "seed": 3,
        "horizon_s": 20.0,
        "nodes": {
            "count": 3,
            "placement": "given",
            "positions_m": START_M.tolist(),
            "groups": [{"name": "drones", "count": 1, "height_m": 60.0, "mobility": mobility}]
            if mobility
            else [],
        },
        "radio": {
            "fading": {"kind": "none"},
            "path_loss": {"kind": "free_space"},
            "propagation_delay": True,
        },
        "exchange": {"schedule": "periodic", "period_s": 1.0},
        "data": {"kind": "digits"},
        "model": {"kind": "mlp"},
        "algorithm": {"kind": "dpsgd"},
    } | more
    return world.build(scenario.from_dict(keys))


@pytest.mark.parametrize("phase", ["random", "aligned"])
def test_a_circle_has_its_centre_radius_and_speed(phase):
    """2 pi 50 m at 10 m/s: once round in 31.416 s, half round to the opposite side."""
    track = Circle(circle_m=50.0, m_per_s=10.0, phase=phase).track(START_M, 1.0, Streams(1), None)
    round_ns = round(2 * math.pi * 5 * NS_PER_S)
    every = range(3)
    at_0, half = track.at(every, 0), track.at(every, round_ns // 2)
    assert np.hypot(*(at_0 - START_M).T) == pytest.approx([50.0] * 3)
    assert 0.5 * (at_0 + half) == pytest.approx(START_M, abs=1e-5)
    assert track.at(every, round_ns) == pytest.approx(at_0, abs=1e-5)
    moved_m = np.hypot(*(track.at(every, 10**6) - at_0).T)
    assert moved_m == pytest.approx([0.01] * 3, rel=1e-6)
    if phase == "aligned":
        assert at_0 == pytest.approx(START_M + np.array([50.0, 0.0]))


def test_a_route_takes_as_long_as_it_is_in_space():
    """Legs of 50 m (30 along, 40 up), 40 m, and 64.03 m back (30, 40 along and 40 down)."""
    track = Waypoints(**SQUARE).track(START_M, 1.0, Streams(1), None)
    assert isinstance(track, HighTrack)
    assert track.height_span_m == (30.0, 70.0)
    back_m = math.sqrt(30**2 + 40**2 + 40**2)
    for t_s, place in [
        (0.0, (0.0, 0.0, 30.0)),
        (2.5, (15.0, 0.0, 50.0)),
        (5.0, (30.0, 0.0, 70.0)),
        (7.0, (30.0, 20.0, 70.0)),
        (9.0 + back_m / 20, (15.0, 20.0, 50.0)),
        (9.0 + back_m / 10 + 2.5, (15.0, 0.0, 50.0)),
    ]:
        time_ns = round(t_s * NS_PER_S)
        found = [*track.at([1], time_ns)[0], *track.heights_m([1], time_ns)]
        assert found == pytest.approx(place, abs=1e-6)
    one_way = Waypoints(**SQUARE | {"loop": False}).track(START_M, 1.0, Streams(1), None)
    assert [*one_way.at([0], 10**12)[0], *one_way.heights_m([0], 10**12)] == [30.0, 40.0, 70.0]


def test_random_phases_are_even_along_the_route():
    """Uniform on a route of 154.03 m: 50 of them climb."""
    many = np.zeros((4000, 2))
    track = Waypoints(**SQUARE | {"phase": "random"}).track(many, 1.0, Streams(1), None)
    heights = track.heights_m(range(4000), 0)
    share = (heights == 70.0).mean()
    want = 40 / (90 + math.sqrt(4100))
    assert share == pytest.approx(want, abs=4 * math.sqrt(want * (1 - want) / 4000))
    assert (track.heights_m([5], 0) == heights[5]).all()


def test_a_route_that_leads_nowhere_is_refused():
    with pytest.raises(ValueError, match="one place"):
        Waypoints(waypoints_m=((1.0, 1.0, 5.0), (1.0, 1.0, 5.0)))


def test_a_group_moves_and_the_others_stay():
    made = built(SQUARE)
    assert made.heights_m == (30.0, 0.0, 0.0)
    assert made.positions_m.tolist() == [[0.0, 0.0], *START_M[1:].tolist()]
    assert made.track.at(range(3), 5 * NS_PER_S).tolist() == [[30.0, 0.0], *START_M[1:].tolist()]
    assert made.track.heights_m([2, 0], 5 * NS_PER_S).tolist() == [0.0, 70.0]
    circling = built({"kind": "circle"})
    assert circling.heights_m == (60.0, 0.0, 0.0)
    assert not isinstance(circling.track, HighTrack)
    assert np.hypot(*circling.track.at([0], 10**9)[0]) == pytest.approx(50.0)


@pytest.mark.parametrize("mobility", [SQUARE, {"kind": "circle", "phase": "aligned"}])
def test_loss_and_delay_are_those_of_the_distance_in_space(mobility):
    made = built(mobility)
    distance_m = distances(made.positions_m, made.track, made.heights_m)
    for t_s in (0.0, 4.0, 13.0):
        time_ns = round(t_s * NS_PER_S)
        x, y = made.track.at([0], time_ns)[0]
        z = made.track.heights_m([0], time_ns)[0] if mobility is SQUARE else 60.0
        want_m = math.dist((x, y, z), (7.0, 7.0, 0.0))
        assert distance_m(0, 2, time_ns) == pytest.approx(want_m)
        snr_db = linear_to_db(made.budget.mean_snr.pair_snr(0, 2, time_ns))
        loss_db = made.tx_power_dbm[0] - made.scenario.radio.noise_dbm - snr_db
        # nodes are looked at again when they have moved a metre
        assert loss_db == pytest.approx(FreeSpace().loss_db(want_m, 2.4e9), abs=0.4)
        assert snr_db == pytest.approx(linear_to_db(made.budget.mean_snr.pair_snr(2, 0, time_ns)))


@pytest.mark.parametrize("mobility", [SQUARE, {"kind": "circle"}])
def test_a_run_from_the_air_keeps_the_invariants(mobility):
    """Causality among them: no message is faster than light over the distance in space."""
    made = built(mobility, horizon_s=3.0)
    summary = engine.play(made, made.scenario.algorithm[0], timing_only=True, check=True)
    assert summary["messages"]["delivered"] > 0


def test_a_route_below_what_a_path_loss_needs_is_refused():
    low = SQUARE | {"waypoints_m": [[0.0, 0.0, 30.0], [30.0, 0.0, 0.5]]}
    with pytest.raises(ScenarioError, match="above 1 m, and one is at 0"):
        built(low, radio={"path_loss": {"kind": "umi"}, "fading": {"kind": "none"}})
