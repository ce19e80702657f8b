"""Graphs in formats of text with sections or nesting: GML, Pajek, JSON, MatrixMarket, SNDlib."""

import json
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

import networkx as nx

from netsim.errors import one_line
from netsim.traces.files import is_comment, parse_number, parsed_json, quote, whole_number
from netsim.traces.graphs import Edge, Graph
from netsim.traces.graphs.formats import BY_NETWORKX
from netsim.traces.graphs.xml_formats import link_values

_Values = dict[str, str]


def read_gml(graph: Graph) -> None:
    """Read GML (Himsolt, 1997) by networkx; links may be parallel whether it says so or not.

    Raises
    ------
    DataError
        If networkx can't read it, or an edge names a node that the file does not declare.
    """
    text = graph.text
    content = text.content
    if re.search(r"(?im)^\s*multigraph\s+1\s*$", content) is None:
        content = re.sub(r"(?im)^([ \t]*)graph\s*\[", r"\1graph [ multigraph 1", content, count=1)
    if len(re.findall(r"(?im)^\s*graph\s*\[", content)) > 1:
        raise text.error("holds several graphs; leave the one that is meant")
    ascii_only = content.encode("ascii", "xmlcharrefreplace").decode("ascii")
    try:
        found = nx.parse_gml(ascii_only.splitlines(), label="id")
    except RecursionError:
        raise text.error("is nested too deeply; write it as GraphML") from None
    except (nx.NetworkXError, LookupError, ValueError, TypeError, AttributeError) as error:
        line = re.search(r"line (\d+)|\((\d+), \d+\)", str(error))
        at = None if line is None else int(line[1] or line[2])
        raise text.error(
            f"is not valid GML ({_error_words(error)}); is the file complete?", at
        ) from None
    _add_graph(graph, found)


def read_json(graph: Graph) -> None:
    """Read JSON as networkx writes it: node-link (also D3's), adjacency or Cytoscape's data.

    Raises
    ------
    DataError
        If it is none of these.
    """
    text = graph.text
    try:
        found = parsed_json(text.content)
    except RecursionError:
        raise text.error("is nested too deeply; write it as GraphML") from None
    except json.JSONDecodeError as error:
        raise text.error(
            f"is not valid JSON at column {error.colno}; is the file complete?", error.lineno
        ) from None
    except ValueError as error:
        raise text.error(str(error)) from None
    if not isinstance(found, dict):
        raise text.error(
            "is a list in JSON, of which nothing says what it is; "
            + BY_NETWORKX.format(out="graph.graphml", read="networkx.Graph of your pairs")
        )
    if found.get("directed", False) not in (True, False):
        told = quote(str(found["directed"]))
        raise text.error(f"directed = {told}, neither true nor false; write it without quotes")
    keys = [k for k in ("links", "edges") if isinstance(found.get(k), list)]
    if len(keys) == 2 and found["links"] != found["edges"]:
        raise text.error("has links and edges, which differ; leave the list that is meant")
    nodes = found.get("nodes")
    try:
        if keys and isinstance(nodes, list):
            _read_node_link(graph, found, found[keys[0]])
        elif isinstance(found.get("adjacency"), list) and isinstance(nodes, list):
            _read_adjacency(graph, found)
        elif isinstance(found.get("elements"), dict | list):
            _read_cytoscape(graph, found)
        else:
            raise text.error(
                "is JSON, but no graph: node-link data has a list nodes with an id each, and a "
                "list links (or edges) with source and target"
            )
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise text.error(
            f"is JSON whose nodes and links can't be read ({type(error).__name__}: "
            f"{_error_words(error)}); each node needs an id, each link source and target"
        ) from None


def _read_node_link(graph: Graph, found: dict[str, Any], links: list[Any]) -> None:
    """Read nodes with an id each, else with their places in the list as ids, and their links."""
    text, nodes = graph.text, found["nodes"]
    named = ["id" in node for node in nodes]
    if not all(named) and (any(named) or any("key" in node for node in nodes)):
        raise text.error(
            f"node {named.index(False)} (counted from 0) has no id; write id in place of key, or "
            "give each node one"
        )
    for at, node in enumerate(nodes):
        graph.declare(_id(node.get("id", at)), _as_texts(node, "id"))
    for at, link in enumerate(links):
        for end in ("source", "target"):
            if end not in link:
                raise text.error(f"link {at} (counted from 0) has no {end}")
            if _id(link[end]) not in graph.nodes:
                raise text.error(
                    f"link {at} (counted from 0) names node {quote(_id(link[end]))}, which is not "
                    "declared"
                )
        _link(graph, found, link["source"], link["target"], link)


def _read_adjacency(graph: Graph, found: dict[str, Any]) -> None:
    """Read the adjacency data of networkx: with each node those that it is linked to."""
    for node in found["nodes"]:
        graph.declare(_id(node["id"]), _as_texts(node, "id"))
    directed, met = bool(found.get("directed")), Counter[tuple[str, str, str]]()
    for node, others in zip(found["nodes"], found["adjacency"], strict=True):
        for other in others:
            a, b, data = _id(node["id"]), _id(other["id"]), repr(other | {"id": None})
            if not directed and met[b, a, data]:
                met[b, a, data] -= 1  # the same link, told by its other end
            else:
                met[a, b, data] += 1
                _link(graph, found, a, b, other)


def _link(graph: Graph, found: dict[str, Any], a: Any, b: Any, data: dict[str, Any]) -> None:
    values = _as_texts(data, "id", "source", "target", "key")
    graph.link(Edge(_id(a), _id(b), None, values, bool(found.get("directed"))))


def _id(value: Any) -> str:
    """An id in JSON as a word, a list as the tuple that networkx makes of it."""
    if value is None or isinstance(value, dict):
        raise ValueError("an id is neither text nor number")
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(_tuple(value))


def _tuple(value: Any) -> Any:
    return tuple(map(_tuple, value)) if isinstance(value, list) else value


def _read_cytoscape(graph: Graph, found: dict[str, Any]) -> None:
    """Read Cytoscape's data: elements that are a list, or lists of nodes and of edges.

    networkx is of no use here: it reads what it has written itself, in which `value` is the id.
    """
    elements = found["elements"]
    if isinstance(elements, dict):
        every = [one["data"] for group in ("nodes", "edges") for one in elements.get(group, [])]
    else:
        every = [one["data"] for one in elements]
    nodes = [data for data in every if "source" not in data]
    key = "value" if all("value" in data for data in nodes) and "data" in found else "id"
    for data in nodes:
        graph.declare(str(data[key]), _as_texts(data))
    for data in every:
        if "source" in data:
            a, b = str(data["source"]), str(data["target"])
            graph.link(Edge(a, b, None, _as_texts(data), found.get("directed") is True))


def _add_graph(graph: Graph, found: nx.Graph) -> None:
    """The nodes and links that networkx has read; numbers become words."""
    for name, values in found.nodes(data=True):
        graph.declare(str(name), _as_texts(values))
    for a, b, values in found.edges(data=True):
        graph.link(Edge(str(a), str(b), None, _as_texts(values), found.is_directed()))


def _as_texts(values: dict[Any, Any], *without: str) -> _Values:
    return {
        str(key): "" if value is None else str(value)
        for key, value in values.items()
        if key not in without
    }


def _error_words(error: Exception) -> str:
    """Error text of a library about a file, without what it quotes."""
    return one_line(re.sub(r"(['\"]).*\1", "...", str(error), flags=re.DOTALL)[:80])


def read_pajek(graph: Graph) -> None:
    """Read Pajek's networks: vertices, arcs, edges, lists of them, or a matrix.

    networkx is of no use here: it takes vertices of one label for one, and lists for links.

    Raises
    ------
    DataError
        If a vertex is not among those counted or is there twice, or a section is unknown.
    """
    text, section, count, row = graph.text, "", None, 0
    described: set[str] = set()
    for at, line in enumerate(text.content.splitlines(), start=1):
        if is_comment(line) or line.lstrip().startswith("/*"):
            continue
        if line.count('"') % 2:
            raise text.error("a quotation mark without its other half", at)
        words = [a or b for a, b in re.findall(r'"([^"]*)"|(\S+)', line)]
        if any(word.startswith("[") for word in words):
            raise text.error("has times: links that come and go; cut out one moment", at)
        if words[0].startswith("*"):
            section, count = _pajek_section(graph, words, count, at)
            continue
        ids = words[:2] if section in ("*arcs", "*edges") else words
        if section == "*matrix":
            row += 1
            if len(words) != count or row > (count or 0):
                raise text.error(f"row {row} of the matrix has {len(words)} of {count} numbers", at)
            for column, word in enumerate(words, start=1):
                value = parse_number(word)
                if value is None or value != value:
                    raise text.error(f"{quote(word)} is no number", at)
                if value:
                    graph.link(Edge(str(row), str(column), at, {"weight": word}, True))
        elif section == "*vertices":
            if words[0] not in graph.nodes:
                raise text.error(f"vertex {quote(words[0])} is not among 1 to {count}", at)
            if words[0] in described:
                raise text.error(f"two nodes have the id {quote(words[0])}", at)
            described.add(words[0])
            graph.nodes[words[0]] |= {"label": words[1]} if len(words) > 1 else {}
        elif len(ids) < 2 or section == "":
            raise text.error(f"{quote(words[0])} is no link of two vertices", at)
        else:
            values = {str(k): v for k, v in enumerate(words[2:], start=3)}
            values |= {"weight": words[2]} if len(words) > 2 and len(ids) == 2 else {}
            values = values if section in ("*arcs", "*edges") else {}
            for other in ids[1:]:
                graph.link(Edge(ids[0], other, at, values, section.startswith("*arcs")))
    if count is None:
        raise text.error("has no *Vertices with their number")
    if section == "*matrix" and row != count:
        raise text.error(f"its matrix has {row} of {count} rows; is the file complete?")


def _pajek_section(
    graph: Graph, words: list[str], count: int | None, at: int
) -> tuple[str, int | None]:
    """Read a line that starts a section: its name, and the number of vertices."""
    section, text = words[0].lower(), graph.text
    if section == "*vertices":
        stated = whole_number(words[1]) if len(words) > 1 else None
        if count is not None or stated is None:
            raise text.error("*Vertices needs to stand once, with their number", at)
        graph.declare_counted(stated, at)
        return section, stated
    if section not in ("*network", "*arcs", "*edges", "*arcslist", "*edgeslist", "*matrix"):
        raise text.error(
            f"the section {quote(words[0])} is not read; leave the *Vertices and *Edges or *Arcs "
            "of one network",
            at,
        )
    return section, count


def read_matrix_market(graph: Graph) -> None:
    """Read a square matrix of the MatrixMarket format (Boisvert et al., 1996); not 0 is a link.

    scipy's reader is of no use here: what is missing in a file ends the process.

    Raises
    ------
    DataError
        If it is not square, not of real numbers, or has not as many entries as it says.
    """
    text = graph.text
    lines = enumerate(text.content.lstrip().splitlines(), start=1)
    head, *rows = ((at, line.split()) for at, line in lines if at == 1 or not is_comment(line))
    layout, field, symmetry = (*map(str.lower, head[1][2:5]), "", "", "")[:3]
    if (
        layout not in ("coordinate", "array")
        or field not in ("real", "double", "integer", "pattern")
        or symmetry not in ("general", "symmetric", "skew-symmetric")
    ):
        raise text.error(
            "is no matrix of real numbers (coordinate or array; real, integer or pattern; general "
            "or symmetric); write which nodes are linked",
            1,
        )
    at, words = rows[0] if rows else (1, [])
    sizes = [whole_number(word) for word in words]
    if len(sizes) != (3 if layout == "coordinate" else 2) or None in sizes:
        raise text.error("has no line of its size: rows, columns, entries", at)
    nodes, columns, *stated = (size or 0 for size in sizes)
    if nodes != columns:
        raise text.error(
            f"has {nodes:,} rows and {columns:,} columns: only a square matrix links nodes to "
            "nodes",
            at,
        )
    both = symmetry != "general"
    entries = stated[0] if stated else nodes * (nodes + 1) // 2 if both else nodes * nodes
    if symmetry == "skew-symmetric" and not stated:
        entries -= nodes
    if entries != len(rows) - 1:
        raise text.error(
            f"says {entries:,} entries and holds {len(rows) - 1:,}; is the file complete?", at
        )
    graph.declare_counted(nodes, at)
    first = 1 if symmetry == "skew-symmetric" else 0  # below the diagonal, which is 0
    places = ((i, j) for j in range(nodes) for i in range(j + first if both else 0, nodes))
    for at, words in rows[1:]:
        if layout == "array":
            i, j = (str(k + 1) for k in next(places))
            value = words[0] if len(words) == 1 else ""
        else:
            i, j, value = (*words, "1" if field == "pattern" else "", "")[:3]
            if len(words) != (2 if field == "pattern" else 3):
                value = ""
        found = parse_number(value)
        if found is None or found != found:
            raise text.error(f"{quote(words[0])} begins no entry of the matrix", at)
        if found:
            graph.link(Edge(i, j, at, {"weight": value}, not both))


def read_sndlib(graph: Graph) -> None:
    """Read a network of SNDlib (Orlowski et al., Networks 2010) in its own format.

    Of its sections NODES and LINKS are read; demands are not part of a network.
    """
    text = graph.text
    for section, at, words in _sndlib_lines(graph):
        groups = [word for word in words if word not in "()"]
        if section == "NODES":
            name, *place = groups
            if len(place) not in (0, 2):
                raise text.error(f"node {quote(name)} has {len(place)} coordinates", at)
            graph.declare(name, dict(zip(("Longitude", "Latitude"), place, strict=False)), at)
        elif section == "LINKS":
            if len(groups) < 3 or words[1] != "(" or words[4:5] != [")"]:
                raise text.error(f"link {quote(groups[0])} is not ID ( FROM TO ) ...", at)
            _, a, b, *data = groups
            names = (
                *("pre_installed_capacity", "pre_installed_capacity_cost"),
                *("routing_cost", "setup_cost", "module_capacity", "module_cost"),
            )
            found = {name: [word] for name, word in zip(names, data, strict=False)}
            if len(data) > len(names):
                del found["module_capacity"], found["module_cost"]
            graph.link(Edge(a, b, at, link_values(found)))


def _sndlib_lines(graph: Graph) -> Iterator[tuple[str, int, list[str]]]:
    """The entries of NODES and LINKS: the section, the line, words and parentheses."""
    section, depth = "", 0
    for at, line in enumerate(graph.text.content.splitlines(), start=1):
        if is_comment(line) or line.lstrip().startswith("?"):
            continue
        words = re.findall(r"[()]|[^\s()]+", line)
        before, depth = depth, depth + words.count("(") - words.count(")")
        if depth < 0 or (before == 0 and (words[0] in "()" or words[1:2] != ["("])):
            raise graph.text.error(f"{quote(words[0])} begins no section", at)
        if before == 0:
            section = words[0]
        elif section in ("NODES", "LINKS") and words != [")"]:
            if words[0] in "()" or depth != before:
                raise graph.text.error(f"{quote(words[0])} is no entry of {section}", at)
            yield section, at, words
    if depth:
        raise graph.text.error(f"the section {quote(section)} never ends; is the file complete?")
