"""Formats with one line per link or node: CAIDA, DIMACS, adjacency lists, maps of Rocketfuel.

Unlike an edge list, each begins with what no other does.
"""

import re

import networkx as nx

from netsim.traces.files import is_comment, quote, whole_number
from netsim.traces.graphs import MOST_NODES, Edge, Graph


def read_caida(graph: Graph) -> None:
    """Read CAIDA's AS relationships: `a|b|-1` (a provides for b), `a|b|0` (peers).

    Raises
    ------
    DataError
        If a line is not of that form.
    """
    for at, line in enumerate(graph.text.content.splitlines(), start=1):
        if is_comment(line):
            continue
        words = [word.strip() for word in line.split("|")]
        if len(words) not in (3, 4) or not (words[0].isdecimal() and words[1].isdecimal()):
            raise graph.text.error(f"{quote(words[0])} does not begin AS|AS|relationship", at)
        if words[2] not in ("-1", "0", "1", "2"):
            raise graph.text.error(f"the relationship is {quote(words[2])}, not -1, 0, 1 or 2", at)
        a, b, kind = words[:3]
        graph.nodes.setdefault(a, {})
        graph.nodes.setdefault(b, {})
        graph.edges.append(Edge(a, b, at, {"3": kind, "relationship": kind}))


def read_dimacs(graph: Graph) -> None:
    """Read DIMACS: `p edge N M`, then `e i j` (both ways) or `a i j value` (from i to j).

    Raises
    ------
    DataError
        If a node is not among 1 to N, or there are not M lines.
    """
    text, stated = graph.text, None
    for at, line in enumerate(text.content.splitlines(), start=1):
        words = line.split()
        if not words or words[0] == "c":
            continue
        if words[0] == "p" and stated is None:
            if words[1] not in ("edge", "edges", "col", "sp", "max", "min"):
                raise text.error(f"is DIMACS, of no graph but of {quote(words[1])}", at)
            nodes, stated = whole_number(words[2]), whole_number(words[3])
            graph.declare_counted(MOST_NODES + 1 if nodes is None else nodes, at)
        elif words[0] in ("e", "a") and len(words) > 2:
            values = {str(k): word for k, word in enumerate(words[3:], start=3)}
            graph.link(Edge(words[1], words[2], at, values, words[0] == "a"))
        elif words[0] not in ("n", "d", "v", "x"):
            raise text.error(f"{quote(words[0])} begins no line of a graph: e or a does", at)
    if stated != len(graph.edges):
        raise text.error(
            f"says {stated} links and holds {len(graph.edges)}; is the file complete? If it is, "
            "correct the number in its line p"
        )


def read_adjacency_list(graph: Graph) -> None:
    """Read an adjacency list, of one line a node or of one line a link, by networkx.

    Raises
    ------
    DataError
        If a line is not of that form.
    """
    text = graph.text
    lines = [line for line in text.content.splitlines() if not is_comment(line)]
    if any("{" in line for line in lines):
        try:
            found = nx.parse_multiline_adjlist(iter(lines))
        except (TypeError, ValueError, StopIteration, RuntimeError, SyntaxError, MemoryError):
            raise text.error(
                "is no adjacency list of networkx: a node and how many links follow, then a line a "
                "link; is the file complete?"
            ) from None
        _add_graph(graph, found)
    else:
        take_adjacency_list(graph, _split_lines(graph, lines))


def _split_lines(graph: Graph, lines: list[str]) -> list[list[str]]:
    """The ids of every line, by the separator with which every node begins one line.

    Raises
    ------
    DataError
        If none does that.
    """
    for separator in ("\t", ",", ";", "|", None):
        rows = [[word.strip() for word in line.strip().split(separator)] for line in lines]
        firsts = {row[0] for row in rows}
        alone = len(firsts) == len(rows) and all(firsts.issuperset(row) for row in rows)
        if alone and any(len(row) > 1 for row in rows):
            return rows
    raise graph.text.error(
        "is no adjacency list of networkx, in which every node begins one line: it may be cut off, "
        'or have names with blanks; write its links with networkx.write_graphml(G, "graph.graphml")'
    )


def take_adjacency_list(graph: Graph, rows: list[list[str]]) -> None:
    """Read rows of a node and those of its neighbours that no row before has, by networkx.

    Parameters
    ----------
    graph : Graph
        Gets the nodes and links.
    rows : list of list of str
        Ids, without remarks.
    """
    _add_graph(graph, nx.parse_adjlist(list(map("\t".join, rows)), comments="\0", delimiter="\t"))


def _add_graph(graph: Graph, found: nx.Graph) -> None:
    for name in found.nodes:
        graph.declare(name, {})
    for a, b, values in found.edges(data=True):
        graph.edges.append(Edge(a, b, None, {str(k): str(v) for k, v in values.items()}))


def read_rocketfuel_map(graph: Graph) -> None:
    """Read a router map of Rocketfuel (Spring et al., SIGCOMM 2002), `ID @PLACE ... -> <ID> ...`.

    Neighbours in other networks (`{-ID}`) are left aside.

    Raises
    ------
    DataError
        If a line is not of that form.
    """
    links: list[tuple[int, str, str]] = []
    for at, line in enumerate(graph.text.content.splitlines(), start=1):
        if is_comment(line):
            continue
        own = re.match(r"\s*(-?\d+) @(\S+)", line)
        if own is None:
            raise graph.text.error("a line of a router map begins with ID @PLACE", at)
        if own[1].startswith("-"):
            continue
        graph.declare(own[1], {"label": own[2]}, at)
        links += [(at, own[1], other) for other in re.findall(r"<(\d+)>", line)]
    for at, a, b in links:
        graph.link(Edge(a, b, at, {}))
