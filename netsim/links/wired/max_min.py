"""Max-min fair rates of flows that share bottlenecks, by progressive filling.

Source: Bertsekas and Gallager, Data Networks, 2nd ed., section 6.5.2. SimGrid gives its flows the
same rates.
"""

import heapq
from collections.abc import Hashable, Mapping, Sequence
from typing import TypeVar

F = TypeVar("F", bound=Hashable)
R = TypeVar("R", bound=Hashable)


def max_min(paths: Mapping[F, Sequence[R]], capacity: Mapping[R, float]) -> dict[F, float]:
    """The max-min fair rates: none can grow but at the cost of one that is no greater.

    All rates grow alike until a resource is full; the flows that cross it keep their rates, the
    others grow on. O((flows x path length) log(resources)).

    Parameters
    ----------
    paths : mapping of flow to sequence of resources
        At least one resource each, none twice.
    capacity : mapping of resource to float
        Not negative, of every resource that a path has.

    Returns
    -------
    dict of flow to float
        In the unit of the capacities.
    """
    crossing: dict[R, dict[F, None]] = {}
    for flow, path in paths.items():
        for resource in path:
            crossing.setdefault(resource, {})[flow] = None
    left = {resource: capacity[resource] for resource in crossing}
    order = {resource: k for k, resource in enumerate(crossing)}
    # the rate at which a resource is full; an entry that is out of date is too low, never too high
    levels = [(left[r] / len(crossing[r]), order[r], r) for r in crossing]
    heapq.heapify(levels)
    rates: dict[F, float] = {}
    while levels:
        level, _, resource = heapq.heappop(levels)
        flows = crossing[resource]
        if not flows:
            continue
        now = left[resource] / len(flows)
        if now > level:
            heapq.heappush(levels, (now, order[resource], resource))
            continue
        for flow in list(flows):
            rates[flow] = now
            for other in paths[flow]:
                del crossing[other][flow]
                left[other] = max(0.0, left[other] - now)
    return rates
