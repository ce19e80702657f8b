"""Graphs against spectral and percolation theory: mixing rates, connectivity."""

import math

import numpy as np
import pytest

from netsim.rng import Streams
from netsim.topology import Site, component_sizes
from netsim.topology.circulant import Circulant
from netsim.topology.complete import Complete
from netsim.topology.geometric import Geometric
from netsim.topology.ring import Ring
from netsim.topology.torus import Torus

pytestmark = pytest.mark.closed_forms


def lambda_2(topology, nodes):
    """Second largest eigenvalue of the Metropolis mixing matrix of a graph."""
    neighbours = topology.neighbours(Site(nodes, Streams(0)))
    w = np.zeros((nodes, nodes))
    for i, peers in enumerate(neighbours):
        for j in peers:
            w[i, j] = 1.0 / (1 + max(len(peers), len(neighbours[j])))
        w[i, i] = 1.0 - w[i].sum()
    return np.linalg.eigvalsh(w)[-2]


@pytest.mark.parametrize(
    ("topology", "nodes", "value"),
    [
        (Ring(), 16, (1 + 2 * math.cos(math.pi / 8)) / 3),
        (Torus(), 16, 3 / 5),
        (Complete(), 16, 0.0),
        (Circulant(offsets=(1, 2, 10)), 20, 0.706011),
    ],
    ids=["ring", "torus", "complete", "circulant"],
)
def test_mixing_rate_of_regular_graphs(topology, nodes, value):
    """Eigenvalues of circulant matrices: (1 + sum over offsets of cosines) / (1 + degree)."""
    assert lambda_2(topology, nodes) == pytest.approx(value, abs=1e-6)


def test_ring_of_16_as_tabulated():
    assert lambda_2(Ring(), 16) == pytest.approx(0.949253, abs=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize(("c", "connected"), [(2.0, 0.83)])
def test_a_random_geometric_graph_on_the_torus_is_connected(c, connected):
    """pi r^2 n = ln n + c: exp(-exp(-c)) = .8734 in the limit, .83 simulated at n = 1000."""
    nodes, draws = 1000, 100
    radius = math.sqrt((math.log(nodes) + c) / (math.pi * nodes))
    rng = np.random.default_rng(0)
    found = 0
    for _ in range(draws):
        places = rng.uniform(0, 1, (nodes, 2))
        site = Site(nodes, Streams(0), positions_m=places)
        graph = Geometric(radius_m=radius, wrap_m=1.0).neighbours(site)
        found += component_sizes(graph)[0] == nodes
    assert abs(found / draws - connected) < 4 * math.sqrt(connected * (1 - connected) / draws)
