"""Harvest: powers that follow from seed, node and time, and are no less than 0."""

from netsim.devices.energy.harvest import Harvest, supply
from netsim.rng import Streams
from netsim.testing.case import ComponentCase
from netsim.testing.small_world import require
from netsim.units import NS_PER_S


def check(harvest: Harvest, case: ComponentCase) -> None:
    """Check three nodes for a minute, in any order: every piece lasts and has a power."""

    def at(order: range) -> dict[tuple[int, int], object]:
        given = supply(harvest, 3, Streams(0), None)
        assert given is not None
        return {(i, t): given.piece_at(i, t * NS_PER_S) for t in order for i in range(3)}

    if supply(harvest, 3, Streams(0), None) is None:
        return
    forward, backward = at(range(61)), at(range(60, -1, -1))
    require(forward == backward, "the power depends on what was asked before")
    given = supply(harvest, 3, Streams(0), None)
    assert given is not None
    for node, t in forward:
        until_ns, watt = given.piece_at(node, t * NS_PER_S)
        require(watt >= 0, f"node {node} harvests {watt:g} W at {t} s")
        require(
            until_ns is None or until_ns > t * NS_PER_S,
            f"node {node}: a piece ends at {until_ns} ns, before {t} s",
        )
