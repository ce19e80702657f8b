"""Grids, lattices, random graph models and places: degrees, borders, what is refused."""

import math

import numpy as np
import pytest

from netsim.errors import ScenarioError
from netsim.rng import Streams
from netsim.topology import Site, component_sizes
from netsim.topology.barabasi_albert import BarabasiAlbert
from netsim.topology.circulant import Circulant
from netsim.topology.geometric import Geometric
from netsim.topology.grid import Grid
from netsim.topology.stochastic_block import StochasticBlock
from netsim.topology.torus import Torus
from netsim.topology.watts_strogatz import WattsStrogatz


def site(nodes, seed=0, **more):
    return Site(nodes, Streams(seed), **more)


def degrees(topology, nodes):
    return [len(peers) for peers in topology.neighbours(site(nodes))]


def test_a_grid_has_borders_and_a_torus_none():
    assert Grid().neighbours(site(6)) == [(1, 3), (0, 2, 4), (1, 5), (0, 4), (1, 3, 5), (2, 4)]
    assert sorted(degrees(Grid(), 16)) == [2] * 4 + [3] * 8 + [4] * 4
    assert set(degrees(Torus(), 16)) == {4}
    assert Torus().neighbours(site(16))[0] == (1, 3, 4, 12)


def test_a_grid_is_as_square_as_its_nodes_allow_unless_told():
    assert Grid().neighbours(site(12))[0] == (1, 4)  # 3 x 4
    assert Grid(rows=2).neighbours(site(12))[0] == (1, 6)
    assert set(degrees(Torus(rows=1), 13)) == {2}
    with pytest.raises(ScenarioError, match="13 nodes fill no rectangle but a single row"):
        Torus().neighbours(site(13))
    with pytest.raises(ScenarioError, match=r"rows = 5: 12 nodes .* one of 1, 2, 3, 4, 6, 12"):
        Grid(rows=5).neighbours(site(12))


def test_a_circulant_links_its_offsets():
    assert Circulant(offsets=(1, 2, 10)).neighbours(site(20))[0] == (1, 2, 10, 18, 19)
    with pytest.raises(ScenarioError, match="offsets: 11 is more than half way around 20 nodes"):
        Circulant(offsets=(1, 11)).neighbours(site(20))


def test_watts_strogatz_starts_from_the_lattice_and_keeps_its_links_in_number():
    lattice = Circulant(offsets=(1, 2)).neighbours(site(30))
    assert WattsStrogatz(degree=4, rewiring=0.0).neighbours(site(30)) == lattice
    rewired = WattsStrogatz(degree=4, rewiring=0.5)
    assert sum(degrees(rewired, 30)) == 30 * 4
    for degree in (3, 30):
        with pytest.raises(ScenarioError, match=f"degree = {degree}: must be even and under"):
            WattsStrogatz(degree=degree).neighbours(site(30))


def test_barabasi_albert_is_connected_and_has_hubs():
    found = BarabasiAlbert(links=2).neighbours(site(500))
    assert component_sizes(found) == [500]
    assert sum(map(len, found)) == 2 * 2 * (500 - 2)
    # an Erdos-Renyi graph of this mean degree, 4, has no node over about 14
    assert max(map(len, found)) > 20
    with pytest.raises(ScenarioError, match="links = 5: must be under the number of nodes, 5"):
        BarabasiAlbert(links=5).neighbours(site(5))


@pytest.mark.slow
def test_blocks_are_linked_within_and_across_as_told():
    found = StochasticBlock(blocks=2, within=0.3, between=0.02).neighbours(site(400))
    block = [i // 200 for i in range(400)]
    within = sum(block[i] == block[j] for i in range(400) for j in found[i]) / 2
    between = sum(block[i] != block[j] for i in range(400) for j in found[i]) / 2
    # 39,800 pairs at .3: 11,940, sd 91.4; 40,000 pairs at .02: 800, sd 28
    assert abs(within - 11_940) < 4 * 91.4
    assert abs(between - 800) < 4 * 28
    with pytest.raises(ScenarioError, match="blocks = 6: there are only 5 nodes"):
        StochasticBlock(blocks=6).neighbours(site(5))


def test_geometric_links_all_pairs_within_its_radius():
    places = np.random.default_rng(0).uniform(0, 100, (60, 2))
    found = Geometric(radius_m=20).neighbours(site(60, positions_m=places))
    for i in range(60):
        near = [j for j in range(60) if j != i and math.dist(places[i], places[j]) <= 20]
        assert list(found[i]) == near


def test_geometric_takes_the_range_of_the_radio_unless_told():
    places = np.array([[0.0, 0.0], [50.0, 0.0], [130.0, 0.0]])
    assert Geometric().neighbours(site(3, positions_m=places, range_m=60.0)) == [(1,), (0,), ()]
    wrapped = Geometric(radius_m=40, wrap_m=140.0)
    assert wrapped.neighbours(site(3, positions_m=places)) == [(2,), (), (0,)]


def test_geometric_says_what_it_needs():
    with pytest.raises(ScenarioError, match=r'needs places; set .* placement = "disc"'):
        Geometric(radius_m=1).neighbours(site(3))
    with pytest.raises(ScenarioError, match="there is no range; set radius_m"):
        Geometric().neighbours(site(3, positions_m=np.zeros((3, 2))))


def test_components_are_counted():
    assert component_sizes([(1,), (0,), (), (4, 5), (3,), (3,)]) == [3, 2, 1]
    assert component_sizes([()]) == [1]
