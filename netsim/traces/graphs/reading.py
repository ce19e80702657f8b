"""Read a graph file, in whatever format it is."""

from collections.abc import Callable
from functools import partial

from netsim.traces.files import Text, as_seen, quote
from netsim.traces.graphs import (
    Edge,
    Graph,
    edge_lists,
    formats,
    line_formats,
    text_formats,
    xml_formats,
)

_READERS: dict[str, Callable[[Graph], None]] = {
    formats.GRAPHML: xml_formats.read_graphml,
    formats.GEXF: xml_formats.read_gexf,
    formats.SNDLIB_XML: xml_formats.read_sndlib_xml,
    formats.SNDLIB: text_formats.read_sndlib,
    formats.JSON: text_formats.read_json,
    formats.MATRIX_MARKET: text_formats.read_matrix_market,
    formats.PAJEK: text_formats.read_pajek,
    formats.GML: text_formats.read_gml,
    formats.DIMACS: line_formats.read_dimacs,
    formats.CAIDA: line_formats.read_caida,
    formats.ADJACENCY_LIST: line_formats.read_adjacency_list,
    formats.ROCKETFUEL_MAP: line_formats.read_rocketfuel_map,
}


def read_graph(text: Text, drop_self_loops: bool = False, columns_named: bool = False) -> Graph:
    """Read a graph in a format that its beginning tells; see `docs/formats.md`.

    Parameters
    ----------
    text : Text
    drop_self_loops : bool
        Whether links of a node to itself are left out; otherwise they are an error.
    columns_named : bool
        Whether the user has said which columns of an edge list are which.

    Raises
    ------
    DataError
        If it is in a format that is not read, malformed, holds no edge, or links a node to itself.
    """
    graph = Graph(text)
    name = formats.format_of(text.content)
    if name in formats.NOT_READ:
        raise text.error(f"is {name}, which is not read as a graph; {formats.NOT_READ[name]}")
    _READERS.get(name, partial(edge_lists.read_edge_list, columns_named=columns_named))(graph)
    if not graph.edges:
        raise text.error(
            f"holds no edge (it is taken for {name}); an edge list has two node ids a line"
        )
    graph.edges[:] = [_with_own_direction(graph, edge) for edge in graph.edges]
    seen: dict[str, str] = {}
    for node in graph.nodes:
        if seen.setdefault(as_seen(node), node) != node:
            raise text.error(
                f"the ids {quote(ascii(seen[as_seen(node)]))} and {quote(ascii(node))} differ in "
                "blanks alone, or in signs that are not seen; write them alike"
            )
    loops = [edge for edge in graph.edges if edge.a == edge.b]
    if loops and not drop_self_loops:
        raise text.error(
            f"node {quote(loops[0].a)} is linked to itself ({len(loops)} such edges); take them "
            "out, or set drop_self_loops = true",
            loops[0].line,
        )
    graph.edges[:] = [edge for edge in graph.edges if edge.a != edge.b]
    return graph


_DIRECTIONS = {"directed": True, "undirected": False, "true": True, "false": False} | {
    "1": True, "0": False, "yes": True, "no": False,
}  # fmt: skip


def _with_own_direction(graph: Graph, edge: Edge) -> Edge:
    """The edge as it says itself in its data: Gephi's `Type`, or `directed`.

    Raises
    ------
    DataError
        If `directed` is neither true nor false.
    """
    for name, word in edge.values.items():
        said = _DIRECTIONS.get(word.lower())
        if name.lower() == "type" and word.lower() in ("directed", "undirected"):
            return edge._replace(directed=bool(said))
        if name.lower() == "directed" and word:
            if said is None:
                raise graph.text.error(
                    f"the edge {quote(edge.a)} - {quote(edge.b)} has directed = {quote(word)}, "
                    "neither true nor false",
                    edge.line,
                )
            return edge._replace(directed=said)
    return edge
