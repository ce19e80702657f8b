"""Every node may talk to every other."""

from typing import Literal

from netsim.errors import ScenarioError
from netsim.topology import Site, Topology

_MAX_NODES = 10_000
"""The list of all pairs takes 8 bytes an entry: 0.8 GB at this size."""


class Complete(Topology):
    """The complete graph, for up to 10,000 nodes."""

    kind: Literal["complete"] = "complete"

    def neighbours(self, site: Site) -> list[tuple[int, ...]]:
        """The neighbours of every node; see the base class."""
        nodes = site.nodes
        if nodes > _MAX_NODES:
            raise ScenarioError(
                f'[topology] kind = "complete": {nodes} nodes have {nodes * (nodes - 1)} links, at '
                f'most {_MAX_NODES} nodes are possible; choose "random_regular" or "erdos_renyi"'
            )
        everyone = tuple(range(nodes))
        return [everyone[:i] + everyone[i + 1 :] for i in everyone]
