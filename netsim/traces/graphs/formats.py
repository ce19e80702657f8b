"""Recognise the format of a graph file by how it begins, whatever its name ends with."""

import re
from typing import Final

GRAPHML: Final = "GraphML"
GEXF: Final = "GEXF"
SNDLIB_XML: Final = "SNDlib's XML"
SNDLIB: Final = "SNDlib's native format"
JSON: Final = "JSON"
MATRIX_MARKET: Final = "MatrixMarket"
PAJEK: Final = "Pajek"
GML: Final = "GML"
DIMACS: Final = "DIMACS"
CAIDA: Final = "CAIDA's AS relationships"
ADJACENCY_LIST: Final = "an adjacency list of networkx"
ROCKETFUEL_MAP: Final = "a router map of Rocketfuel"
EDGE_LIST: Final = "an edge list"

BY_NETWORKX = (
    "write it in another format, as with networkx.write_graphml(G, {out!r}), where G is {read}"
)
_BY_HAND = "write it as an edge list (two node ids a line) or as GraphML"

NOT_READ: dict[str, str] = {
    "GraphViz's DOT": BY_NETWORKX.format(
        out="graph.graphml", read="networkx.nx_pydot.read_dot of this file"
    ),
    "GDF": "export it from Gephi as GraphML",
    "UCINET's DL": _BY_HAND,
    "LEDA": BY_NETWORKX.format(out="graph.graphml", read="networkx.read_leda of this file"),
    "graph6 or sparse6": BY_NETWORKX.format(
        out="graph.graphml", read="networkx.read_graph6 or read_sparse6 of this file"
    ),
    "a topology of BRITE": _BY_HAND,
    "a GraphBase file of GT-ITM": _BY_HAND,
    "TGF": "leave out its list of nodes and the line with # alone",
    "LGL": _BY_HAND,
    "a network of SUMO": "a road network says not who may talk to whom",
    "a movement trace of SUMO": 'name it with [mobility] kind = "sumo"',
    "a movement trace of ns-2": 'name it with [mobility] kind = "ns2"',
    "an XML file of another kind": "GraphML, GEXF and SNDlib's networks are read",
    "a web page": "save the file itself, not the page that shows it",
}
"""Formats that are recognised but not read: what to do instead."""

_ROOTS = {
    "graphml": GRAPHML,
    "gexf": GEXF,
    "network": SNDLIB_XML,
    "net": "a network of SUMO",
    "fcd-export": "a movement trace of SUMO",
    "html": "a web page",
}

_MOST_READ = 1 << 16
"""Signs at the beginning that tell the format."""

_COMMENT = r"[ \t]*(?:[#%][^\n]*)?\n"

_BEGINNINGS: tuple[tuple[str, str], ...] = (
    (SNDLIB, r"\?SNDlib native format"),
    (MATRIX_MARKET, r"%%MatrixMarket\b"),
    ("graph6 or sparse6", r">>(graph6|sparse6|digraph6)<<"),
    ("LEDA", r"(#[^\n]*\n)*LEDA\.GRAPH\b"),
    ("GDF", r"nodedef>"),
    ("UCINET's DL", r"dl\s+(n\s*=|nr\s*=|format\b|\d)"),
    ("a topology of BRITE", r"Topology:\s*\("),
    ("a GraphBase file of GT-ITM", r"\*\s*GraphBase\b"),
    ("a movement trace of ns-2", rf"({_COMMENT})*\$(node_|ns_|god_)"),
    (PAJEK, rf"({_COMMENT})*\*(network|vertices|arcs|edges|matrix)\b"),
    ("GraphViz's DOT", r"((//|#)[^\n]*\n|/\*[^*]*\*/|\s)*(strict\s+)?(di)?graph\b[^\[\n{]*\s*\{"),
    (GML, r"(#[^\n]*\n|[ \t\r]*\n|[ \t]*(Creator|Version|comment)\b[^\n]*\n)*[ \t]*graph\s*\["),
    (DIMACS, r"(c\b[^\n]*\n|[ \t\r]*\n)*p[ \t]+[a-z]+[ \t]+\d+[ \t]+\d+[ \t\r]*$"),
    (ROCKETFUEL_MAP, rf"({_COMMENT})*-?\d+ @\S+.*->"),
    (CAIDA, rf"({_COMMENT})*\d+\|\d+\|(-1|0|1|2)\s*(\||$)"),
    (ADJACENCY_LIST, r"#[^\n]*\n\s*# GMT [^\n]*\n"),
    ("LGL", r"# *[^\s#]+ *\n(?!\s*#)[^\n]+\n(?:(?!#)[^\n]+\n)*# *[^\s#]+ *(\n|$)"),
    ("TGF", r"(?![#%])[^\n]+\n(?:(?!#[ \t\r]*$)[^\n]*\n)*#[ \t]*\r?\n\s*\S"),
)
"""Beginnings of files, in the order in which they are tried; `$` is the end of a line."""


def format_of(content: str) -> str:
    """The format of a text that holds a graph; an edge list where it is none of the others."""
    content = content.lstrip()[:_MOST_READ]
    if content[:1] == "<":
        return _of_xml(content)
    if content[:1] in ("{", "["):
        return JSON
    for name, beginning in _BEGINNINGS:
        if re.match(beginning, content, re.IGNORECASE | re.MULTILINE):
            return name
    return EDGE_LIST


def _of_xml(content: str) -> str:
    """Return the format that the first element tells."""
    root = re.search(r"<(?:[A-Za-z][\w.-]*:)?([A-Za-z][\w.-]*)", content)
    name = "" if root is None else root[1].lower()
    return _ROOTS.get(name, "an XML file of another kind")
