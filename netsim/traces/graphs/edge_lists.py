"""Edge lists: two node ids a line, then values, with a header or without.

Nothing in an edge list says that it is one, so what could as well be a table, an adjacency list or
a list of names with blanks is refused by its name.
"""

import ast
import csv
import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from netsim.traces.files import is_comment, parse_number, quote, whole_number
from netsim.traces.graphs import Edge, Graph, truth_or_number
from netsim.traces.graphs.line_formats import take_adjacency_list
from netsim.traces.remarks import note_commented

_HEADER = 'put a line "source,target" (and names of further columns) above the first link'

_ROLES = (
    ("source", "target"),
    ("src", "dst"),
    ("src", "dest"),
    ("source", "destination"),
    ("from", "to"),
    ("origin", "destination"),
    ("sender", "receiver"),
    ("tail", "head"),
    ("start", "end"),
)
"""Names of two columns of ids that say so themselves."""
_NUMBERED = (("u", "v"), ("i", "j"), ("a", "b"), ("1", "2"), ("0", "1"), ("x1", "x2"))
"""Stems of other names of the two; nodes may be called like that, too."""
_AFFIXES = re.compile(
    r"node|vertex|router|station|host|person|user|device|city|town|site|member|people|asn|as\b|ids?"
    r"|names?|labels?|key|num|no\b|[^a-z0-9]"
)


class _Row(NamedTuple):
    """A line that is no comment, cut into words.

    Attributes
    ----------
    at : int
        The line, from 1.
    cells : list of str
    """

    at: int
    cells: list[str]


class _Header(NamedTuple):
    """The names of the columns.

    Attributes
    ----------
    names : list of str
    a, b : int
        Which columns are the ids.
    sure : bool
        Whether no node could be called so.
    """

    names: list[str]
    a: int
    b: int
    sure: bool


def read_edge_list(graph: Graph, columns_named: bool = False) -> None:
    """Read an edge list: two ids a line, then values, under a header or not.

    A pair that stands in both orders has a line for each direction, and every pair where a comment
    of SNAP or of Konect says that the graph is directed.

    Parameters
    ----------
    graph : Graph
        Is filled.
    columns_named : bool
        Whether the user has said which column is which: then it is no matrix.

    Raises
    ------
    DataError
        If it could be something else, or a line has no two ids.
    """
    text = graph.text
    lines = [
        (at, line)
        for at, line in enumerate(text.content.splitlines(), start=1)
        if not is_comment(line) and not line.lstrip().startswith("//")
    ]
    if not lines:
        return
    directed = _is_directed_konect(graph, len(lines))
    note_commented(text)
    columns_named = columns_named or directed is not None
    directed = directed or _is_directed_snap(text.content[:4096])
    separator, header = _columns(lines[0][1])
    rows = [_Row(at, _cells(graph, at, line, separator)) for at, line in lines]
    _require_no_named_matrix(graph, rows)
    if header is not None:
        ends = (header.a, header.b)
        known = {row.cells[k] for row in rows[1:] for k in ends if k < len(row.cells)}
        if known & {header.names[k] for k in ends}:
            header = None  # nodes that are called so
        elif not header.sure and not (
            (known and all(parse_number(c) is not None for c in known))
            or _has_text_over_numbers(rows[0], rows[1:])
        ):
            if max(map(len, known | set(rows[0].cells[:2]))) > 2:
                raise text.error(
                    f"its first line may name the columns or be a link; {_HEADER}", rows[0].at
                )
            header = None  # nodes of one or two letters
    if header is None:
        if not columns_named and _is_adjacency_list(graph, rows, separator):
            take_adjacency_list(graph, [row.cells for row in rows])
            return
        _require_edge_list(graph, rows, separator, columns_named)
        header = _Header([], 0, 1, True)
    else:
        _require_distinct(graph, rows[0])
        del rows[0]
    _require_complete(graph, len(rows))
    _add_links(graph, rows, header, directed)


def _require_distinct(graph: Graph, header: _Row) -> None:
    """Refuse a header that calls two columns the same."""
    for name, columns in Counter(filter(None, header.cells)).items():
        if columns > 1:
            raise graph.text.error(
                f"two columns are called {quote(name)}; give them names of their own",
                header.at,
            )


def _columns(first: str) -> tuple[str | None, _Header | None]:
    """The separator, None for blanks, and the header, if the first line is one."""
    bare = re.sub(r'"[^"]*"', "", first)
    for separator in ("\t", ",", ";", "|", None):
        if separator is None or separator in bare:
            words = [w.strip().strip('"') for w in first.split(separator)]
            found = _header(words)
            if found is not None:
                return separator, found
    bare = re.sub(r"\{.*\}\s*$", "", bare)
    for separator in (";", ",", "|"):
        # Rocketfuel writes "Perth,+Australia": its blanks are +, so blanks are between its columns
        if separator in bare and (separator != "," or ",+" not in bare or ", " in bare):
            return separator, None
    return None, None


def _header(words: list[str]) -> _Header | None:
    """The header that a line is, if two of its words are names for the ends of a link."""
    if any(parse_number(word) is not None for word in words):
        return None
    plain = [re.sub("[^a-z0-9]", "", word.lower()) for word in words]
    bare = [_AFFIXES.sub("", word.lower()) for word in words]
    for pairs, called in ((_ROLES, plain), (_ROLES, bare), (_NUMBERED, bare)):
        for one, other in pairs:
            if called.count(one) == called.count(other) == 1:
                a, b = called.index(one), called.index(other)
                return _Header(words, a, b, sure=pairs is _ROLES)
    return None


def _cells(graph: Graph, at: int, line: str, separator: str | None) -> list[str]:
    """The words of a line; a remark behind a blank and # is none of them."""
    if separator is None:
        if "#" in line:
            line = re.split(r"\s#", line, maxsplit=1)[0]
        # networkx writes the data of a link so
        data = re.search(r"\{.*\}\s*$", line) if "}" in line else None
        if data is not None:
            return [*line[: data.start()].split(), data[0].strip()]
    if '"' not in line:
        cells = line.split() if separator is None else [c.strip() for c in line.split(separator)]
    else:
        try:
            found = csv.reader(
                [line.strip()], delimiter=separator or " ", skipinitialspace=True, strict=True
            )
            cells = [cell.strip() for cell in next(found)]
        except csv.Error:
            raise graph.text.error("a quotation mark without its other half", at) from None
    while cells and not cells[-1]:
        cells.pop()
    if separator is None and "\t" in line:
        by_tabs = [c for c in (cell.strip() for cell in line.split("\t")) if c]
        if by_tabs != cells and any(parse_number(cell) is None for cell in cells):
            raise graph.text.error(
                f"{quote(by_tabs[0])} is a name with blanks, or has two separators; {_HEADER}, "
                "with tabs as below",
                at,
            )
    return cells


def _quote_cell(rows: Sequence[_Row], cell: str) -> str:
    """Quote a cell for an error: only beneath a first line that is or may be a link."""
    first = rows[0].cells
    is_link = len(first) == 2 or (len(first) > 2 and parse_number(first[2]) is not None)
    return quote(cell) if is_link or parse_number(cell) is not None else "it"


def _has_text_ids(row: _Row) -> bool:
    """Return whether the ids of a line are no numbers."""
    return all(parse_number(cell) is None for cell in row.cells[:2])


def _all_ids(rows: Sequence[_Row]) -> bool:
    """Return whether what follows two ids, two words at least, may be ids as well, by its size."""
    ids = [[whole_number(cell) for cell in row.cells] for row in rows]
    if len(rows) < 2 or any(n is None for row in ids for n in row) or len(ids[0]) < 4:
        return False
    most = max(n or 0 for row in ids for n in row[:2])
    return all((n or 0) <= most for row in ids for n in row)


def _is_adjacency_list(graph: Graph, rows: Sequence[_Row], separator: str | None) -> bool:
    """Return whether every node begins one line, as networkx writes it.

    The file is refused if lines differ otherwise.

    Lines of two words and of three may be links without and with a weight; where all have as many,
    a weight may be called as a node is, but hardly all of them.
    """
    text = graph.text
    widths = {len(row.cells) for row in rows}
    if widths == {2} or any(row.cells and row.cells[-1].endswith("}") for row in rows):
        return False
    firsts = [row.cells[0] for row in rows if row.cells]
    words = {cell for row in rows for cell in row.cells}
    lists = all(len(set(row.cells)) == len(row.cells) for row in rows)
    closed = len(set(firsts)) == len(firsts) == len(rows) and words == set(firsts)
    ended = text.content.endswith("\n")  # else a last line of one word may have had two
    if closed and ended and len(widths) > 1 and (1 in widths or max(widths) > 3):
        return True
    if len(widths) == 1 and not (lists and (closed or _all_ids(rows))):
        return False
    if len(rows) > 1 and _has_text_ids(rows[0]) and not _has_text_ids(rows[1]):
        return False  # a header of another kind
    single = next((row for row in rows if len(row.cells) < 2), None)
    delimiter = "" if separator is None else f', delimiter="{separator}"'
    remedy = (
        "if it is an adjacency list, write its links as networkx.write_edgelist"
        f'(networkx.read_adjlist(FILE{delimiter}), "edges.txt", data=False) does'
    )
    if single is not None:
        what = _quote_cell(rows, single.cells[0] if single.cells else "")
        counts = "; if it is a count, put # before it" if single is rows[0] else ""
        raise text.error(f"{what} is not two node ids{counts}; {remedy}", single.at)
    if closed or max(widths) > 3:
        many = " to ".join(map(str, sorted({min(widths), max(widths)})))
        raise text.error(
            f"its lines have {many} words, which may be links with and "
            f"without values, or a node and all its neighbours; {remedy}; if they are links, "
            f"{_HEADER}"
        )
    return False


def _require_edge_list(
    graph: Graph, rows: Sequence[_Row], separator: str | None, columns_named: bool
) -> None:
    """Refuse lines without a header that may be something else than links.

    Raises
    ------
    DataError
        Naming what it may be.
    """
    text = graph.text
    first_at: dict[str, int] = {}
    for at, cells in rows:
        if len(cells) < 2 or not (cells[0] and cells[1]):
            raise text.error(
                f"{_quote_cell(rows, cells[0] if cells else '')} is not two node ids", at
            )
        first_at.setdefault(cells[0], at)
        first_at.setdefault(cells[1], at)
    for cell, at in first_at.items():
        if any(cell.count(a) != cell.count(b) for a, b in ("()", "[]", "{}")):
            raise text.error(
                f"{_quote_cell(rows, cell)} is half of something in brackets; write two ids a line",
                at,
            )
        if separator is not None and re.search(r"\s", cell) and f'"{cell}"' not in text.content:
            raise text.error(
                f"{_quote_cell(rows, cell)} is a name with blanks, or two columns; if it is a "
                f"name, {_HEADER}, with the separator as below, or put names into quotation marks",
                at,
            )
    texts = [cell for cell in first_at if parse_number(cell) is None]
    if texts and len(texts) < len(first_at):
        if _has_text_ids(rows[0]):
            raise text.error(
                "its first line is text, and there are numbers beneath; if it names the columns, "
                "call the two of the ids source and target; if it is a link, put a line "
                '"source,target" above it',
                rows[0].at,
            )
        raise text.error(
            f"{_quote_cell(rows, texts[0])} is text, and other ids are numbers; if it is no slip, "
            f"{_HEADER}",
            first_at[texts[0]],
        )
    if not columns_named and all(truth_or_number(cell) is not None for cell in texts):
        _require_no_table(graph, rows, separator)
    if texts:
        _require_names(graph, rows, separator is None and not columns_named)


def _require_no_named_matrix(graph: Graph, rows: Sequence[_Row]) -> None:
    """Refuse a matrix whose rows begin with the names in its first line, in the same order."""
    names = [row.cells[0] for row in rows[1:] if row.cells]
    corner, first = rows[0].cells[: -len(names)], rows[0].cells[-len(names) :]
    full = max(len(row.cells) for row in rows) == len(names) + 1
    named = not corner or (len(corner) == 1 and truth_or_number(corner[0]) is None)
    if len(names) < 2 or first != names or not full or not named:
        return
    if all(truth_or_number(cell) is not None for row in rows[1:] for cell in row.cells[1:] if cell):
        frame = (
            'pandas.read_csv(FILE, sep=None, engine="python", index_col=0)'
            ".rename(index=str).fillna(0)"
        )
        raise graph.text.error(
            f"is a table of {len(names)} rows and columns with their names, as an adjacency matrix "
            "is; write its links as networkx.write_edgelist(networkx.from_pandas_adjacency("
            f'{frame}), "edges.txt") does'
        )


def _require_no_table(graph: Graph, rows: Sequence[_Row], separator: str | None) -> None:
    """Refuse numbers that are no links, but a matrix, or a list that begins with its counts."""
    text, widths = graph.text, {len(row.cells) for row in rows}
    if widths == {2}:
        return _require_no_counts(graph, rows, separator)
    values = [[truth_or_number(cell) for cell in row.cells] for row in rows]
    width, height = max(widths), len(rows)
    if len(widths) == 1 and width > 2 and all(v is not None for row in values for v in row):
        square = width == height and (
            width > 4
            or all(values[k][k] == 0 for k in range(width))
            or all(v in (0, 1) for row in values for v in row)
            or all(values[i][j] == values[j][i] for i in range(width) for j in range(i))
        )
        content = text.content.lower()
        how = ', delimiter=","' * ("," in content) + ", dtype=bool" * ("true" in content)
        if square:
            raise text.error(
                f"is a square table of {height} rows and columns, as an adjacency matrix is; write "
                "its links as networkx.write_edgelist(networkx.from_numpy_array(numpy."
                f'genfromtxt(FILE{how})), "edges.txt") does; if its lines are links, {_HEADER}'
            )
        if width > 4:
            raise text.error(
                f"is a table of {width} columns of numbers, which are no links; write two ids a "
                f"line; if the first two are ids, {_HEADER}"
            )
    _require_two_columns(graph, values)
    return _require_no_counts(graph, rows, separator)


def _require_two_columns(graph: Graph, values: Sequence[Sequence[float | None]]) -> None:
    """Refuse three columns of which the first may be numbers of lines, or moments."""
    if any(len(row) < 3 or any(v is None for v in row[:3]) for row in values) or len(values) < 3:
        return
    first, second, third = ([row[k] for row in values] for k in range(3))
    start = first[0]
    if start in (0, 1) and first == [start + k for k in range(len(first))]:
        counted = {*second, *third}
        if any(a == b for a, b in zip(first, second, strict=True)) or not {*first} & counted:
            raise graph.text.error(
                "its first column counts the lines, and two of ids may follow; if it does, put a "
                'line "line,source,target" above it; if the first two are ids, '
                f"{_HEADER}"
            )
    times = {*first}
    if (
        len(times) > 1
        and all(a is not None and b is not None and a <= b for a, b in pairwise(first))
        and not times & {*second, *third}
        and {*second} & {*third}
    ):
        raise graph.text.error(
            "its first column may be moments, and two of ids follow: a contact trace is played by "
            '[topology] kind = "contacts"; if links are meant whenever they were, put a line '
            f'"t,source,target" above it; if the first two are ids, {_HEADER}'
        )


def _require_no_counts(graph: Graph, rows: Sequence[_Row], separator: str | None) -> None:
    """Refuse a first line that may be the counts of nodes and links, or numbers of columns."""
    text, first, below = graph.text, rows[0].cells, len(rows) - 1
    numbered = separator is not None and first == [str(k) for k in range(len(first))] and below > 1
    nodes, links = whole_number(first[0]), whole_number(first[1])
    if nodes is None or links is None:
        return
    if below not in (nodes, links, nodes + links) and not numbered:
        return
    cells = [[whole_number(cell) for cell in row.cells] for row in rows[1:]]
    if not below or any(n is None for row in cells for n in row[:2]):
        return
    ends = [n or 0 for row in cells for n in row[:2]]
    words = [-1 if n is None else n for row in cells for n in row]
    if numbered and min(ends) > 1:
        raise text.error(
            "its first line may be a link or the numbers that pandas gives columns; put # before "
            f"it if it is no link; otherwise {_HEADER}",
            rows[0].at,
        )
    if below == nodes and len(words) == 2 * links and 1 <= min(words) <= max(words) <= nodes:
        raise text.error(
            f"its first line may be the counts of METIS ({nodes} nodes, {links} links), and every "
            f"line beneath the neighbours of a node; write two node ids a line, or {_HEADER}",
            rows[0].at,
        )
    own, linked = ends[: 2 * nodes : 2], {*ends[2 * nodes :]}
    if below == nodes + links > nodes > 1 and linked <= {*own} == {*range(own[0], own[0] + nodes)}:
        raise text.error(
            f"its first line may be counts ({nodes} nodes, {links} links), and the {nodes} lines "
            f"beneath tell of the nodes, as Inet writes; leave the links alone, or {_HEADER}",
            rows[0].at,
        )
    if below == links and (max(ends) < nodes or 1 <= min(ends) <= max(ends) == nodes):
        raise text.error(
            f"its first line may be a link or counts ({nodes} nodes, {links} links follow); put # "
            f"before it if it is no link; otherwise {_HEADER}",
            rows[0].at,
        )


def _require_names(graph: Graph, rows: Sequence[_Row], by_blanks: bool) -> None:
    """Refuse names of which a line has too many, and a first line that may be a header."""
    text = graph.text
    for row in rows if by_blanks else ():
        if len(row.cells) > 2 and parse_number(row.cells[2]) is None and row.cells[2][:1] != "{":
            raise text.error(
                "behind two names stands another word: a third node, a name with blanks, or a "
                f"remark; {_HEADER}, with commas or tabs between the columns",
                row.at,
            )
    head, *rest = rows
    met = {cell for row in rest for cell in row.cells[:2]}
    apart = len(rest) > 1 and not met & set(head.cells[:2]) and len(met) < 2 * len(rest)
    if apart or _has_text_over_numbers(head, rest):
        raise text.error(
            "its first line may name the columns or be a link; if it names them, call the two of "
            'the ids source and target; if it is a link, put a line "source,target" above it',
            head.at,
        )


def _has_text_over_numbers(head: _Row, rest: Sequence[_Row]) -> bool:
    """Return whether text in the first line, behind two words, stands over numbers."""
    over = [k for k, cell in enumerate(head.cells[2:], start=2) if parse_number(cell) is None]
    return any(
        len(row.cells) > k and parse_number(row.cells[k]) is not None for row in rest for k in over
    )


def _is_directed_konect(graph: Graph, links: int) -> bool | None:
    """Return whether links have a direction by Konect's first lines, None where there are none.

    Raises
    ------
    DataError
        If they are of another number, or the graph is bipartite.
    """
    first, _, rest = graph.text.content.lstrip().partition("\n")
    match = re.match(r"%\s*(sym|asym|bip)\b", first)
    if match is None:
        return None
    if match[1] == "bip":
        raise graph.text.error(
            "is Konect's bipartite graph: both sides have the same numbers; give each its own ids",
            1,
        )
    counts = re.match(r"%\s*(\d+)\b", rest)
    if counts is not None and whole_number(counts[1]) != links:
        raise graph.text.error(
            f"says {quote(counts[1])} links and holds {links}; is the file complete? If it is, "
            "correct the number",
            2,
        )
    return match[1] == "asym"


def _is_directed_snap(head: str) -> bool:
    """Return whether comments call a graph directed; files with pairs saved once say both."""
    return set(re.findall(r"(?m)^#\s*(directed|undirected) graph\b", head.lower())) == {"directed"}


def _require_complete(graph: Graph, links: int) -> None:
    """Refuse a list with fewer links than its comment says, as files of SNAP have it."""
    match = re.search(r"(?m)^#.*\bEdges:\s*(\d+)", graph.text.content[:4096])
    stated = None if match is None else whole_number(match[1])
    if stated is not None and links < stated:
        raise graph.text.error(
            f"its comment says {stated} edges and it holds {links}; fetch it again, or take the "
            "comment out if you have cut it down"
        )


def _add_links(graph: Graph, rows: Sequence[_Row], header: _Header, directed: bool) -> None:
    """Make the links of the rows."""
    text, names = graph.text, header.names
    found = []
    for at, cells in rows:
        if max(header.a, header.b) >= len(cells) or not (cells[header.a] and cells[header.b]):
            raise text.error(f"{quote(cells[0] if cells else '')} is not two node ids", at)
        if names and len(cells) > len(names):
            raise text.error(
                f"has {len(cells)} columns, the header {len(names)}; put names with separators "
                "into quotation marks",
                at,
            )
        found.append((at, cells, cells[header.a], cells[header.b]))
    whole = _whole_number_ids(graph, [(at, a, b) for at, _, a, b in found])
    turned = {(a, b) for _, _, a, b in found}
    for at, cells, a, b in found:
        values = _values(graph, at, cells, header)
        for k, cell in enumerate(cells):
            if k not in (header.a, header.b) and cell[:1] != "{":
                graph.columns[str(k + 1)] = names[k] if k < len(names) else ""
        one_way = directed or (a != b and (b, a) in turned)
        a, b = whole.get(a, a), whole.get(b, b)
        graph.nodes.setdefault(a, {})
        graph.nodes.setdefault(b, {})
        graph.edges.append(Edge(a, b, at, values, one_way))


def _values(graph: Graph, at: int, cells: list[str], header: _Header) -> dict[str, str]:
    values: dict[str, str] = {}
    if len(cells) == 2:
        return values
    for k, cell in enumerate(cells):
        if k in (header.a, header.b):
            continue
        if k < len(header.names):
            values |= {str(k + 1): cell, header.names[k]: cell}
        elif cell[:1] != "{" or cell[-1:] != "}":
            values[str(k + 1)] = cell
        else:
            try:
                data = ast.literal_eval(cell) if len(cell) < 10_000 else None
            except (ValueError, SyntaxError, MemoryError, RecursionError):
                data = None
            if not isinstance(data, dict):
                raise graph.text.error("its data in { } is not what networkx writes", at)
            values |= {str(name): str(value) for name, value in data.items()}
    return values


def _whole_number_ids(graph: Graph, ends: Sequence[tuple[int, str, str]]) -> dict[str, str]:
    """Ids such as 1.0 and 1e+00 as whole numbers, where all ids are numbers.

    Raises
    ------
    DataError
        If one is a fraction, infinite or no number, or two are written differently and equal.
    """
    line: dict[str, int] = {}
    for at, *pair in ends:
        for name in pair:
            line.setdefault(name, at)
    if any(parse_number(name) is None for name in line):
        return {}
    found = {}
    for name, at in line.items():
        match = re.fullmatch(r"\+?(-?\d+)(\.0*)?", name)
        size = float(name)
        if match is None and not (size.is_integer() and abs(size) < 2**53):
            raise graph.text.error(
                f"{quote(name)} is no id of a node, among ids that are numbers: those are whole",
                at,
            )
        whole = str(int(size)) if match is None else match[1]
        if whole != name:
            found[name] = whole
    by_value: dict[str, str] = {}
    for name in line:
        value = found.get(name, name)
        bare = value.lstrip("0") or "0"
        if by_value.setdefault(bare, value) != value:
            raise graph.text.error(
                f"{quote(name)} and {quote(by_value[bare])} are the same number; write each id "
                "in one way",
                line[name],
            )
    return found
