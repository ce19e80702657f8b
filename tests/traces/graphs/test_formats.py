"""Inputs that are no graph, or may be two: refused by name, with a remedy that works."""

import io
import json
import re

import networkx as nx
import numpy as np
import pandas as pd
import pytest

from netsim.errors import DataError, ScenarioError
from netsim.rng import Streams
from netsim.topology import Site
from netsim.topology.file import GraphFile
from netsim.traces.files import Text
from netsim.traces.graphs import formats
from netsim.traces.graphs.reading import read_graph

RING = [(0, 1), (1, 2), (2, 3), (3, 0)]


def read(content, **fields):
    return read_graph(Text('[topology] path = "g"', content), **fields)


def links(graph):
    return sorted(tuple(sorted((edge.a, edge.b))) for edge in graph.edges)


NOT_READ = {
    "GraphViz's DOT": [
        "graph {\n a -- b;\n}",
        "// x\nstrict digraph G {\n a -> b\n}",
        "graph G\n{\n",
    ],
    "GDF": ["nodedef>name VARCHAR,label VARCHAR\na,A\nedgedef>node1 VARCHAR\na,b\n"],
    "UCINET's DL": ["dl n=4 format=edgelist1\ndata:\n1 2\n", "DL\nN=2\nformat = fullmatrix\n"],
    "LEDA": ["LEDA.GRAPH\nstring\nint\n2\n|{a}|\n|{b}|\n1\n1 2 0 |{1}|\n"],
    "graph6 or sparse6": [">>graph6<<C~\n", ">>sparse6<<:An\n"],
    "a topology of BRITE": ["Topology: ( 2 Nodes, 1 Edges )\nModel (1 - RTWaxman): 2\n"],
    "a GraphBase file of GT-ITM": ["* GraphBase graph (util_types ZZZI, 2V, 2A)\n"],
    "TGF": ["1 First\n2 Second\n#\n1 2 an edge\n"],
    "LGL": ["# a\nb 1\nc 2\n# b\nc 3\n"],
    "a network of SUMO": ["<net version='1'><edge id='a' from='b' to='c'/></net>"],
    "a movement trace of SUMO": ["<fcd-export><timestep time='0'/></fcd-export>"],
    "a movement trace of ns-2": [
        "# a\n$node_(0) set X_ 1.0\n",
        '$ns_ at 1 "$node_(0) setdest 1 2 3"',
    ],
    "a web page": ["<!DOCTYPE html>\n<html><body>404</body></html>"],
    "an XML file of another kind": ["<?xml version='1.0'?><svg/>", "<svg", "<"],
}


@pytest.mark.parametrize(
    ("name", "content"), [(name, text) for name, texts in NOT_READ.items() for text in texts]
)
def test_a_format_that_is_not_read_is_refused_by_name(name, content):
    with pytest.raises(DataError, match=re.escape(f"is {name}, which is not read")) as caught:
        read(content)
    assert formats.NOT_READ[name] in str(caught.value)


def test_every_format_that_is_not_read_has_a_sample():
    assert set(NOT_READ) == set(formats.NOT_READ)


REFUSED = {
    "adjacency matrix": ("0 1 0 1\n1 0 1 0\n0 1 0 1\n1 0 1 0\n", "is a square table of 4"),
    "adjacency matrix, commas": ("0,1,0\n1,0,1\n0,1,0\n", r"square table of 3 .* delimiter"),
    "adjacency matrix of truth values": (
        "False,True,False\nTrue,False,True\nFalse,True,False\n",
        r"square table of 3 .* dtype=bool",
    ),
    "adjacency matrix of truth values, blanks": (
        "false true true\ntrue false true\ntrue true false\n",
        r"square table of 3 .*FILE, dtype=bool",
    ),
    "adjacency matrix of truth values, named": (
        ",a,b\na,False,True\nb,True,False\n",
        "table of 2 rows and columns with their names",
    ),
    "adjacency matrix, tabs": ("0\t1\t0\n1\t0\t1\n0\t1\t0\n", "square table of 3"),
    "matrix with names": (";A;B;C\nA;0;1;0\nB;1;0;1\nC;0;1;0\n", "with their names, as an adj"),
    "matrix, node numbers": (",0,1,2\n0,0,1,0\n1,1,0,1\n2,0,1,0\n", "with their names, as an adj"),
    "matrix under a corner": ("id,u,v\nu,0,1\nv,1,0\n", "with their names, as an adjacency"),
    "matrix of source, target": (",source,target\nsource,0,1\ntarget,1,0\n", "with their names"),
    "matrix of R": ('"n1" "n2"\n"n1" 0 2.5\n"n2" 2.5 0\n', "with their names, as an adjacency"),
    "matrix with gaps": (",i,j,k\ni,,1,\nj,1,,1\nk,,1,\n", "with their names, as an adjacency"),
    "may be a header": ("u v\nalpha beta\nbeta gamma\n", r'or be a link; put a line "source,tar'),
    "neighbours, cut off": ("#x\n# GMT now\n#\n0 1\n1 2\n", "in which every node begins one line"),
    "neighbours, blanks": ("#x\n# GMT now\n#\na 1 a 2\na 2\n", "in which every node begins one"),
    "with loops": ("1 1 0\n1 1 1\n0 1 1\n", "square table of 3"),
    "weights": ("0 2.5 0\n2.5 0 7\n0 7 0\n", "square table of 3"),
    "one way": ("0 1 0 0\n0 0 1 0\n0 0 0 1\n1 0 0 0\n", "square table of 4"),
    "transition matrix": (".5 .5 0\n.2 .6 .2\n0 .4 .6\n", r'".5" is no id of a node'),
    "distances": ("0 5 9\n5 0 4\n9 4 0\n", "square table of 3"),
    "weights of five": ("3 1 2 4 5\n" * 5, "square table of 5"),
    "incidence matrix": ("1 0 0 1 1 0\n0 1 0 1 0 1\n", "is a table of 6 columns of numbers"),
    "places": ("0.5 1.5\n2.5 3.5\n", r'line 1: "0.5" is no id of a node'),
    "NaN": ("0 1\n1 nan\n", r'line 2: "nan" is no id'),
    "infinity": ("0 1\n1 inf\n", r'line 2: "inf" is no id'),
    "a number of Python": ("0 1\n1 1_0\n", r'line 2: "1_0" is text'),
    "twice the same": ("0 1\n1 02\n02 3\n3 2\n", r'line 4: "2" and "02" are the same number'),
    "neighbours of every node": ("0 1 2 3\n1 4\n2 5\n", r"lines have 2 to 4 words.*read_adjlist"),
    "neighbours, closed": ("0 1 2\n1 2\n2 0\n", r"lines have 2 to 3 words.*read_adjlist"),
    "neighbours, as many each": ("0 1 2\n1 2 3\n2 3 0\n3 0 1\n", r"lines have 3 words.*adjlist"),
    "neighbours, three each": ("0 1 2 3\n4 0 5 1\n5 2 3 0\n", r"lines have 4 words.*read_adjlist"),
    "neighbours, commas": ("0,1,2,3\n1,4\n2,5\n", r'read_adjlist\(FILE, delimiter=","\)'),
    "neighbours, names": ("Ulm Rom Bonn\nRom Bonn Ulm\nBonn Ulm Rom\n", "lines have 3 words"),
    "numbers of lines": ("0 5 6\n1 6 7\n2 7 8\n", "its first column counts the lines"),
    "numbers of lines, met": ("0,0,1\n1,1,2\n2,2,0\n", "its first column counts the lines|square"),
    "numbers of lines, four": ("1,1,2\n2,2,3\n3,3,4\n4,4,1\n", "its first column counts the lin"),
    "contacts": ("20 1 2\n20 2 3\n40 1 3\n", r"may be moments.* kind = .contacts."),
    "pairs in brackets": ("(0, 1)\n(1, 2)\n", "is half of something in brackets"),
    "pairs of a list": ("0 [1,\n1 2]\n", "is not two node ids"),
    "arrows": ("a -> b\nb -> c\n", "behind two names stands another word"),
    "arrows of numbers": ("0 -> 1\n1 -> 2\n", "is text, and other ids are numbers"),
    "a node alone": ("0 1\n2\n1 3\n", r'line 2: "2" is not two node ids; if it is an adjacency'),
    "a count": ("3\n0 1\n1 2\n", r'line 1: "3" is not two node ids; if it is a count, put #'),
    "two counts": ("4 3\n0 1\n1 2\n2 3\n", r"may be a link or counts \(4 nodes, 3 links follow\)"),
    "two counts, from 1": ("4 3\n1 2\n2 3\n3 4\n", r"may be a link or counts \(4 nodes, 3 links"),
    "METIS": ("4 4\n2 4\n1 3\n2 4\n1 3\n", r"may be the counts of METIS \(4 nodes, 4 links"),
    "METIS, ragged": ("5 5\n2 4\n1 3\n2 4 5\n1 3\n3\n", r"read_adjlist|METIS"),
    "numbers of columns": ("0,1\n5,6\n6,7\n", "numbers that pandas gives columns"),
    "an unknown header": ("alpha,beta\n0,1\n1,2\n", "line 1: its first line is text"),
    "a table of nodes": ("id,lat,lon\n3,40.7,-73.9\n10,40.7,-74.0\n", r"line 1: its first line"),
    "a table of nodes, ragged": ("id,lat,status\n3,40.7\n1,2,NN x\n", r"line 1: its first line"),
    "names and numbers": ("Ulm 3\nBonn 4\nRom 5\n", "line 1: it is text, and other ids"),
    "a slip": ("0 1\n1 2\n2 O\n", r'line 3: "O" is text, and other ids are numbers'),
    "header of names": (
        "city_a;city_b\nUlm;Bonn\nBonn;Rom\n",
        r"may name the columns or be a link",
    ),
    "header, never met": (
        "Person,Friend\nAnn,Bob\nBob,Cid\n",
        r"may name the columns or be a link",
    ),
    "header over values": (
        "Person,Friend,km\nPerson,Bob,3\n",
        r"may name the columns or be a link",
    ),
    "blanks in names": ("New York,Chicago,1145\nChicago,Ulm,3\n", "line 1: it is a name with bl"),
    "blanks, some in quotation marks": (
        '"Des Moines",Ulm,5\nNew York,Ulm,3\n',
        r'line 2: "New York" is a name with blanks',
    ),
    "blanks, no commas": ("New York Chicago 1145\nChicago Los Angeles 2\n", "stands another word"),
    "blanks and tabs": ("New York\tChicago\nChicago\tUlm\n", "it is a name with blanks"),
    "two separators": ("Ulm,DE Bonn,DE\nBonn,DE Rom,IT\n", "it is a name with blanks"),
    "half a quotation mark": ('"New York,Chicago\n', "a quotation mark without its other half"),
    "more than the header": ("source,target\na,b,c\nb,c\n", "has 3 columns, the header 2"),
    "an empty cell": ("source,target\na,\nb,c\n", r'line 2: "a" is not two node ids'),
    "a header alone": ("source,target\n", "holds no edge"),
    "data that is no data": ("0 1 {import os}\n", r"its data in \{ \} is not what networkx writes"),
    "prose": ("This is a file\nof some words\n", r"stands another word|lines have"),
    "code": ("import os\nos.remove(x)\n", r'"os.remove\(x\)" is not two node ids'),
    "settings": ("[topology]\nkind = 3\n", "is not valid JSON"),
    "two counts and more links": ("% sym\n% 3 3 3\n0 1\n", "says \"3\" links and holds 1"),
    "two sides": ("% bip unweighted\n1 1\n1 2\n", "is Konect's bipartite graph"),
    "nothing": ("", "holds no edge"),
    "blanks alone": (" \n\n\t\n", "holds no edge"),
    "remarks alone": ("# a\n% b\n", "holds no edge"),
    "no relationship": ("1|2|0\n2|3|7\n", r'line 2: the relationship is "7", not -1, 0, 1 or 2'),
    "no AS": ("1|2|0\nx|3|0\n", r'line 2: "x" does not begin AS'),
    "DIMACS, undeclared": ("p edge 2 1\ne 1 3\n", r'line 2: the edge .* names node "3"'),
    "DIMACS, too few": ("p edge 3 2\ne 1 3\n", "says 2 links and holds 1"),
    "DIMACS, no graph": ("p cnf 2 1\n1 -2 0\n", 'is DIMACS, of no graph but of "cnf"'),
    "DIMACS, huge": ("p edge 999999999 1\ne 1 2\n", "promises more than"),
    "a map, undeclared": ("1 @a -> <2>\n", r'line 1: the edge "1" - "2" names node "2"'),
    "Pajek, undeclared": ("*vertices 2\n*edges\n1 3\n", r'line 3: the edge .* names node "3"'),
    "Pajek, no vertex": ("*vertices 2\n3 \"c\"\n*edges\n1 2\n", r'vertex "3" is not among 1 to 2'),
    "Pajek, huge": ("*vertices 999999999\n*edges\n1 2\n", "promises more than"),
    "Pajek, sections": ("*vertices 2\n*partition\n1\n", r'the section "\*partition" is not read'),
    "Pajek, times": ("*vertices 2\n*edges\n1 2 1 [3-5]\n", r"has times: links that come and go"),
    "Pajek, no counts": ("*edges\n1 2\n", r"names node|has no \*Vertices"),
    "MatrixMarket, sides": (
        "%%MatrixMarket matrix coordinate pattern general\n2 3 1\n1 2\n",
        "only a square",
    ),
    "MatrixMarket, huge": (
        "%%MatrixMarket matrix array real general\n99999 99999\n1\n",
        "entries and holds 1",
    ),
    "MatrixMarket, outside": (
        "%%MatrixMarket matrix coordinate pattern general\n2 2 1\n1 3\n",
        r'line 3: .* names node "3"',
    ),
    "MatrixMarket, complex": (
        "%%MatrixMarket matrix coordinate complex general\n2 2 1\n1 2 3 4\n",
        "is no matrix of real numbers",
    ),
    "MatrixMarket, NaN": (
        "%%MatrixMarket matrix coordinate real general\n2 2 1\n1 2 nan\n",
        "line 3: .* no entry of the matrix",
    ),
    "GML, undeclared": ("graph [ node [ id 1 ] edge [ source 1 target 2 ] ]", "is not valid GML"),
    "GML, twice": ("graph [ node [ id 1 ] node [ id 1 ] ]", "is not valid GML"),
    "GML, no id": ("graph [ node [ label 1 ] ]", "is not valid GML"),
    "GML, half a quotation mark": ('graph [\n node [ id 1 label "a\n\n ]\n', "is not valid GML"),
    "GML, deep": ("graph [ " + "a [ " * 50_000, "nested too deeply|is not valid GML"),
    "MatrixMarket, cut": (
        "%%MatrixMarket matrix array real general\n3 3\n0\n1\n0\n1x",
        "says 9 entries and holds 4",
    ),
    "JSON, a list": ("[[0, 1], [1, 2]]", "is a list in JSON"),
    "JSON, another": ('{"a": 1}', "is JSON, but no graph"),
    "JSON, no number": ("{\"nodes\": 5, \"links\": []}", "is JSON, but no graph"),
    "JSON, no end": ('{"nodes": [{"id": 1}], "links": [', "is not valid JSON"),
    "JSON, undeclared": (
        '{"nodes": [{"id": 1}], "links": [{"source": 1, "target": 2}]}',
        r'names node "2", which is not declared',
    ),
    "JSON, twice": ('{"nodes": [{"id": 1}, {"id": 1}], "links": []}', 'two nodes have the id "1"'),
    "Pajek, twice": ('*Vertices 2\n1 "a"\n1 "b"\n*Edges\n1 2\n', 'two nodes have the id "1"'),
    "GraphML, twice": (
        '<graphml><graph edgedefault="undirected"><node id="1"/><node id="1"/></graph></graphml>',
        'two nodes have the id "1"',
    ),
    "GEXF, twice": (
        '<gexf><graph><nodes><node id="1"/><node id="1"/></nodes><edges/></graph></gexf>',
        'two nodes have the id "1"',
    ),
    "SNDlib, twice": (
        "?SNDlib native format; type: network; version: 1.0\nNODES (\n a ( 1 2 )\n a ( 1 3 )\n)\n"
        "LINKS (\n)\n",
        'two nodes have the id "a"',
    ),
    "Rocketfuel, twice": (
        "1 @a bb (1) -> <2> =r r0\n1 @a bb (1) -> <2> =r r0\n2 @c bb (1) -> <1> =x r0\n",
        'two nodes have the id "1"',
    ),
    "JSON, 1 and text 1": (
        '{"nodes": [{"id": 1}, {"id": "1"}], "links": []}',
        'two nodes have the id "1"',
    ),
    "JSON, two lists of links": (
        '{"nodes": [{"id": 1}, {"id": 2}], "links": [], "edges": [{"source": 1, "target": 2}]}',
        "has links and edges, which differ",
    ),
    "JSON, a list of links twice": (
        '{"nodes": [{"id": 1}, {"id": 2}], "links": [], "links": [{"source": 1, "target": 2}]}',
        'the key "links" stands twice',
    ),
    "names that look alike": ("Köln Bonn\nKo\u0308ln Rom\n", "differ in blanks alone"),
    "names with an unseen sign": ("a b\n\u200ba c\n", "signs that are not seen"),
    "JSON, no target": ('{"nodes": [{"id": 1}], "links": [{"source": 1}]}', "has no target"),
    "JSON, lists as ids": (
        '{"nodes": [{"id": {}}], "links": [{"source": 1}]}',
        "can't be read",
    ),
    "JSON, directed in words": (
        '{"directed": "false", "nodes": [{"id": 1}, {"id": 2}], '
        '"links": [{"source": 1, "target": 2}]}',
        'directed = "false", neither true nor false',
    ),
    "JSON of graphology": (
        '{"nodes": [{"key": 1}, {"key": 0}], "edges": [{"source": 0, "target": 1}]}',
        r"node 0 \(counted from 0\) has no id; write id in place of key",
    ),
    "JSON, an id missing": (
        '{"nodes": [{"id": 1}, {"name": "b"}], "links": [{"source": 1, "target": 1}]}',
        r"node 1 \(counted from 0\) has no id",
    ),
    "directed in other words": ("source,target,directed\na,b,both\n", 'directed = "both", neither'),
    "Inet": ("3 2\n0 10 20\n1 30 40\n2 50 60\n0 1 5\n1 2 6\n", "the 3 lines beneath tell of"),
    "JSON, deep": ("[" * 100_000, "nested too deeply|is not valid JSON"),
    "JSON, adjacency undeclared": (
        '{"nodes": [{"id": 1}], "adjacency": [[{"id": 2}]]}',
        'names node "2", which is not declared',
    ),
    "Cytoscape, undeclared": (
        '{"elements": [{"data": {"id": 1}}, {"data": {"source": 1, "target": 2}}]}',
        'names node "2", which is not declared',
    ),
    "Cytoscape, no id": ('{"elements": [{"data": {"name": 1}}]}', "each node needs an id"),
    "Cytoscape, no list": ('{"elements": {"nodes": 3}}', "can't be read"),
    "SNDlib, undeclared": (
        "?SNDlib native format\nNODES (\n a ( 1 2 )\n)\nLINKS (\n l ( a b ) 1\n)\n",
        r'line 6: the edge "a" - "b" names node "b"',
    ),
    "SNDlib, no end": ("?SNDlib native format\nNODES (\n a ( 1 2 )\n", 'the section "NODES" never'),
    "SNDlib, coordinates": ("?SNDlib native format\nNODES (\n a ( 1 )\n)\n", "has 1 coordinates"),
    "SNDlib XML, no source": (
        "<network><networkStructure><links><link id='a'/></links></networkStructure></network>",
        "a <link> without one <source>",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_may_be_something_else_is_refused_by_name(name):
    content, says = REFUSED[name]
    with pytest.raises(DataError, match=says) as caught:
        read(content, drop_self_loops=True)
    assert str(caught.value).startswith('[topology] path = "g": ')


# -- XML ---------------------------------------------------------------------------------------

BODY = '<node id="a"/><node id="b"/><edge source="a" target="b"/>'
GEXF_NODES = "<nodes><node id='a'/><node id='b'/></nodes>"


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (f"<graphml><graph>{BODY}</graph><graph>{BODY}</graph></graphml>", "holds 2 graphs; leave"),
        (
            f'<graphml><graph>{BODY}<node id="c"><graph>{BODY}</graph></node></graph></graphml>',
            "line 1: a graph lies inside of a <node>",
        ),
        (
            f'<graphml><graph>{BODY}<hyperedge><endpoint node="a"/></hyperedge></graph></graphml>',
            "holds a <hyperedge>",
        ),
        (
            f'<graphml><graph parse.nodes="3">{BODY}</graph></graphml>',
            'parse.nodes = "3" and holds',
        ),
        (
            f'<graphml><graph parse.edges="3">{BODY}</graph></graphml>',
            'parse.edges = "3" and holds',
        ),
        (f"<graphml><graph>{BODY}<node/></graph></graphml>", "a <node> without an id"),
        (f'<graphml><graph>{BODY}<edge source="a"/></graph></graphml>', "an <edge> without a targ"),
        (
            f'<!DOCTYPE g [<!ENTITY x "{"y" * 99}">]><graphml><graph>{BODY}</graph></graphml>',
            "declares entities of its own",
        ),
        (
            f'<!DOCTYPE g [<!ENTITY x SYSTEM "file:///etc/passwd">]><graphml>{BODY}&x;</graphml>',
            "declares entities of its own",
        ),
        (f"<graphml><graph>{BODY}&nbsp;</graph></graphml>", "is not valid XML at column"),
        ("<gexf><graph mode='dynamic'/></gexf>", "its links come and go"),
        (
            f"<gexf><graph>{GEXF_NODES}<edges><edge source='a' target='b' end='5'/></edges>"
            "</graph></gexf>",
            "this edge has times: its links come and go",
        ),
        (
            f"<gexf><graph>{GEXF_NODES}<edges><edge source='a' target='b'><spells/></edge></edges>"
            "</graph></gexf>",
            "this edge has times",
        ),
        (
            f"<gexf><graph>{GEXF_NODES}<edges><edge source='a' target='b'><attvalues>"
            "<attvalue for='0' value='5' start='1'/></attvalues></edge></edges></graph></gexf>",
            "this edge has times",
        ),
        ("<gexf/>", "holds 0 <graph>"),
        (
            '<gexf><graph><nodes count="3"><node id="a"/></nodes></graph></gexf>',
            'count = "3" and holds 1',
        ),
    ],
)
def test_what_graphs_in_xml_have_beside_a_plain_graph_is_refused(content, says):
    with pytest.raises(DataError, match=says):
        read(content)


def said_twice(form):
    """An edge with two values of one name, in each format that could hold them."""
    rate = '<key id="k" for="edge" attr.name="rate"'
    data = '<data key="k">5</data><data key="l">7</data>'
    edge = '<node id="a"/><node id="b"/><edge source="a" target="b"'
    gexf = '<gexf><graph><attributes class="edge"><attribute id="0" title="rate"/>'
    gexf_edge = '</attributes><nodes><node id="a"/><node id="b"/></nodes><edges><edge source="a" '
    values = '<attvalue for="0" value="5"/><attvalue for="1" value="7"/>'
    json_edge = '{"nodes": [{"id": 1}, {"id": 2}], "links": [{"source": 1, "target": 2, "rate": 5'
    return {
        "GraphML, two keys": f"<graphml>{rate}/>{rate.replace('k', 'l', 2).replace('ley', 'key')}/>"
        f"<graph>{edge}>{data}</edge></graph></graphml>",
        "GraphML, one key": f"<graphml>{rate}/><graph>{edge}>{data.replace('l', 'k')}</edge>"
        "</graph></graphml>",
        "GraphML, defaults": f"<graphml>{rate}><default>1</default></key><key id='l' "
        f"attr.name='rate'><default>2</default></key><graph>{edge}/></graph></graphml>",
        "GraphML, ids": f"<graphml>{rate}/>{rate.replace('rate', 'km')}/><graph>{edge}/></graph>"
        "</graphml>",
        "GEXF": f'{gexf}<attribute id="1" title="rate"/>{gexf_edge}target="b"><attvalues>{values}'
        "</attvalues></edge></edges></graph></gexf>",
        "GEXF, ids": f'{gexf}<attribute id="0" title="km"/>{gexf_edge}target="b"/></edges></graph>'
        "</gexf>",
        "node-link": json_edge + ', "rate": 7}]}',
        "header": "source,target,rate,rate\n1,2,5,7\n2,3,5,7\n",
    }[form]


@pytest.mark.parametrize(
    ("form", "says"),
    [
        ("GraphML, two keys", 'line 1: this edge has two values of "rate": "5" and "7"'),
        ("GraphML, one key", 'this edge has two values of "rate"'),
        ("GraphML, defaults", 'every edge by default has two values of "rate": "1" and "2"'),
        ("GraphML, ids", 'two declarations of data have the id "k"'),
        ("GEXF", 'this edge has two values of "rate": "5" and "7"'),
        ("GEXF, ids", 'two declarations of data have the id "0"'),
        ("node-link", 'the key "rate" stands twice'),
        ("header", 'two columns are called "rate"'),
    ],
)
def test_two_values_of_one_name_are_refused(form, says):
    with pytest.raises(DataError, match=says):
        read(said_twice(form))


def test_keys_of_one_name_for_values_of_two_types_are_read():
    """As networkx writes them; each edge has one of the two."""
    made = nx.Graph()
    made.add_edge("a", "b", rate=5)
    made.add_edge("b", "c", rate=2.5)
    found = {edge.values["rate"] for edge in read("\n".join(nx.generate_graphml(made))).edges}
    assert found == {"5", "2.5"}


def test_xml_that_is_nested_deeply_is_no_danger():
    with pytest.raises(DataError, match="holds no <graph>"):
        read("<graphml>" + "<a>" * 20_000 + "</a>" * 20_000 + "</graphml>")


def test_the_encoding_that_xml_names_is_not_that_of_the_text():
    for encoding in ("ISO-8859-1", "utf-16", "klingon"):
        body = BODY.replace('"a"', '"\u00e4"')
        found = read(f"<?xml version='1.0' encoding='{encoding}'?><graphml><graph>{body}</graph>"
                     "</graphml>")  # fmt: skip
        assert links(found) == [("b", "\u00e4")]


def test_defaults_and_own_values_of_graphml():
    found = read(
        """<graphml><key id="k" for="edge" attr.name="rate"><default>5</default></key>
        <key id="l" for="node" attr.name="rate"><default>7</default></key>
        <key id="m" attr.name="both"><default>x</default></key>
        <key id="n" for="graph" attr.name="none"><default>y</default></key>
        <graph><node id="a"/><node id="b"><data key="l">8</data></node>
        <edge source="a" target="b"/><edge source="b" target="a"><data key="k">6</data></edge>
        </graph></graphml>"""
    )
    assert found.nodes == {"a": {"rate": "7", "both": "x"}, "b": {"rate": "8", "both": "x"}}
    assert [edge.values for edge in found.edges] == [
        {"rate": "5", "both": "x"},
        {"rate": "6", "both": "x"},
    ]


def test_defaults_and_own_values_of_gexf():
    found = read(
        """<gexf><graph><attributes class="edge"><attribute id="0" title="rate" type="float">
        <default>5</default></attribute></attributes>
        <nodes><node id="a"><nodes><node id="b"/></nodes></node></nodes>
        <edges><edge source="a" target="b"/><edge source="b" target="a" weight="2">
        <attvalues><attvalue for="0" value="6"/></attvalues></edge></edges></graph></gexf>"""
    )
    assert [edge.values for edge in found.edges] == [{"rate": "5"}, {"rate": "6", "weight": "2"}]


def test_data_of_sndlib_s_links():
    native = (
        "?SNDlib native format; type: network; version: 1.0\nNODES (\n a ( 7.5 50 )\n b\n)\n"
        "LINKS (\n l ( a b ) 1 2 3 4 ( 5 6 )\n m ( b a ) 1 2 3 4 ( 5 6 7 8 )\n)\n"
    )
    xml = """<network><networkStructure><nodes><node id="a"><coordinates><x>7.5</x><y>50</y>
    </coordinates></node><node id="b"/></nodes><links>
    <link><source>a</source><target>b</target><preInstalledModule><capacity>1</capacity>
    <cost>2</cost></preInstalledModule><routingCost>3</routingCost><setupCost>4</setupCost>
    <additionalModules><addModule><capacity>5</capacity><cost>6</cost></addModule>
    </additionalModules></link>
    <link><source>b</source><target>a</target><preInstalledModule><capacity>1</capacity>
    <cost>2</cost></preInstalledModule><routingCost>3</routingCost><setupCost>4</setupCost>
    <additionalModules><addModule><capacity>5</capacity><cost>6</cost></addModule><addModule>
    <capacity>7</capacity><cost>8</cost></addModule></additionalModules></link>
    </links></networkStructure></network>"""
    for content in (native, xml):
        found = read(content)
        assert found.nodes == {"a": {"Longitude": "7.5", "Latitude": "50"}, "b": {}}
        first, second = (edge.values for edge in found.edges)
        assert first == {
            "pre_installed_capacity": "1",
            "pre_installed_capacity_cost": "2",
            "routing_cost": "3",
            "setup_cost": "4",
            "module_capacity": "5",
            "module_cost": "6",
        }
        assert second == {k: v for k, v in first.items() if not k.startswith("module")}


# -- directions --------------------------------------------------------------------------------

ONE_WAY = {
    "GraphML": f'<graphml><graph edgedefault="directed">{BODY}</graph></graphml>',
    "GraphML, an edge": "<graphml><graph>"
    + BODY.replace("<edge", '<edge directed="true"')
    + "</graph></graphml>",
    "GEXF": '<gexf><graph defaultedgetype="directed"><nodes><node id="a"/><node id="b"/></nodes>'
    '<edges><edge source="a" target="b"/></edges></graph></gexf>',
    "GML": "graph [ directed 1 node [ id 1 ] node [ id 2 ] edge [ source 1 target 2 ] ]",
    "node-link": '{"directed": true, "nodes": [{"id": 1}, {"id": 2}], '
    '"links": [{"source": 1, "target": 2}]}',
    "Pajek": "*vertices 2\n*arcs\n1 2\n",
    "Konect": "% asym unweighted\n1 2\n",
    "SNAP": "# Directed graph (each unordered pair of nodes is saved once): x\n0\t1\n",
    "a column": "source,target,directed\na,b,True\n",
    "node-link, an edge": '{"nodes": [{"id": 1}, {"id": 2}], '
    '"links": [{"source": 1, "target": 2, "directed": true}]}',
    "Gephi": "Source,Target,Type\na,b,Directed\n",
    "DIMACS": "p sp 2 1\na 1 2 5\n",
    "MatrixMarket": "%%MatrixMarket matrix coordinate pattern general\n2 2 1\n1 2\n",
}


@pytest.mark.parametrize("name", ONE_WAY)
def test_a_link_of_one_direction_is_told(name, tmp_path):
    (tmp_path / "g").write_text(ONE_WAY[name])
    site = Site(2, Streams(0))
    with pytest.raises(ScenarioError, match=r"leads one way \(1 such links\).*drop_directions"):
        GraphFile(path=str(tmp_path / "g")).neighbours(site)
    both = GraphFile(path=str(tmp_path / "g"), drop_directions=True).neighbours(site)
    assert both == [(1,), (0,)]


# -- remedies ----------------------------------------------------------------------------------


def remedy(told, path):
    """The code that an error proposes, run on the file; the links that it writes."""
    code = re.search(r"(networkx\.write_edgelist\(.*?\)) does", told)[1]
    code = code.replace("FILE", repr(str(path))).replace("edges.txt", str(path) + ".edges")
    exec(code, {"networkx": nx, "numpy": np, "pandas": pd})
    return read(path.with_name(path.name + ".edges").read_text())


@pytest.mark.parametrize("delimiter", [" ", ","])
def test_the_remedy_for_a_matrix_gives_its_graph(tmp_path, delimiter):
    path = tmp_path / "adj"
    np.savetxt(path, nx.to_numpy_array(nx.Graph(RING)), fmt="%d", delimiter=delimiter)
    with pytest.raises(DataError) as caught:
        read(path.read_text())
    assert links(remedy(str(caught.value), path)) == [
        ("0", "1"), ("0", "3"), ("1", "2"), ("2", "3"),
    ]  # fmt: skip


@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize(
    "names", [range(4), ["A", "B", "C", "D"], ["n1", "n2", "source", "target"]]
)
def test_the_remedy_for_a_matrix_with_names_gives_its_graph(tmp_path, separator, names):
    made = nx.relabel_nodes(nx.Graph(RING), dict(enumerate(names)))
    path = tmp_path / "adj.csv"
    nx.to_pandas_adjacency(made, dtype=int).to_csv(path, sep=separator)
    with pytest.raises(DataError) as caught:
        read(path.read_text())
    told = {frozenset(link) for link in links(remedy(str(caught.value), path))}
    assert told == {frozenset(map(str, edge)) for edge in made.edges}


def test_the_remedy_for_lists_of_neighbours_gives_their_graph(tmp_path):
    path = tmp_path / "neighbours"
    path.write_text("0 1 2 3\n1 4\n2 5\n")
    with pytest.raises(DataError) as caught:
        read(path.read_text())
    assert links(remedy(str(caught.value), path)) == [
        ("0", "1"), ("0", "2"), ("0", "3"), ("1", "4"), ("2", "5"),
    ]  # fmt: skip


UNDER_A_HEADER = (
    "header of names", "header, never met", "two counts", "two counts, from 1", "METIS",
    "numbers of columns", "blanks in names", "a slip", "names and numbers", "neighbours, closed",
    "adjacency matrix", "one way", "an unknown header",
)  # fmt: skip


@pytest.mark.parametrize("name", UNDER_A_HEADER)
def test_the_remedy_of_a_header_makes_every_line_a_link(name):
    content = REFUSED[name][0]
    lines = content.splitlines()
    sign = next((s for s in ",;\t" if s in lines[0]), " ")
    width = max(len(line.split(None if sign == " " else sign)) for line in lines)
    names = ["source", "target", "w", "x"][:width]
    found = read(sign.join(names) + "\n" + content, drop_self_loops=True)
    ends = {tuple(line.split(None if sign == " " else sign)[:2]) for line in lines}
    assert {(edge.a, edge.b) for edge in found.edges} == {e for e in ends if e[0] != e[1]}


# -- edge lists that are none of these ---------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ('source,target,km\nNew York,Chicago,1\nChicago,"Los, A",2\n',
         [("Chicago", "Los, A"), ("Chicago", "New York")]),
        ('"New York","Chicago",1\n"Chicago","Los Angeles",2\n',
         [("Chicago", "Los Angeles"), ("Chicago", "New York")]),
        ('"New York" Chicago\nChicago "Los Angeles"\n',
         [("Chicago", "Los Angeles"), ("Chicago", "New York")]),
        ("source\ttarget\nNew York\tChicago\n", [("Chicago", "New York")]),
        ("target,source\n1,2\n", [("1", "2")]),
        ("a b 1 10\nb c 1 10\na c 5 99\n", [("a", "b"), ("a", "c"), ("b", "c")]),
        ("0 1 5\n1 2 7\n2 3 4\n", [("0", "1"), ("1", "2"), ("2", "3")]),
        ("0 1 1\n1 2 1\n2 3 1\n3 0 1\n", [("0", "1"), ("0", "3"), ("1", "2"), ("2", "3")]),
        ("0,1,2\n1,2\n2\n", [("0", "1"), ("0", "2"), ("1", "2")]),
        ("0 1 1\n0 2 1\n0 3 1\n", [("0", "1"), ("0", "2"), ("0", "3")]),
        ("0 5 1\n0 6 1\n1 5 1\n1 6 1\n", [("0", "5"), ("0", "6"), ("1", "5"), ("1", "6")]),
        ("0 1 # why\n1 2 # so\n", [("0", "1"), ("1", "2")]),
        ("// why\n0 1\n", [("0", "1")]),
        ("1.0 2.0\n2.0 3.0\n", [("1", "2"), ("2", "3")]),
        ("1.000e+00 2.000e+00\n2.000e+00 3.000e+01\n", [("1", "2"), ("2", "30")]),
        ("vertex1 vertex2 weight\na b 1\nb c 2\n", [("a", "b"), ("b", "c")]),
        ("0 1\n0 2\n1 2\n", [("0", "1"), ("0", "2"), ("1", "2")]),
        ("0 1 2\n1 3 1.5\n2 4 1.5\n", [("0", "1"), ("1", "3"), ("2", "4")]),
        ("-1 2\n2 -3\n", [("-1", "2"), ("-3", "2")]),
        ("0 1\n0 1\n1 0\n", [("0", "1")] * 3),
        ("0,1,\n1,2,\n", [("0", "1"), ("1", "2")]),
        ("node1 node2\nnode2 node3\n", [("node1", "node2"), ("node2", "node3")]),
        ("Ulm,+D Rome,+I 5\nBonn,+D Rome,+I 7\n", [("Bonn,+D", "Rome,+I"), ("Rome,+I", "Ulm,+D")]),
    ],
)  # fmt: skip
def test_an_edge_list_is_read(content, expected):
    assert links(read(content)) == expected


@pytest.mark.parametrize(
    "content",
    [
        '{"links": [{"source": 1, "target": 2, "key": 7, "w": 3}, '
        '{"source": 1, "target": 2, "key": 7, "w": 4}], "nodes": [{"id": 1}, {"id": 2}]}',
        '{"nodes": [{"id": 1}, {"id": 2}], '
        '"adjacency": [[{"id": 2, "w": 3}], [{"id": 1, "w": 4}]]}',
        json.dumps(nx.adjacency_data(nx.MultiGraph([(1, 2, {"w": 3}), (1, 2, {"w": 4})]))),
    ],
)
def test_no_parallel_link_of_json_takes_another_one_s_place(content):
    assert [edge.values for edge in read(content).edges] == [{"w": "3"}, {"w": "4"}]


def test_a_pair_in_both_orders_has_two_directions():
    found = read("a b 1\nb a 2\nb c 3\n")
    assert [(e.a, e.b, e.directed) for e in found.edges] == [
        ("a", "b", True),
        ("b", "a", True),
        ("b", "c", False),
    ]
    assert found.one_way() == []


def test_values_have_the_names_of_a_header_and_of_networkx():
    assert read("source,target,rate\na,b,5\n").edges[0].values == {"3": "5", "rate": "5"}
    out = io.BytesIO()
    nx.write_edgelist(nx.Graph([(0, 1, {"rate": 5.0})]), out)
    assert read(out.getvalue().decode()).edges[0].values["rate"] == "5.0"


def test_snap_files_that_save_a_pair_once_are_undirected(tmp_path):
    """Their comments call them directed, and then undirected."""
    head = (
        "# Directed graph (each unordered pair of nodes is saved once): x\n# Undirected graph: x\n"
    )
    (tmp_path / "g").write_text(head + "0\t1\n")
    assert GraphFile(path=str(tmp_path / "g")).neighbours(Site(2, Streams(0))) == [(1,), (0,)]
