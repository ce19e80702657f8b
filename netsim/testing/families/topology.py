"""Topologies: symmetric, sorted, without loops, a function of the seed."""

import numpy as np

from netsim.rng import Streams
from netsim.testing.case import ComponentCase
from netsim.testing.small_world import require
from netsim.topology import Site, Topology


def site(nodes: int, seed: int = 0) -> Site:
    """So many nodes spread over a disc of 100 m, in range of each other up to 80 m."""
    draws = np.random.default_rng(nodes)
    positions_m = draws.uniform(-70.0, 70.0, (nodes, 2))
    return Site(nodes, Streams(seed), positions_m=positions_m, range_m=80.0)


def check(topology: Topology, case: ComponentCase | None = None) -> None:
    """Check a topology of 6 and of 20 nodes, with two seeds."""
    for nodes in (6, 20):
        neighbours = topology.neighbours(site(nodes))
        require(len(neighbours) == nodes, f"{nodes} nodes have {len(neighbours)} neighbour lists")
        for i, peers in enumerate(neighbours):
            require(isinstance(peers, tuple), f"node {i}: neighbours are {peers!r}, not a tuple")
            require(list(peers) == sorted(set(peers)), f"node {i}: {peers} is not ascending")
            require(i not in peers, f"node {i} is a neighbour of itself")
            strange = [j for j in peers if not 0 <= j < nodes]
            require(not strange, f"node {i}: there are no nodes {strange}")
            lonely = [j for j in peers if i not in neighbours[j]]
            require(not lonely, f"node {i} has neighbours {lonely}, which do not have it")
        require(
            topology.neighbours(site(nodes)) == neighbours,
            "asked twice, the neighbours are others: draw from site.streams alone",
        )
