"""All nodes may talk to one in the middle, and to nobody else: a server and its clients."""

from typing import Literal

from netsim.errors import ScenarioError
from netsim.registry import Index
from netsim.topology import Site, Topology


class Hub(Topology):
    """The star graph of graph theory: one hub, whose leaves have no other neighbour.

    (`star` is an exchange schedule here, in which one node at a time wakes.)

    Parameters
    ----------
    centre : int, optional
        Id of the node in the middle. Absent: the last.
    """

    kind: Literal["hub"] = "hub"
    centre: Index | None = None

    def neighbours(self, site: Site) -> list[tuple[int, ...]]:
        """The neighbours of every node; see the base class."""
        nodes = site.nodes
        centre = nodes - 1 if self.centre is None else self.centre
        if centre >= nodes:
            raise ScenarioError(
                f"[topology] centre = {centre}: there are {nodes} nodes; take 0 to {nodes - 1}"
            )
        others = tuple(i for i in range(nodes) if i != centre)
        return [others if i == centre else (centre,) for i in range(nodes)]
