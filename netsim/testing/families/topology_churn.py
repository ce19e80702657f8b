"""Churn: switches that come one after the other, a function of seed and node."""

from itertools import islice

from netsim.rng import Streams
from netsim.testing.case import ComponentCase
from netsim.testing.small_world import require
from netsim.topology.churn import Churn


def check(churn: Churn, case: ComponentCase) -> None:
    """Check the first hundred switches of three nodes."""

    def switches() -> list[tuple[bool, list[int]]] | None:
        found = churn.periods([0, 1, 2], Streams(0), None)
        return None if found is None else [(p.on, list(islice(p.switches_ns, 100))) for p in found]

    found = switches()
    if found is None:
        return
    require(len(found) == 3, f"3 nodes have {len(found)} periods")
    for node, (_, times) in enumerate(found):
        ascending = all(a < b for a, b in zip([0, *times], times, strict=False))
        require(ascending, f"node {node}: switches must be positive and ascend: {times[:5]}")
    require(switches() == found, "asked twice, nodes are switched at other times")
