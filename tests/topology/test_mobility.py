"""Laws of motion: a position is a function of (seed, node, time)."""

import math

import numpy as np
import pytest

from netsim import world
from netsim.errors import ScenarioError
from netsim.rng import Streams
from netsim.scenario import from_dict
from netsim.topology.mobility.gauss_markov import GaussMarkov
from netsim.topology.mobility.random_waypoint import RandomWaypoint
from netsim.topology.mobility.trace import Trace
from netsim.units import to_ns

RADIUS_M = 50.0
LAWS = {
    "waypoint": RandomWaypoint(min_m_per_s=1.0, max_m_per_s=19.0),
    "waypoint with pauses": RandomWaypoint(min_m_per_s=2.0, max_m_per_s=2.0, pause_s=10.0),
    "gauss_markov": GaussMarkov(mean_m_per_s=8.0, step_s=0.7),
}
law = pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)


def starts(nodes, seed=0):
    rng = np.random.default_rng(seed)
    radius, angle = RADIUS_M * np.sqrt(rng.uniform(size=nodes)), rng.uniform(0, 7, nodes)
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)


def track(law, nodes=6, seed=0):
    return law.track(starts(nodes), RADIUS_M, Streams(seed), None)


@pytest.mark.thinned(2)
@law
def test_the_order_of_questions_changes_no_answer(law):
    times = [to_ns(t) for t in np.random.default_rng(1).uniform(0, 500, 40)]
    forwards, backwards = track(law), track(law)
    one = {t: forwards.at(range(6), t) for t in sorted(times)}
    other = {t: backwards.at([3, 0], t) for t in sorted(times, reverse=True)}
    for t in times:
        assert (one[t][[3, 0]] == other[t]).all()
    more = law.track(starts(6), RADIUS_M, Streams(0), None)
    assert (more.at([5], times[0]) == one[times[0]][5]).all()
    assert (track(law, seed=1).at(range(6), times[0]) != one[times[0]]).any()


@pytest.mark.thinned(3)
@law
def test_nodes_stay_in_the_disc_and_below_the_fastest_speed(law):
    found = track(law, nodes=20)
    step_s = 0.05
    places = np.stack([found.at(range(20), to_ns(k * step_s)) for k in range(4000)])
    assert np.hypot(*places.reshape(-1, 2).T).max() <= RADIUS_M * (1 + 1e-9)
    speeds = np.hypot(*np.moveaxis(np.diff(places, axis=0), 2, 0)) / step_s
    assert speeds.max() <= found.fastest_m_per_s * (1 + 1e-6)
    assert speeds.max() > 0.4 * found.fastest_m_per_s


def test_a_waypoint_leg_is_straight_and_of_constant_speed():
    found = track(LAWS["waypoint"], nodes=1)
    places = np.concatenate([found.at([0], to_ns(0.01 * k)) for k in range(3000)])
    steps = np.diff(places, axis=0)
    turns = np.abs(np.diff(steps, axis=0)).max(axis=1) > 1e-6
    assert 0 < turns.sum() < 30
    speeds = np.hypot(*steps.T) / 0.01
    straight = speeds[:-1][~turns]
    assert straight.min() >= 1 - 1e-6
    assert straight.max() <= 19 + 1e-6


def test_pauses_last_as_long_as_they_should():
    found = track(LAWS["waypoint with pauses"], nodes=1)
    places = np.concatenate([found.at([0], to_ns(0.1 * k)) for k in range(20_000)])
    still = (np.diff(places, axis=0) == 0).all(axis=1)
    edges = np.flatnonzero(np.diff(still.astype(int)))
    lengths = np.diff(edges)[still[edges[:-1] + 1]]
    assert len(lengths) > 20
    assert set(lengths.tolist()) <= {98, 99, 100}


def test_gauss_markov_starts_where_nodes_are_placed():
    found = track(LAWS["gauss_markov"])
    assert (found.at(range(6), 0) == starts(6)).all()


def test_a_reflected_node_keeps_its_speed():
    """One that starts at the border and would leave within a step comes back at the same speed."""
    fast = GaussMarkov(mean_m_per_s=40.0, memory=0.0)
    found = fast.track(np.array([[RADIUS_M - 1e-3, 0.0]] * 40), RADIUS_M, Streams(0), None)
    times = np.linspace(0, 0.999, 1000)
    places = np.stack([found.at(range(40), to_ns(t)) for t in times])
    speeds = np.hypot(*np.moveaxis(np.diff(places, axis=0), 2, 0)) / np.diff(times)[:, None]
    radial = np.hypot(*np.moveaxis(places, 2, 0))
    assert (radial <= RADIUS_M * (1 + 1e-9)).all()
    assert np.median(speeds, axis=0) == pytest.approx(speeds.max(axis=0), rel=1e-6)


def written(tmp_path, text):
    path = tmp_path / "ways.csv"
    path.write_text(text)
    return Trace(path=str(path))


def test_a_trace_is_followed_in_straight_lines(tmp_path):
    rows = "node,t_s,x_m,y_m\n1,4,10,0\n1,2,0,0\n0,0,1,1\n1,8,10,-20\n5,0,0,0\n"
    found = written(tmp_path, rows).track(np.full((3, 2), 7.0), RADIUS_M, Streams(0), None)
    assert found.at([0, 2], to_ns(3)).tolist() == [[1, 1], [7, 7]]
    expected = {0: (0, 0), 2: (0, 0), 3: (5, 0), 4: (10, 0), 6: (10, -10), 8: (10, -20)}
    expected[99] = (10, -20)
    for t_s, place in expected.items():
        assert tuple(found.at([1], to_ns(t_s))[0]) == place
    assert found.fastest_m_per_s == 5.0


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("node,t_s,x_m\n0,0,0\n", "no column y_m; it has node, t_s, x_m"),
        ("node,t_s,x_m,y_m\n0,-1,0,0\n", "line 2: t_s must be at least 0"),
        ("node,t_s,x_m,y_m\n0,0,0,0\n0,1,1,1\n0,0,2,2\n", "line 4: this node has a row for this"),
        ("node,t_s,x_m,y_m\n9,0,0,0\n", "its nodes are 9 to 9, and the scenario's 0 to 1"),
        ("node,t_s,x_m,y_m\n0,0,inf,0\n", "line 2: x_m must be a finite number"),
    ],
)
def test_a_bad_trace_is_told_with_its_line(tmp_path, text, problem):
    with pytest.raises(ScenarioError) as caught:
        written(tmp_path, text).track(np.zeros((2, 2)), RADIUS_M, Streams(0), None)
    assert problem in str(caught.value)


TABLES = {
    "horizon_s": 2.0,
    "nodes": {"count": 6, "placement": "disc", "radius_m": 30.0},
    "radio": {},
    "exchange": {"schedule": "rounds"},
    "data": {
        "kind": "digits",
        "partition": {"kind": "iid", "train_samples": 20, "test_samples": 5},
    },
    "model": {"kind": "mlp", "hidden": [4]},
    "algorithm": {"kind": "local"},
    "mobility": {"kind": "random_waypoint"},
}


def test_a_world_starts_where_its_nodes_walk_from():
    built = world.build(from_dict(TABLES))
    assert (built.positions_m == built.track.at(range(6), 0)).all()
    assert (built.positions_m != built.track.at(range(6), to_ns(5.0))).any()
    still = world.build(from_dict(TABLES | {"mobility": {"kind": "static"}}))
    assert still.track is None
    assert np.hypot(*still.positions_m.T).max() <= 30.0


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({"nodes": {"count": 6}}, r'\[mobility\] kind = "random_waypoint": nodes have no places'),
        ({"radio": None}, r'\[mobility\] kind = "random_waypoint": where nodes are matters over'),
        (
            {
                "mobility": {"kind": "gauss_markov"},
                "nodes": {
                    "count": 2,
                    "placement": "given",
                    "positions_m": [[0, 0], [200, 0]],
                },
            },
            r"node 1 is placed at \[200.0, 0.0\] m, outside the disc of nodes.radius_m = 100",
        ),
        (
            {"mobility": {"kind": "random_waypoint", "max_m_per_s": 0.1}},
            "max_m_per_s must be at least min_m_per_s",
        ),
        ({"mobility": {"kind": "random_waypoint", "min_m_per_s": 0}}, "must be greater than 0"),
    ],
)
def test_motion_that_makes_no_sense_is_refused(changed, problem):
    with pytest.raises(ScenarioError, match=problem):
        world.build(from_dict(TABLES | changed))


@pytest.mark.slow
def test_the_mean_leg_is_that_of_two_points_in_a_disc():
    from netsim.topology.mobility.random_waypoint import MEAN_LEG_OVER_RADIUS, point

    u = np.random.default_rng(0).uniform(size=(50_000, 4))
    lengths = [math.dist(point(1, a, b), point(1, c, d)) for a, b, c, d in u.tolist()]
    assert np.mean(lengths) == pytest.approx(MEAN_LEG_OVER_RADIUS, abs=4 * 0.43 / 223)
