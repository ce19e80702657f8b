"""Graph files: edge lists and GraphML, plain, gzipped or inside a zip."""

import math
import xml.etree.ElementTree as ET
from dataclasses import dataclass, field
from typing import NamedTuple

from netsim.traces.files import Text, fields, is_comment

_HEADERS = ({"source", "target"}, {"from", "to"}, {"src", "dst"}, {"node1", "node2"})


class Edge(NamedTuple):
    """An edge between two nodes, as the file states it.

    Attributes
    ----------
    a, b : str
        Ids of its ends.
    line : int or None
        Line in the file, from 1; None in GraphML.
    values : dict of str to str
        GraphML's data by attribute name; an edge list's further columns as "3", "4", ...
    """

    a: str
    b: str
    line: int | None
    values: dict[str, str]


@dataclass(frozen=True)
class Graph:
    """The content of a graph file.

    Attributes
    ----------
    text : Text
        The file, for errors.
    nodes : dict of str to dict
        Ids in order of appearance, with GraphML's data by attribute name.
    edges : list of Edge
    """

    text: Text
    nodes: dict[str, dict[str, str]] = field(default_factory=dict)
    edges: list[Edge] = field(default_factory=list)


def read_graph(text: Text, drop_self_loops: bool = False) -> Graph:
    """Read a graph, GraphML if it starts like XML, else an edge list (two ids a line, then values).

    Raises
    ------
    DataError
        If it is malformed, holds no edge, or links a node to itself (unless those are dropped).
    """
    graph = Graph(text)
    if text.content.lstrip()[:1] == "<":
        _read_graphml(graph)
    else:
        _read_edge_list(graph)
    if not graph.edges:
        raise text.wrong("holds no edge: an edge list has two node ids a line")
    loops = [edge for edge in graph.edges if edge.a == edge.b]
    if loops and not drop_self_loops:
        raise text.wrong(
            f"node {loops[0].a} is linked to itself ({len(loops)} such edges); take them out, or "
            "set drop_self_loops = true",
            loops[0].line,
        )
    graph.edges[:] = [edge for edge in graph.edges if edge.a != edge.b]
    return graph


def _read_edge_list(graph: Graph) -> None:
    first = True
    for at, line in enumerate(graph.text.content.splitlines(), start=1):
        if is_comment(line):
            continue
        words = fields(line)
        if first and {word.lower().strip('"') for word in words[:2]} in _HEADERS:
            first = False
            continue
        first = False
        if len(words) < 2 or not all(words[:2]):
            raise graph.text.wrong(f'"{line.strip()[:60]}" is not two node ids', at)
        a, b, *values = words
        graph.nodes.setdefault(a, {})
        graph.nodes.setdefault(b, {})
        graph.edges.append(Edge(a, b, at, {str(k): v for k, v in enumerate(values, start=3)}))


def _read_graphml(graph: Graph) -> None:
    text = graph.text
    try:
        root = ET.fromstring(text.content)
    except ET.ParseError as error:
        line, column = error.position
        raise text.wrong(f"is not valid XML at column {column + 1}: {error.msg}", line) from None
    if _tag(root) != "graphml":
        raise text.wrong(f"is XML, but its root is <{_tag(root)}>, not <graphml>")
    names = {
        key.get("id", ""): key.get("attr.name", key.get("id", ""))
        for key in root
        if _tag(key) == "key"
    }
    body = next((child for child in root if _tag(child) == "graph"), None)
    if body is None:
        raise text.wrong("holds no <graph>")

    def values(element: ET.Element) -> dict[str, str]:
        data = (child for child in element if _tag(child) == "data")
        return {names.get(d.get("key", ""), d.get("key", "")): (d.text or "").strip() for d in data}

    for element in body:
        if _tag(element) == "node":
            name = element.get("id")
            if name is None or name in graph.nodes:
                raise text.wrong("a <node> without an id" if name is None else f"two nodes {name}")
            graph.nodes[name] = values(element)
    for element in body:
        if _tag(element) == "edge":
            a, b = element.get("source"), element.get("target")
            for end in (a, b):
                if end not in graph.nodes:
                    raise text.wrong(f"the edge {a} - {b} names node {end}, which is not declared")
            assert a is not None
            assert b is not None
            graph.edges.append(Edge(a, b, None, values(element)))


def _tag(element: ET.Element) -> str:
    return element.tag.rpartition("}")[2]


def components(nodes: list[str], edges: list[Edge]) -> list[list[str]]:
    """The connected components, largest first.

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


def distance_m(a: dict[str, str], b: dict[str, str]) -> float | None:
    """Great-circle distance of two nodes with `Latitude` and `Longitude` in degrees, or None."""
    try:
        (lat_a, lon_a), (lat_b, lon_b) = (
            (math.radians(float(n["Latitude"])), math.radians(float(n["Longitude"])))
            for n in (a, b)
        )
    except (KeyError, ValueError):
        return None
    half = (
        math.sin((lat_a - lat_b) / 2) ** 2
        + math.cos(lat_a) * math.cos(lat_b) * math.sin((lon_a - lon_b) / 2) ** 2
    )
    return 2 * 6_371_000.0 * math.asin(math.sqrt(min(1.0, half)))
