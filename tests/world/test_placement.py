"""Places of nodes: uniformly in a disc or a square, and errors where neither fits."""

import numpy as np
import pytest
from scipy import stats

from netsim import scenario
from netsim.errors import ScenarioError
from netsim.rng import Streams
from netsim.world.placement import place_nodes

NODES = 4000


def tables(nodes, **more):
    return {
        "horizon_s": 10.0,
        "nodes": {"count": NODES} | nodes,
        "radio": {},
        "exchange": {"schedule": "rounds", "interval_s": 1.0},
        "data": {"kind": "digits"},
        "model": {"kind": "mlp"},
        "algorithm": {"kind": "dpsgd"},
    } | more


def places(nodes, seed=0, **more):
    found, _ = place_nodes(scenario.from_dict(tables(nodes, **more)), Streams(seed), None)
    return found


def test_nodes_fill_a_square_evenly():
    found = places({"placement": "square", "side_m": 250.0})
    x, y = found.T / 250.0
    # Kolmogorov and Smirnov's test of each axis and of the product, which has the density -ln z
    for drawn, law in ((x, "uniform"), (y, "uniform"), (x * y, lambda z: z * (1 - np.log(z)))):
        assert stats.kstest(drawn, law).pvalue > 1e-3
    cells = np.histogram2d(x, y, bins=8, range=[[0, 1], [0, 1]])[0]
    assert stats.chisquare(cells.ravel()).pvalue > 1e-3
    assert abs(np.corrcoef(x, y)[0, 1]) < 4 / np.sqrt(NODES)


def test_a_place_is_a_function_of_seed_and_node():
    few = {"placement": "square", "count": 10}
    assert np.array_equal(places(few), places({"placement": "square"})[:10])
    assert not np.array_equal(places(few), places(few, seed=1))


def test_a_disc_is_filled_evenly():
    found = places({"placement": "disc", "radius_m": 30.0})
    assert stats.kstest((np.hypot(*found.T) / 30.0) ** 2, "uniform").pvalue > 1e-3


@pytest.mark.parametrize(
    ("nodes", "more", "says"),
    [
        (
            {"placement": "square"},
            {"mobility": {"kind": "random_waypoint"}},
            r"random_waypoint.: moves nodes in the disc .* into a square; set placement = .disc",
        ),
        (
            {"placement": "square"},
            {"mobility": {"kind": "gauss_markov"}},
            r"gauss_markov.: moves nodes in the disc",
        ),
        ({"placement": "disc", "side_m": 5.0}, {}, r"side_m is read only with placement = .square"),
        ({"placement": "square", "side_m": 0.0}, {}, r"side_m"),
        ({"placement": "square", "height_m": 2.0, "heights_m": [1.0]}, {}, r"one height a node"),
    ],
)
def test_what_does_not_go_with_a_square_is_refused(nodes, more, says):
    with pytest.raises(ScenarioError, match=says):
        places(nodes, **more)
