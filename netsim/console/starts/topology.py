"""A ring in which every node also knows the one opposite."""

from typing import Literal

from netsim.registry import Count
from netsim.topology import Site, Topology


class Starting(Topology):
    """The cycle 0, 1, ..., n-1, 0 with chords.

    Attributes
    ----------
    chords : int
        How many nodes around the opposite one each node knows.
    """

    kind: Literal["starting"] = "starting"
    chords: Count = 1

    def neighbours(self, site: Site) -> list[tuple[int, ...]]:
        """Ascending ids without the node's own; j has i wherever i has j."""
        n = site.nodes
        steps = {1, *(n // 2 + k for k in range(self.chords))}
        links = {(i, (i + step) % n) for i in range(n) for step in steps}
        both = links | {(j, i) for i, j in links}
        return [tuple(sorted(j for i, j in both if i == own != j)) for own in range(n)]
