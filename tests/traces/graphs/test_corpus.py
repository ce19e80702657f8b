"""A corpus of graph files: every format in its dialects, and damaged in every way.

Each file is written here from links that are known; what is read is those links, or the file is
refused with its name, in few words of it. There is no third outcome.
"""

import gzip
import io
import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

import networkx as nx
import pytest
import scipy.io
import scipy.sparse

from netsim.errors import ScenarioError
from netsim.rng import Streams
from netsim.topology import Site
from netsim.topology.file import GraphFile

LINKS = [(1, 2), (2, 3), (3, 4), (4, 5), (2, 6), (3, 6)]
"""Of nodes 1 to 6: no two could change places, so no mistake cancels out."""
NODES = range(1, 7)
NAMES = {1: "Ulm", 2: "Köln", 3: "Bonn", 4: "Rom", 5: "Wien", 6: "Ghent"}


def expected(links=LINKS, nodes=NODES):
    """The neighbours by node number, where nodes are numbered as listed."""
    number = {name: k for k, name in enumerate(nodes)}
    found = [set() for _ in number]
    for a, b in links:
        found[number[a]].add(number[b])
        found[number[b]].add(number[a])
    return [tuple(sorted(peers)) for peers in found]


def graph(links=LINKS, nodes=NODES, kind=nx.Graph):
    made = kind()
    made.add_nodes_from(nodes)
    made.add_edges_from(links)
    return made


def written(write, made):
    out = io.BytesIO()
    write(made, out)
    return out.getvalue().decode()


# -- writers: text of a file with the given nodes and links ------------------------------------


def blanks(nodes, links):
    return "".join(f"{a} {b}\n" for a, b in links)


def header(separator, names="source{}target{}km"):
    def write(nodes, links):
        lines = [names.format(separator, separator)]
        lines += [f"{a}{separator}{b}{separator}{k + 7}" for k, (a, b) in enumerate(links)]
        return "\n".join(lines) + "\n"

    return write


def separated(separator):
    return lambda nodes, links: "".join(f"{a}{separator}{b}\n" for a, b in links)


def networkx_data(nodes, links):
    made = nx.Graph()
    made.add_edges_from((a, b, {"rate": 5.0, "name": "x, y"}) for a, b in links)
    return written(nx.write_edgelist, made)


def gephi(nodes, links):
    rows = [f'{a},{b},Undirected,{k},"",1.0' for k, (a, b) in enumerate(links)]
    return "\n".join(["Source,Target,Type,Id,Label,Weight", *rows]) + "\n"


def with_index(nodes, links):
    return ",from,to\n" + "".join(f"{k},{a},{b}\n" for k, (a, b) in enumerate(links))


def matrix_market(nodes, links):
    dense = nx.to_numpy_array(graph(links, nodes), nodelist=list(nodes), dtype=int)
    out = io.BytesIO()
    scipy.io.mmwrite(out, scipy.sparse.coo_array(dense), symmetry="symmetric")
    return out.getvalue().decode()


def matrix_market_array(nodes, links):
    dense = nx.to_numpy_array(graph(links, nodes), nodelist=list(nodes))
    out = io.BytesIO()
    scipy.io.mmwrite(out, dense, symmetry="general")
    return out.getvalue().decode()


def dimacs(nodes, links):
    lines = "".join(f"e {a} {b}\n" for a, b in links)
    return f"c from a colouring\np edge {len(nodes)} {len(links)}\n{lines}"


def dimacs_arcs(nodes, links):
    lines = "".join(f"a {a} {b} 3\na {b} {a} 4\n" for a, b in links)
    return f"c roads\np sp {len(nodes)} {2 * len(links)}\n{lines}"


def caida(nodes, links):
    lines = "".join(f"{a}|{b}|{-(k % 2)}\n" for k, (a, b) in enumerate(links))
    return f"# source:topology|BGP|19980101\n# input clique: 1 2\n{lines}"


def caida_serial_2(nodes, links):
    return "# a remark\n" + "".join(f"{a}|{b}|0|bgp\n" for a, b in links)


def konect(nodes, links):
    lines = "".join(f"{a} {b} 1 {20733 + k}\n" for k, (a, b) in enumerate(links))
    return f"% sym positive\n% {len(links)} {len(nodes)} {len(nodes)}\n{lines}"


def snap(nodes, links):
    lines = "".join(f"{a}\t{b}\n" for a, b in links)
    counts = f"# Nodes: {len(nodes)} Edges: {len(links)}"
    return f"# Undirected graph: x.txt\n{counts}\n# FromNodeId\tToNodeId\n{lines}"


def graphml(nodes, links):
    return written(nx.write_graphml, graph(links, nodes))


def graphml_by_hand(nodes, links):
    inside = "".join(f'<node id="{n}"><port name="p"/></node>' for n in nodes)
    inside += "".join(f'<edge source="{a}" target="{b}" sourceport="p"/>' for a, b in links)
    return (
        '<?xml version="1.0"?>\n<!-- by hand -->\n<graphml>\n'
        '<key id="w" for="edge" attr.name="w">\n'
        f'<default>1</default></key>\n<graph edgedefault="undirected">\n{inside}\n'
        "</graph></graphml>\n"
    ).replace("><", ">\n<")


def gexf(nodes, links):
    return written(nx.write_gexf, graph(links, nodes))


def gexf_1_3(nodes, links):
    inside = "".join(f'<node id="{n}" label="n{n}"/>\n' for n in nodes)
    edges = "".join(
        f'<edge id="{k}" source="{a}" target="{b}" type="{("undirected", "mutual")[k % 2]}"/>\n'
        for k, (a, b) in enumerate(links)
    )
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n<gexf xmlns="http://gexf.net/1.3" version="1.3">\n'
        f'<graph defaultedgetype="directed"><nodes count="{len(nodes)}">\n{inside}</nodes>\n'
        f"<edges>\n{edges}</edges></graph></gexf>\n"
    )


def gml(nodes, links):
    return written(nx.write_gml, nx.relabel_nodes(graph(links, nodes), str))


def gml_by_hand(nodes, links):
    """As the Topology Zoo writes it, with a Creator first."""
    inside = "".join(f'  node [\n    id {n}\n    label "n{n}"\n  ]\n' for n in nodes)
    inside += "".join(f"  edge [\n    source {a}\n    target {b}\n  ]\n" for a, b in links)
    return f'Creator "by hand"\nVersion 1\ngraph [\n  directed 0\n{inside}]\n'


def pajek(nodes, links):
    inside = "".join(f' {n} "{NAMES.get(n, n)}" 0.1 0.2\n' for n in nodes)
    edges = "".join(f" {a} {b} 1\n" for a, b in links)
    return f"*Network net\n*Vertices {len(nodes)}\n{inside}*Edges\n{edges}"


def pajek_lists(nodes, links):
    lines = "".join(
        f"{n} {' '.join(str(b) for a, b in links if a == n)}\n"
        for n in nodes
        if any(a == n for a, _ in links)
    )
    return f"*vertices {len(nodes)}\n*edgeslist\n{lines}"


def pajek_matrix(nodes, links):
    dense = nx.to_numpy_array(graph(links, nodes), nodelist=list(nodes), dtype=int)
    rows = "".join(" ".join(map(str, row)) + "\n" for row in dense)
    return f"*Vertices {len(nodes)}\n*Matrix\n{rows}"


def node_link(nodes, links):
    return json.dumps(nx.node_link_data(graph(links, nodes), edges="links"), indent=1)


def d3(nodes, links):
    place = {n: k for k, n in enumerate(nodes)}
    data = {
        "nodes": [{"name": f"n{n}"} for n in nodes],
        "links": [{"source": place[a], "target": place[b], "value": 1} for a, b in links],
    }
    return json.dumps(data)


def adjacency_data(nodes, links):
    return json.dumps(nx.adjacency_data(graph(links, nodes)))


def cytoscape(nodes, links):
    return json.dumps(nx.cytoscape_data(graph(links, nodes)), indent=1)


def cytoscape_by_hand(nodes, links):
    parts = [{"data": {"id": str(node), "name": f"node {node}"}} for node in nodes]
    parts += [
        {"data": {"id": f"e{k}", "source": str(a), "target": str(b)}}
        for k, (a, b) in enumerate(links)
    ]
    return json.dumps({"elements": parts}, indent=1)


def adjacency_list_by(separator):
    return lambda nodes, links: written(
        partial(nx.write_adjlist, delimiter=separator), graph(links, nodes)
    )


def adjacency_list(nodes, links):
    return written(nx.write_adjlist, graph(links, nodes))


def adjacency_list_bare(nodes, links):
    return re.sub("(?m)^#.*\n", "", adjacency_list(nodes, links))


def multiline_adjacency_list(nodes, links):
    return written(nx.write_multiline_adjlist, graph(links, nodes))


def rocketfuel(nodes, links):
    made = graph(links, nodes)
    return "".join(
        f"{n} @Town,+{n} + bb\t({len(made[n])}) &1 -> {' '.join(f'<{m}>' for m in made[n])} "
        f"{{-{n}}}  =a.net r0\n"
        for n in nodes
    )


def sndlib(nodes, links):
    places = "".join(f"  N{n} ( {n}.5 4{n}.0 )\n" for n in nodes)
    lines = "".join(
        f"  L{k} ( N{a} N{b} ) 10.00 0.00 0.00 1.00 ( 40.00 2.00 )\n"
        for k, (a, b) in enumerate(links)
    )
    return (
        "?SNDlib native format; type: network; version: 1.0\n# network x\n\n"
        f"META (\n  unit = Mbit\n)\n\nNODES (\n{places})\n\nLINKS (\n{lines})\n\n"
        "DEMANDS (\n  D ( N1 N2 ) 1 3.0 UNLIMITED\n)"
        "\n\nADMISSIBLE_PATHS (\n  D (\n    P ( L0 )\n  )\n)\n"
    )


def sndlib_xml(nodes, links):
    places = "".join(
        f'<node id="N{n}"><coordinates><x>{n}.5</x><y>4{n}</y></coordinates></node>\n'
        for n in nodes
    )
    lines = "".join(
        f'<link id="L{k}"><source>N{a}</source><target>N{b}</target>'
        "<preInstalledModule><capacity>10</capacity><cost>0</cost></preInstalledModule></link>\n"
        for k, (a, b) in enumerate(links)
    )
    return (
        '<?xml version="1.0" encoding="ISO-8859-1"?>\n'
        '<network xmlns="http://sndlib.zib.de/network" version="1.0">\n'
        '<networkStructure><nodes coordinatesType="geographical">\n'
        f"{places}</nodes><links>\n{lines}</links></networkStructure><demands/></network>\n"
    )


@dataclass(frozen=True)
class Format:
    """A way to write a graph.

    Attributes
    ----------
    write : callable
        Of node ids and links.
    comment : str
        What begins a line that says nothing; empty: there is no such line.
    declares : bool
        Whether a node without links is in the file.
    whole : bool
        Whether what is missing at the end is noticed, wherever the file is cut.
    any_id : bool
        Whether ids may be any words; else they are 1, 2, ...
    """

    write: Callable
    comment: str = "#"
    declares: bool = True
    whole: bool = True
    any_id: bool = True


FORMATS = {
    "blanks": Format(blanks, declares=False, whole=False),
    "tabs": Format(separated("\t"), declares=False, whole=False),
    "commas": Format(separated(","), declares=False, whole=False),
    "commas and blanks": Format(separated(" , "), declares=False, whole=False),
    "semicolons": Format(separated(";"), declares=False, whole=False),
    "bars": Format(separated("|"), declares=False, whole=False),
    "header, commas": Format(header(","), declares=False, whole=False),
    "header, semicolons": Format(header(";"), declares=False, whole=False),
    "header, tabs": Format(header("\t"), declares=False, whole=False),
    "header, blanks": Format(header(" "), declares=False, whole=False),
    "header, node ids": Format(header(",", "FromNodeId{}ToNodeId{}w"), declares=False, whole=False),
    "header, u v": Format(header(",", "u{}v{}key"), declares=False, whole=False, any_id=False),
    "header, node_1": Format(
        header(",", "node_1{}node_2{}w"), declares=False, whole=False, any_id=False
    ),
    "Gephi": Format(gephi, declares=False, whole=False),
    "pandas": Format(with_index, declares=False, whole=False),
    "networkx's data": Format(networkx_data, declares=False, whole=False),
    "SNAP": Format(snap, declares=False),
    "Konect": Format(konect, comment="%", declares=False),
    "CAIDA": Format(caida, declares=False, whole=False, any_id=False),
    "CAIDA serial 2": Format(caida_serial_2, declares=False, whole=False, any_id=False),
    "DIMACS": Format(dimacs, comment="c", any_id=False),
    "DIMACS arcs": Format(dimacs_arcs, comment="c", any_id=False),
    "MatrixMarket": Format(matrix_market, comment="", any_id=False),
    "MatrixMarket array": Format(matrix_market_array, comment="", any_id=False),
    "GraphML": Format(graphml, comment=""),
    "GraphML by hand": Format(graphml_by_hand, comment=""),
    "GEXF": Format(gexf, comment=""),
    "GEXF 1.3": Format(gexf_1_3, comment=""),
    "GML": Format(gml),
    "GML by hand": Format(gml_by_hand, any_id=False),
    "Pajek": Format(pajek, comment="%", whole=False, any_id=False),
    "Pajek lists": Format(pajek_lists, comment="%", whole=False, any_id=False),
    "Pajek matrix": Format(pajek_matrix, comment="%", any_id=False),
    "node-link": Format(node_link, comment=""),
    "D3": Format(d3, comment="", any_id=False),
    "adjacency data": Format(adjacency_data, comment=""),
    "Cytoscape": Format(cytoscape, comment=""),
    "Cytoscape by hand": Format(cytoscape_by_hand, comment=""),
    "adjacency list, commas": Format(adjacency_list_by(","), whole=False),
    "adjacency list, tabs": Format(adjacency_list_by("\t"), whole=False),
    "adjacency list": Format(adjacency_list, whole=False),
    "adjacency list, bare": Format(adjacency_list_bare, declares=True, whole=False),
    "adjacency list of links": Format(multiline_adjacency_list, whole=False),
    "Rocketfuel": Format(rocketfuel, whole=False, any_id=False),
    "SNDlib": Format(sndlib, any_id=False),
    "SNDlib XML": Format(sndlib_xml, comment="", any_id=False),
}


@dataclass(frozen=True)
class Case:
    """A file, and what becomes of it.

    Attributes
    ----------
    content : bytes
    links : list or None
        What is read of it; None: it is refused.
    nodes : sequence
        Their ids, as nodes 0, 1, ...
    count : int or None
        `[nodes] count`; None: as many as there are.
    name : str
        Of the file.
    fields : dict
        Keys of `[topology]`.
    or_refused : bool
        Whether it may be refused as well.
    """

    content: bytes
    links: list | None
    nodes: object = NODES
    count: int | None = None
    name: str = "graph.txt"
    fields: dict = field(default_factory=dict)
    or_refused: bool = False


def dialects(form):
    """The same links, written otherwise."""
    text = form.write(NODES, LINKS)
    lines = text.splitlines()
    yield "as it is", Case(text.encode(), LINKS)
    yield "BOM", Case(b"\xef\xbb\xbf" + text.encode(), LINKS)
    yield "CRLF", Case(text.replace("\n", "\r\n").encode(), LINKS)
    # a list of neighbours without an end may be a list of links that was cut
    bare = form.write is adjacency_list_bare
    yield "no end of line", Case(text.rstrip("\n").encode(), LINKS, or_refused=bare)
    yield "blank lines behind", Case((text + "\n\n  \n").encode(), LINKS)
    yield (
        "blank lines",
        Case(("\n\n".join(lines) + "\n").encode(), LINKS, or_refused="Matrix" in lines[0]),
    )
    yield "gzip", Case(gzip.compress(text.encode()), LINKS, name="graph.txt.gz")
    yield "another suffix", Case(text.encode(), LINKS, name="graph.csv")
    turned = [(b, a) for a, b in LINKS]
    yield "turned", Case(form.write(NODES, turned).encode(), LINKS)
    if form.comment:
        told = f"{form.comment} a remark of several words\n"
        yield "remark behind", Case((text.rstrip("\n") + "\n" + told).encode(), LINKS)
    if form.any_id:
        far = {1: 30, 2: 400, 3: 5000, 4: 10**17, 5: 10**17 + 1, 6: 10**17 + 20}
        yield "ids with gaps", Case(_renamed(form, far).encode(), _of(far), sorted(far.values()))
    two = [(1, 2), (2, 3), (4, 5), (6, 4)]
    yield "two components", Case(form.write(NODES, two).encode(), two)
    if form.declares:
        yield "a node alone", Case(form.write(NODES, LINKS[:3]).encode(), LINKS[:3])
        yield (
            "the last one alone",
            Case(form.write(NODES, LINKS[:4]).encode(), LINKS[:4]),
        )


def _renamed(form, names):
    return form.write([names[n] for n in NODES], [(names[a], names[b]) for a, b in LINKS])


def _of(names):
    return [(names[a], names[b]) for a, b in LINKS]


def damages(form):
    """Damages after which a file is no graph, or another one."""
    text = form.write(NODES, LINKS)
    yield "too few nodes", Case(text.encode(), None, count=5)
    yield "too many nodes", Case(text.encode(), None, count=9)
    yield "one node too many", Case(text.encode(), None, count=7)
    yield "UTF-16, no mark", Case(text.encode("utf-16-le"), None)
    yield "UTF-16", Case(text.encode("utf-16"), LINKS, or_refused=True)
    yield "zeros behind", Case(text.encode() + b"\0\0\0", None)
    yield "Latin 1", Case(text.encode() + b"\xe4\xf6 \xfc", None)
    yield "packed, no suffix", Case(gzip.compress(text.encode()), None)
    yield "broken gzip", Case(gzip.compress(text.encode())[:-9], None, name="graph.gz")
    yield "no gzip", Case(text.encode(), None, name="graph.gz")
    loop = [*LINKS, (3, 3)]
    yield "a self-loop", Case(form.write(NODES, loop).encode(), None)
    yield (
        "a self-loop, dropped",
        Case(form.write(NODES, loop).encode(), LINKS, fields={"drop_self_loops": True}),
    )
    if form.whole:
        for tenth in range(1, 10):
            cut = text[: len(text) * tenth // 10]
            yield f"cut at {tenth}/10", Case(cut.encode(), None)


CASES = {name: {**dict(dialects(form)), **dict(damages(form))} for name, form in FORMATS.items()}


def outcome(case, tmp_path):
    """The neighbours, or the error; anything else that happens is an error of the test."""
    path = tmp_path / case.name
    path.write_bytes(case.content)
    count = case.count or len(list(case.nodes))
    try:
        return GraphFile(path=str(path), **case.fields).neighbours(Site(count, Streams(0)))
    except ScenarioError as error:
        return error


def require_told(error, path, content):
    """An error names the file, and quotes no more than a word of it."""
    told = str(error)
    assert told.startswith(("[topology] path = ", "[link."))
    assert path.name in told
    assert "\n" not in told
    assert len(told) < 700
    said = told.replace(str(path), "")
    for line in content.decode("utf-8", "replace").splitlines():
        assert len(line.strip()) < 30 or line.strip() not in said


@pytest.mark.thinned(3)
@pytest.mark.parametrize("name", CASES)
def test_a_file_gives_its_links_or_is_refused(name, tmp_path):
    for way, case in CASES[name].items():
        found = outcome(case, tmp_path)
        if isinstance(found, ScenarioError):
            assert case.links is None or case.or_refused, (way, found)
            require_told(found, tmp_path / case.name, case.content)
        else:
            assert case.links is not None, (way, found)
            assert found == expected(case.links, case.nodes), way


def test_the_corpus_is_large():
    cases = [case for cases in CASES.values() for case in cases.values()]
    assert len(cases) > 1000
    assert sum(case.links is None for case in cases) > 500
