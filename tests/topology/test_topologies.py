import pytest

from netsim.errors import ScenarioError
from netsim.registry import family
from netsim.rng import Streams
from netsim.testing.families.topology import check as check_topology
from netsim.topology import Site, Topology
from netsim.topology.barabasi_albert import BarabasiAlbert
from netsim.topology.bipartite import Bipartite
from netsim.topology.circulant import Circulant
from netsim.topology.complete import Complete
from netsim.topology.erdos_renyi import ErdosRenyi
from netsim.topology.grid import Grid
from netsim.topology.group_ring import GroupRing
from netsim.topology.hub import Hub
from netsim.topology.random_regular import RandomRegular
from netsim.topology.ring import Ring
from netsim.topology.stochastic_block import StochasticBlock
from netsim.topology.torus import Torus
from netsim.topology.watts_strogatz import WattsStrogatz

RANDOM = [
    RandomRegular(degree=4),
    ErdosRenyi(probability=0.3),
    WattsStrogatz(degree=4, rewiring=0.5),
    BarabasiAlbert(links=2),
    StochasticBlock(blocks=3),
    Bipartite(links=2),
]
MEMBERS = [*RANDOM, GroupRing(links=4), Complete(), Ring(), Hub(), Grid(), Torus(), Circulant()]
ELSEWHERE = {"geometric", "file", "contacts", "plus_grid"}
"""They need places or files."""


def test_every_member_of_the_family_is_tested():
    found = family("netsim.topology")
    assert set(found) == {member.kind for member in MEMBERS} | ELSEWHERE
    assert all(issubclass(member, Topology) for member in found.values())


@pytest.mark.parametrize("topology", MEMBERS, ids=lambda t: t.kind)
def test_neighbours_are_symmetric_sorted_and_without_self(topology):
    check_topology(topology)


@pytest.mark.parametrize(
    "topology", [Complete(), Ring(), Hub(), Grid(), Torus(), ErdosRenyi(probability=1)]
)
def test_a_single_node_is_alone(topology):
    assert topology.neighbours(Site(1, Streams(0))) == [()]


@pytest.mark.parametrize("topology", RANDOM, ids=lambda t: t.kind)
def test_random_graphs_depend_on_the_seed_only(topology):
    first = topology.neighbours(Site(20, Streams(3)))
    assert first == topology.neighbours(Site(20, Streams(3)))
    assert first != topology.neighbours(Site(20, Streams(4)))


def test_complete_links_all_pairs():
    assert Complete().neighbours(Site(4, Streams(0))) == [
        (1, 2, 3),
        (0, 2, 3),
        (0, 1, 3),
        (0, 1, 2),
    ]


def test_complete_refuses_what_would_fill_the_memory():
    with pytest.raises(ScenarioError, match="at most 10000 nodes"):
        Complete().neighbours(Site(100_000, Streams(0)))


def test_ring_links_the_ends():
    assert Ring().neighbours(Site(4, Streams(0))) == [(1, 3), (0, 2), (1, 3), (0, 2)]
    assert Ring().neighbours(Site(2, Streams(0))) == [(1,), (0,)]


def test_hub_is_the_last_node_unless_told():
    assert Hub().neighbours(Site(4, Streams(0))) == [(3,), (3,), (3,), (0, 1, 2)]
    assert Hub(centre=1).neighbours(Site(3, Streams(0))) == [(1,), (0, 2), (1,)]
    with pytest.raises(ScenarioError, match="centre = 3: there are 3 nodes"):
        Hub(centre=3).neighbours(Site(3, Streams(0)))


def test_random_regular_has_its_degree():
    assert {len(p) for p in RandomRegular(degree=3).neighbours(Site(50, Streams(1)))} == {3}


@pytest.mark.parametrize(("degree", "nodes"), [(3, 5), (5, 5), (6, 5)])
def test_random_regular_refuses_degrees_that_can_not_be(degree, nodes):
    with pytest.raises(ScenarioError, match=f"degree = {degree}: no such graph has {nodes} nodes"):
        RandomRegular(degree=degree).neighbours(Site(nodes, Streams(0)))


def test_erdos_renyi_has_the_expected_number_of_links():
    # 400 nodes, 79,800 pairs, p = 0.05: 3,990 links, deviation sqrt(79800 * 0.0475) = 61.6.
    degrees = [len(p) for p in ErdosRenyi(probability=0.05).neighbours(Site(400, Streams(0)))]
    assert abs(sum(degrees) / 2 - 3990) < 4 * 61.6


def test_large_sparse_graphs_are_cheap():
    """By pairs, 2e8 of them, this would take minutes."""
    degrees = [len(p) for p in ErdosRenyi(probability=1e-4).neighbours(Site(20_000, Streams(0)))]
    # 2e8 pairs, p = 1e-4: 20,000 links, deviation 141.
    assert abs(sum(degrees) / 2 - 19_999) < 4 * 141.4


def test_a_bipartite_graph_links_every_node_to_as_many_of_the_other_half():
    neighbours = Bipartite(links=10).neighbours(Site(100, Streams(1)))
    assert {len(peers) for peers in neighbours} == {10}
    half = {0}
    for _ in range(10):  # everybody two links away is of the same half
        half |= {k for i in half for j in neighbours[i] for k in neighbours[j]}
    assert len(half) == 50
    assert all(half.isdisjoint(neighbours[i]) for i in half)


@pytest.mark.parametrize(("nodes", "links"), [(7, 2), (8, 5)])
def test_a_bipartite_graph_needs_two_halves_with_room_for_its_links(nodes, links):
    with pytest.raises(ScenarioError, match="an even number of nodes"):
        Bipartite(links=links).neighbours(Site(nodes, Streams(0)))


def test_a_group_ring_links_the_nearest_on_both_sides():
    neighbours = GroupRing(links=4).neighbours(Site(8, Streams(0)))
    assert neighbours[0] == (1, 2, 6, 7)
    assert neighbours[5] == (3, 4, 6, 7)
    with pytest.raises(ScenarioError, match="at most 3 others"):
        GroupRing(links=4).neighbours(Site(4, Streams(0)))
