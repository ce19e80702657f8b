"""Graphs of other programs: what a graph file holds, whatever its format.

`reading` recognises the format and reads the file; `formats` recognises, and every other module of
the folder reads formats that are alike.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from netsim.traces.files import Text, parse_number, quote

_ON_EARTH = (
    (("Latitude", "latitude", "LATITUDE", "lat", "Lat", "LAT"), 90),
    (("Longitude", "longitude", "LONGITUDE", "lon", "Lon", "LON", "lng", "Lng", "LNG"), 360),
)
"""Names of the data of a node that place it on Earth, and the most degrees."""
MOST_NODES = 2_500_000
"""A file may promise so many nodes: each that has no line of its own takes 300 bytes."""


class Edge(NamedTuple):
    """An edge between two nodes, as the file states it.

    Attributes
    ----------
    a, b : str
        Ids of its ends.
    line : int or None
        Line in the file, from 1; None where the format has no lines.
    values : dict of str to str
        Its data by name; in an edge list also by the number of the column, "3", "4", ...
    directed : bool
        Whether it leads from `a` to `b` only.
    """

    a: str
    b: str
    line: int | None
    values: dict[str, str]
    directed: bool = False


@dataclass
class Graph:
    """The content of a graph file.

    Attributes
    ----------
    text : Text
        The file, for errors.
    nodes : dict of str to dict
        Ids in order of appearance, with the data of each node by name.
    edges : list of Edge
    declares : bool
        Whether the file lists its nodes; else they are those that edges name.
    columns : dict of str to str
        Of an edge list, numbers of the columns beside the ids, and the names that a header gives
        them.
    """

    text: Text
    nodes: dict[str, dict[str, str]] = field(default_factory=dict)
    edges: list[Edge] = field(default_factory=list)
    declares: bool = False
    columns: dict[str, str] = field(default_factory=dict)

    def declare(self, name: str, values: dict[str, str], line: int | None = None) -> None:
        """Add a node that a file declares.

        Parameters
        ----------
        name : str
            Its id in the file.
        values : dict of str to str
            Its attributes.
        line : int or None
            Where the file declares it.

        Raises
        ------
        DataError
            If there is a node of that id already.
        """
        if name in self.nodes:
            raise self.text.error(f"two nodes have the id {quote(name)}", line)
        self.nodes[name] = values
        self.declares = True

    def declare_counted(self, nodes: int, line: int | None = None) -> None:
        """Add the nodes 1 to so many, of which a file states the number alone."""
        if nodes > MOST_NODES:
            raise self.text.error(f"promises more than {MOST_NODES:,} nodes", line)
        self.nodes.update((str(k), {}) for k in range(1, nodes + 1))
        self.declares = True

    def link(self, edge: Edge) -> None:
        """Add an edge between declared nodes."""
        for end in (edge.a, edge.b):
            if end not in self.nodes:
                raise self.text.error(
                    f"the edge {quote(edge.a)} - {quote(edge.b)} names node {quote(end)}, which is "
                    "not declared",
                    edge.line,
                )
        self.edges.append(edge)

    def one_way(self) -> list[Edge]:
        """The edges without an edge in the other direction."""
        there = {(edge.a, edge.b) for edge in self.edges}
        both = {frozenset((e.a, e.b)) for e in self.edges if not e.directed}
        return [
            e
            for e in self.edges
            if e.directed and (e.b, e.a) not in there and frozenset((e.a, e.b)) not in both
        ]


def truth_or_number(cell: str) -> float | None:
    """The number of a cell of a matrix, 1 and 0 for true and false; None if it is neither.

    Parameters
    ----------
    cell : str
    """
    return {"true": 1.0, "false": 0.0}.get(cell.lower(), parse_number(cell))


def by_name(
    text: Text, found: Iterable[tuple[str, str]], what: str, line: int | None
) -> dict[str, str]:
    """Values by name.

    Parameters
    ----------
    text : Text
        The file, for errors.
    found : iterable of (str, str)
        Names and values.
    what : str
        What has them, such as "an <edge>".
    line : int or None
        Where it is in the file.

    Raises
    ------
    DataError
        If a name occurs twice: nothing says which of its values is meant.
    """
    values: dict[str, str] = {}
    for name, value in found:
        if name in values:
            raise text.error(
                f"{what} has two values of {quote(name)}: {quote(values[name])} and "
                f"{quote(value)}; leave one, or give them names of their own",
                line,
            )
        values[name] = value
    return values


def components(nodes: list[str], edges: list[Edge]) -> list[list[str]]:
    """The connected components, largest first; directions do not matter.

    In each, nodes are in breadth-first order from the one with most neighbours, so that its first n
    nodes are connected, too.
    """
    near: dict[str, dict[str, None]] = {name: {} for name in nodes}
    for edge in edges:
        near[edge.a][edge.b] = near[edge.b][edge.a] = None
    found: list[list[str]] = []
    seen: set[str] = set()
    for start in sorted(nodes, key=lambda name: -len(near[name])):  # stable: ties as in the file
        if start in seen:
            continue
        seen.add(start)
        reached = [start]
        for name in reached:
            fresh = [other for other in near[name] if other not in seen]
            seen.update(fresh)
            reached += fresh
        found.append(reached)
    return sorted(found, key=len, reverse=True)


def distance_m(graph: Graph, edge: Edge) -> float | None:
    """Great-circle distance between the ends of an edge, or None where the file does not say.

    Raises
    ------
    DataError
        If a `Latitude` or `Longitude` is no number of degrees.
    """
    places = [_degrees(graph, edge, name) for name in (edge.a, edge.b)]
    if places[0] is None or places[1] is None:
        return None
    (lat_a, lon_a), (lat_b, lon_b) = (map(math.radians, place) for place in places if place)
    half = (
        math.sin((lat_a - lat_b) / 2) ** 2
        + math.cos(lat_a) * math.cos(lat_b) * math.sin((lon_a - lon_b) / 2) ** 2
    )
    return 2 * 6_371_000.0 * math.asin(math.sqrt(min(1.0, half)))


def has_place(graph: Graph, name: str) -> bool:
    """Return whether a file states the latitude and longitude of a node."""
    return all(any(graph.nodes[name].get(key) for key in keys) for keys, _ in _ON_EARTH)


def _degrees(graph: Graph, edge: Edge, name: str) -> tuple[float, float] | None:
    found = []
    values = graph.nodes[name]
    for keys, most in _ON_EARTH:
        key = next((key for key in keys if values.get(key)), None)
        if key is None:
            return None
        word = values[key]
        value = parse_number(word)
        if value is None or not -most <= value <= most:
            raise graph.text.error(
                f"node {quote(name)} has {key} = {quote(word)}, which is no number of degrees; "
                "correct it, or set distances = false",
                edge.line,
            )
        found.append(value)
    return found[0], found[1]
