"""Links of a constellation: +Grid between satellites, and to the ground stations that see them.

Source: the +Grid of Bhattacherjee and Singla, "Network topology design at 27,000 km/hour", CoNEXT
2019: every satellite has links to both neighbours in its plane and to its like in both adjacent
planes. A link is there for as long as both ends have sight of each other (`[mobility] kind =
"walker"`).
"""

from collections.abc import Callable
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from netsim.errors import ScenarioError
from netsim.topology import Site, Topology
from netsim.topology.mobility.walker import Orbits, Walker
from netsim.traces.contacts import Meetings
from netsim.units import FOREVER_NS, NS_PER_S

STEP_NS = 10 * NS_PER_S
"""Between two looks at a pair: half a degree of an orbit, over which its angle is a parabola."""
MOST_LOOKS = 300_000_000
"""They take about a minute."""

Margin = Callable[[NDArray[np.int64]], NDArray[np.float64]]
"""Instants [ns] -> a number that is at least 0 where a pair has sight."""


class PlusGrid(Topology):
    """Satellites of a Walker constellation and its ground stations, in contact while in sight.

    The first and last plane of a star, whose satellites fly against each other, have no links, and
    neither have two stations.

    Parameters
    ----------
    between : {"grid", "rings", "stations"}
        Links of satellites beside those to stations: to the neighbours in their planes and in the
        adjacent ones, to those in their planes, to none.
    """

    kind: Literal["plus_grid"] = "plus_grid"
    between: Literal["grid", "rings", "stations"] = "grid"

    def neighbours(self, site: Site) -> list[tuple[int, ...]]:
        """Nodes that each node ever has sight of; see the base class."""
        return self.meetings(site).neighbours()

    def meetings(self, site: Site) -> Meetings:
        """Contacts: the times at which pairs have sight of each other; see the base class."""
        if not isinstance(site.track, Orbits):
            raise ScenarioError(
                '[topology] kind = "plus_grid": is about satellites; set [mobility] kind = "walker"'
            )
        spans: dict[tuple[int, int], list[tuple[int, int]]] = {}
        pairs = sorted(self._pairs(site.track))
        looks = max(len(pairs), 30) * (site.horizon_ns // STEP_NS)
        if looks > MOST_LOOKS:
            raise ScenarioError(
                f'[topology] kind = "plus_grid": {len(pairs):,} pairs for so long are {looks:,} '
                f"looks at who sees whom, at most {MOST_LOOKS:,} are possible; shorten horizon_s"
            )
        for i, j in pairs:
            found = contact_windows(_margin(site.track, i, j), site.horizon_ns)
            if found:
                spans[i, j] = found
        return Meetings(site.nodes, spans)

    def _pairs(self, track: Orbits) -> set[tuple[int, int]]:
        of = track.of
        each = of.satellites // of.planes
        found = set()
        for node in range(of.satellites):
            plane, slot = divmod(node, each)
            linked = [plane * each + (slot + 1) % each] if self.between != "stations" else []
            if self.between == "grid":
                linked += self._neighbour_in_next_plane(of, plane, slot)
            found |= {(min(node, other), max(node, other)) for other in linked if other != node}
        stations = range(of.satellites, of.satellites + len(of.stations))
        return found | {(node, ground) for node in range(of.satellites) for ground in stations}

    @staticmethod
    def _neighbour_in_next_plane(of: Walker, plane: int, slot: int) -> list[int]:
        """The corresponding satellite in the next plane, if there is one."""
        each = of.satellites // of.planes
        if plane + 1 < of.planes:
            return [(plane + 1) * each + slot]
        if of.pattern == "delta":  # f planes of 360/t degrees each are f places of a plane
            return [(slot + of.phasing) % each]
        return []


def _margin(track: Orbits, i: int, j: int) -> Margin:
    one, other = np.array(i), np.array(j)
    return lambda time_ns: track.sight(one, other, time_ns)


def contact_windows(margin: Margin, horizon_ns: int) -> list[tuple[int, int]]:
    """Find when a smooth function is at least 0, to the nanosecond.

    Between two looks, `STEP_NS` apart, it may rise over 0 and fall again: turning points are found,
    too.

    Parameters
    ----------
    margin : callable
    horizon_ns : int

    Returns
    -------
    list of (int, int)
        [from, to) of each window that begins by the horizon, ascending; the last may have no end.
    """
    at = np.arange(-STEP_NS, horizon_ns + 2 * STEP_NS, STEP_NS)
    value = margin(at)
    size = np.abs(value)
    alike = (value[1:-1] < 0) == (value[:-2] < 0)
    alike &= (value[1:-1] < 0) == (value[2:] < 0)
    bend = np.abs(np.diff(value, 2))  # a parabola beyond three looks dips no farther than this
    turns = alike & (size[1:-1] <= np.minimum(size[:-2], size[2:])) & (size[1:-1] <= bend)
    if turns.any():
        at = np.unique(np.concatenate([at, _turning_points(margin, at[1:-1][turns])]))
        value = margin(at)
    inside = value >= 0
    flips = np.flatnonzero(inside[1:] != inside[:-1])
    low, high, was = at[flips], at[flips + 1], inside[flips]
    while (high - low > 1).any():
        middle = (low + high) // 2
        same = (margin(middle) >= 0) == was
        low, high = np.where(same, middle, low), np.where(same, high, middle)
    edges = [*([0] if inside[0] else []), *high.tolist()]
    edges += [FOREVER_NS] if inside[-1] else []
    pairs = zip(edges[::2], edges[1::2], strict=True)
    return [(max(0, a), b) for a, b in pairs if b > 0 and a <= horizon_ns]


def _turning_points(margin: Margin, near_ns: NDArray[np.int64]) -> NDArray[np.int64]:
    """Instants at which |margin| is least, within a step of each given one."""
    low, high = near_ns - STEP_NS, near_ns + STEP_NS
    side = np.where(margin(near_ns) < 0, -1.0, 1.0)
    while (high - low > 2).any():
        third = (high - low) // 3
        left, right = low + third, high - third
        falls = side * margin(left) > side * margin(right)
        low, high = np.where(falls, left, low), np.where(falls, high, right)
    return (low + high) // 2
