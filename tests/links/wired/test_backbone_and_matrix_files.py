"""Backbones and latency matrices in every dialect: each direction's own numbers, or an error."""

import gzip
import io
import json
import re
from itertools import pairwise

import networkx as nx
import numpy as np
import pytest

from netsim.errors import ScenarioError
from netsim.links.wired.backbone import Backbone
from netsim.links.wired.latencies import LatencyMatrix
from netsim.rng import Streams
from netsim.traces import remarks

RATE = {("A", "B"): 1e6, ("B", "A"): 2e6, ("B", "C"): 3e6, ("C", "B"): 4e6}
LATENCY_MS = {("A", "B"): 5.0, ("B", "A"): 6.0, ("B", "C"): 7.0, ("C", "B"): 8.0}


def lines_of(path, **fields):
    """Rate and latency [ns] of the route between every two of the routers A, B, C."""
    found = Backbone(path=str(path), routers=("A", "B", "C"), **fields).read(3, Streams(0), None)
    names = "ABC"
    return {
        (names[i], names[j]): [
            (x.a, x.b, x.rate_bps, x.latency_ns) for x in found.route_lines(i, j)
        ]
        for i in range(3)
        for j in range(3)
        if i != j
    }


def expected(rate, latency_ms):
    def over(*way):
        return [(a, b, rate[a, b], round(latency_ms[a, b] * 1e6)) for a, b in pairwise(way)]

    return {(w[0], w[-1]): over(*w) for w in ("AB", "BA", "BC", "CB", "ABC", "CBA")}


def directed():
    made = nx.DiGraph()
    for (a, b), rate in RATE.items():
        made.add_edge(a, b, rate=rate, latency=LATENCY_MS[a, b])
    return made


def columns(separator, header):
    rows = [f"{a}{separator}{b}{separator}{LATENCY_MS[a, b]}{separator}{r}"
            for (a, b), r in RATE.items()]  # fmt: skip
    return "\n".join([header.replace(",", separator)] * bool(header) + rows) + "\n"


def by_networkx(write):
    out = io.BytesIO()
    write(directed(), out)
    return out.getvalue().decode()


def node_link():
    return json.dumps(nx.node_link_data(directed(), edges="edges"))


NAMED = {"rate_attribute": "rate", "latency_attribute": "latency"}
BY_NUMBER = {"rate_attribute": "4", "latency_attribute": "3"}
DIRECTED = {
    "blanks": (columns(" ", ""), BY_NUMBER),
    "commas": (columns(",", ""), BY_NUMBER),
    "header": (columns(",", "source,target,latency,rate"), NAMED),
    "header, by number": (columns(",", "source,target,latency,rate"), BY_NUMBER),
    "semicolons": (columns(";", "from,to,latency,rate"), NAMED),
    "GraphML": (by_networkx(nx.write_graphml), NAMED),
    "GEXF": (by_networkx(nx.write_gexf), NAMED),
    "GML": (by_networkx(nx.write_gml), NAMED),
    "networkx's data": (by_networkx(nx.write_edgelist), NAMED),
    "node-link": (node_link(), NAMED),
}


@pytest.mark.parametrize("name", DIRECTED)
def test_each_direction_of_a_line_has_its_own_rate_and_latency(name, tmp_path):
    content, fields = DIRECTED[name]
    if name == "GML":  # ids are numbers there; routers go by their labels
        found = Backbone(path=write(tmp_path, content), routers=("A", "B", "C"), **fields)
        routes = found.read(3, Streams(0), None)
        for (i, j), (a, b) in {(0, 1): "AB", (1, 0): "BA", (1, 2): "BC", (2, 1): "CB"}.items():
            [line] = routes.route_lines(i, j)
            assert (line.rate_bps, line.latency_ns) == (RATE[a, b], LATENCY_MS[a, b] * 1e6)
        return
    assert lines_of(write(tmp_path, content), **fields) == expected(RATE, LATENCY_MS)


def write(tmp_path, content, name="g.txt"):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return str(path)


def test_a_line_that_lacks_one_direction_is_crossed_in_the_other_alone(tmp_path):
    graph = directed()
    graph.remove_edge("C", "B")
    path = write(tmp_path, "\n".join(nx.generate_graphml(graph)))
    with pytest.raises(ScenarioError, match=r"node 0 at .* are not connected both ways; set comp"):
        lines_of(path, **NAMED)
    found = Backbone(path=path, component="largest", **NAMED).read(2, Streams(0), None)
    assert set(found.router) == {"A", "B"}


@pytest.mark.parametrize(
    ("content", "fields", "unread"),
    [
        ("A B 5 1e6\nC B 7 3e6\n", {}, "column 3, column 4 of"),
        ("A B 5 1e6\nC B 7 3e6\n", {"rate_attribute": "4"}, "column 3 of"),
        ("A B 5 1e6\nC B 7 3e6\n", BY_NUMBER, None),
        ("A B 5 1e6 9\nC B 7 3e6 9\n", BY_NUMBER, "column 5 of"),
        ("source,target,km,kind\nA,B,5,x\nC,B,7,y\n", {}, r'column 3 \("km"\) of'),
        ("source,target,latency,kind\nA,B,5,x\nC,B,7,y\n", {}, None),
        ("source,target,latency\nA,B,5\nC,B,7\n", {"latency_attribute": "3"}, None),
        ("A B\nC B\n", {}, None),
        ("A B {'km': 5}\nC B {'km': 7}\n", {}, 'reads "km" of'),
        ("A B {'km': 5, 'latency': 7}\nC B {'km': 7}\n", {}, None),
        ("A,B,5ms,1Gbps\nC,B,7ms,3Gbps\n", {}, "column 3, column 4 of"),
        (directed(), {}, 'reads "latency_ms", "rate" of'),
    ],
)
def test_numbers_of_lines_that_no_key_reads_are_named(content, fields, unread, tmp_path):
    if isinstance(content, nx.DiGraph):
        for *_, data in content.edges(data=True):
            data["latency_ms"] = data.pop("latency")
        content = "\n".join(nx.generate_graphml(content))
    with remarks.collect_remarks() as notes:
        lines_of(write(tmp_path, content), **fields)
    told = " ".join(said for said in notes.said if "no key reads" in said)
    assert bool(told) == (unread is not None)
    assert re.search(unread or "", told)


PLACES = {"A": (50.0, 8.0), "B": (51.0, 8.0), "C": (52.0, 8.0)}


def placed(latitude, longitude, places=PLACES, **values):
    made = nx.Graph()
    for name in "ABC":
        made.add_node(name, **dict(zip((latitude, longitude), places.get(name, ()), strict=False)))
    made.add_edge("A", "B", **values)
    made.add_edge("B", "C")
    return "\n".join(nx.generate_graphml(made))


@pytest.mark.parametrize(
    "names",
    [
        ("Latitude", "Longitude"),
        ("latitude", "longitude"),
        ("lat", "lon"),
        ("Lat", "Lng"),
        ("LAT", "LON"),
    ],
)
def test_places_of_routers_by_their_usual_names(names, tmp_path):
    with remarks.collect_remarks() as notes:
        ((_, _, _, latency_ns),) = lines_of(write(tmp_path, placed(*names)))["A", "B"]
    assert latency_ns == pytest.approx(np.radians(1.0) * 6_371_000.0 / 2e8 * 1e9, abs=1)
    assert not notes.said


@pytest.mark.parametrize(
    ("content", "fields", "said"),
    [
        ("source,target,latency\nA,B,5\nC,B,\n", {},
         "1 of 2 lines state no latency, .* line 3; they have latency_s = 0.001"),
        ("source,target,mbps\nA,B,5\nC,B,\n", {"rate_attribute": "mbps"},
         "no rate, .* no bottleneck"),
        ("source,target,mbps\nA,B,\nC,B,1\n", {"rate_attribute": "mbps", "rate_bps": 2e6},
         "1 of 2 lines state no rate, .* line 2; they have rate_bps = 2e"),
        (placed("lat", "lon", {k: PLACES[k] for k in "AB"}), {}, "1 of 2 lines state no latency"),
        (placed("x", "y", latency=3.0), {"latency_s": 0.02}, "latency.* have latency_s = 0.02"),
        (placed("lat", "lon", latency=3.0), {"distances": False}, "1 of 2 lines state no latency"),
        (placed("lat", "lon", latency=3.0), {}, None),
        ("A,B\nC,B\n", {}, None),
    ],
)  # fmt: skip
def test_lines_that_take_the_rest_of_them_for_granted_are_told(content, fields, said, tmp_path):
    """The lines without a rate or latency, where others state one, are told."""
    with remarks.collect_remarks() as notes:
        lines_of(write(tmp_path, content), **fields)
    found = [text for text in notes.said if "state no" in text]
    assert len(found) == (said is not None)
    assert re.search(said or "", " ".join(found))


@pytest.mark.parametrize(
    ("latency", "rate", "fields"),
    [
        ("delay_us", "rate_mbps", {}),
        ("Delay [us]", "capacity (Mbit/s)", {}),
        ("delay_us", "rate_mbps", {"latency_unit_s": 1e-6, "rate_unit_bps": 1e6}),
        ("delay", "rate", {"latency_unit_s": 1e-6, "rate_unit_bps": 1e6}),
    ],
)
@pytest.mark.parametrize("by_number", [False, True])
def test_the_unit_of_an_attribute_is_the_one_in_its_name(
    latency, rate, fields, by_number, tmp_path
):
    path = write(tmp_path, f"source,target,{latency},{rate}\nA,B,50,10\nB,C,70,20\n")
    names = ("3", "4") if by_number else (latency, rate)
    found = lines_of(path, latency_attribute=names[0], rate_attribute=names[1], **fields)
    assert found["A", "B"] == [("A", "B", 10e6, 50_000)]
    assert found["C", "B"] == [("C", "B", 20e6, 70_000)]


def test_the_least_of_several_is_no_minute(tmp_path):
    path = write(tmp_path, "source,target,rtt_min\nA,B,5\nB,C,7\n")
    assert lines_of(path, latency_attribute="rtt_min")["A", "B"] == [("A", "B", None, 5_000_000)]


@pytest.mark.parametrize(
    ("name", "fields", "says"),
    [
        (
            "rate_mbps",
            {"rate_unit_bps": 1e3},
            r"says that its unit is 1e\+06, and rate_unit_bps = 1000",
        ),
        ("rate_MBps", {}, "counts bytes, or may; set rate_unit_bps"),
    ],
)
def test_two_units_of_one_attribute_are_refused(name, fields, says, tmp_path):
    path = write(tmp_path, f"source,target,{name}\nA,B,5\nB,C,7\n")
    with pytest.raises(ScenarioError, match=says):
        lines_of(path, rate_attribute=name, **fields)


def test_lines_that_the_file_has_once_hold_both_ways(tmp_path):
    path = write(tmp_path, "A B 5 1e6\nC B 7 3e6\n")
    rate = {("A", "B"): 1e6, ("B", "A"): 1e6, ("B", "C"): 3e6, ("C", "B"): 3e6}
    latency = {("A", "B"): 5, ("B", "A"): 5, ("B", "C"): 7, ("C", "B"): 7}
    assert lines_of(path, **BY_NUMBER) == expected(rate, latency)


def test_defaults_of_graphml_hold_for_lines_that_say_nothing(tmp_path):
    content = """<?xml version="1.0" encoding="UTF-8"?>
    <graphml xmlns="http://graphml.graphdrawing.org/xmlns">
    <key id="d0" for="edge" attr.name="rate" attr.type="double"><default>1000000</default></key>
    <key id="d1" for="edge" attr.name="latency" attr.type="double"><default>5</default></key>
    <graph edgedefault="undirected"><node id="A"/><node id="B"/><node id="C"/>
    <edge source="A" target="B"/><edge source="B" target="C"><data key="d0">2000000</data>
    <data key="d1">10</data></edge></graph></graphml>"""
    rate = {("A", "B"): 1e6, ("B", "A"): 1e6, ("B", "C"): 2e6, ("C", "B"): 2e6}
    latency = {("A", "B"): 5, ("B", "A"): 5, ("B", "C"): 10, ("C", "B"): 10}
    found = lines_of(write(tmp_path, content), rate_attribute="rate")
    assert found == expected(rate, latency)


def test_of_parallel_lines_the_quickest_and_then_the_fastest_is_used(tmp_path):
    text = "A B 5 1e6\nA B 5 9e6\nA B 4 2e6\nA B 4 3e6\nB C 1 1e6\n"
    found = lines_of(write(tmp_path, text), **BY_NUMBER)
    assert found["A", "B"] == [("A", "B", 3e6, 4_000_000)]
    assert found["B", "A"] == [("B", "A", 3e6, 4_000_000)]


def test_sndlib_tells_capacities_and_places(tmp_path):
    text = (
        "?SNDlib native format; type: network; version: 1.0\nNODES (\n A ( 0 0 )\n B ( 90 0 )\n"
        " C ( 180 0 )\n)\nLINKS (\n l ( A B ) 10 0 0 0 ( 40 1 )\n m ( B C ) 20 0 0 0 ( 80 1 )\n)\n"
    )
    quarter_ns = np.pi / 2 * 6_371_000 / 2e8 * 1e9
    for attribute, factor in (("pre_installed_capacity", 1), ("module_capacity", 4)):
        found = lines_of(write(tmp_path, text), rate_attribute=attribute, rate_unit_bps=1e6)
        for way, capacity in (("AB", 10e6), ("CB", 20e6)):
            [(_, _, rate_bps, latency_ns)] = found[tuple(way)]
            assert rate_bps == capacity * factor
            assert latency_ns == pytest.approx(quarter_ns, abs=1)


VALUES = ("nan", "NaN", "inf", "-1", "fast", "1_000", "1e6 bit/s")


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("attribute", ["rate", "latency"])
def test_a_value_that_is_no_number_is_refused_with_its_line(value, attribute, tmp_path):
    cells = {"rate": "1e6", "latency": "5"} | {attribute: value}
    text = f"source,target,latency,rate\nA,B,5,1e6\nB,C,{cells['latency']},{cells['rate']}\n"
    says = rf'line 3: the line "B" - "C" has {attribute} = ".*", not a number of at least 0'
    with pytest.raises(ScenarioError, match=says):
        lines_of(write(tmp_path, text), **NAMED)
    data = f'<data key="rate">{cells["rate"]}</data><data key="latency">{cells["latency"]}</data>'
    body = '<node id="A"/>\n<node id="B"/>\n<node id="C"/><edge source="A" target="B"/>\n'
    text = f'<graphml><graph>{body}<edge source="B" target="C">{data}</edge></graph></graphml>'
    with pytest.raises(ScenarioError, match=says.replace("line 3", "line 4")):
        lines_of(write(tmp_path, text), rate_attribute="rate")


@pytest.mark.parametrize("latitude", ["91", "-91", "nan", "north", "5000000"])
def test_a_place_that_is_none_on_earth_is_refused(latitude, tmp_path):
    keys = "".join(f'<key id="{k}" for="node" attr.name="{k}"/>' for k in ("Latitude", "Longitude"))
    nodes = "".join(
        f'<node id="{n}"><data key="Latitude">{lat}</data><data key="Longitude">5</data></node>'
        for n, lat in (("A", "50"), ("B", latitude))
    )
    text = f"<graphml>{keys}<graph>{nodes}<edge source='A' target='B'/></graph></graphml>"
    two = {"path": write(tmp_path, text), "routers": ("A", "B")}
    with pytest.raises(ScenarioError, match=r'node "B" has Latitude = .* distances = false'):
        Backbone(**two).read(2, Streams(0), None)
    [line] = Backbone(**two, distances=False).read(2, Streams(0), None).route_lines(0, 1)
    assert line.latency_ns == 10**6


# -- latency matrices --------------------------------------------------------------------------

MS = np.array([[0, 10, 20.5], [11, 0, 30], [21, 31, 0]])
ROWS = [" ".join(f"{value:g}" for value in row) for row in MS]
READ = {
    "blanks": "\n".join(ROWS),
    "tabs": "\n".join(ROWS).replace(" ", "\t") + "\n",
    "commas": "\n".join(ROWS).replace(" ", ","),
    "commas and blanks": "\n".join(ROWS).replace(" ", ", "),
    "semicolons": "\n".join(ROWS).replace(" ", ";"),
    "commas behind": "\n".join(row.replace(" ", ",") + "," for row in ROWS),
    "blanks before and behind": "\n".join(f"  {row} " for row in ROWS),
    "CRLF": "\r\n".join(ROWS),
    "BOM": "\ufeff" + "\n".join(ROWS),
    "remarks": "# ms\n" + "\n% and\n".join(ROWS),
    "blank lines": "\n\n".join(ROWS) + "\n\n",
    "exponents": "0 1e1 2.05e1\n1.1e1 0 3e1\n21. 31. 0.",
}


def matrix(path, nodes=3, **fields):
    return LatencyMatrix(path=path, unit="ms", round_trip=False, assign="order", **fields).read_ns(
        nodes, Streams(0), None
    )


@pytest.mark.parametrize("name", READ)
def test_a_matrix_gives_its_numbers(name, tmp_path):
    found = matrix(write(tmp_path, READ[name]))
    assert np.array_equal(found, np.rint(MS * 1e6).astype(int))


TEXT = "\n".join(ROWS) + "\n"
REFUSED = {
    "a header": ("a b c\n" + TEXT, "line 1: column 1 is not a latency"),
    "names of rows": (
        "\n".join(f"h{k} {row}" for k, row in enumerate(ROWS)),
        "column 1 is not a latency",
    ),
    "numbers of rows": ("\n".join(f"{k} {r}" for k, r in enumerate(ROWS)), "no square matrix: 3"),
    "not a number": (TEXT.replace("31", "nan"), r'line 3: column 2 is "nan"'),
    "missing, as -1": (TEXT.replace("31", "-1"), r'line 3: column 2 is "-1"'),
    "infinite": (TEXT.replace("31", "inf"), r'line 3: column 2 is "inf"'),
    "a digit of Python": (TEXT.replace("31", "3_1"), r'line 3: column 2 is "3_1"'),
    "an empty cell": (TEXT.replace(" ", ",").replace("31", ""), r'line 3: column 2 is ""'),
    "decimal commas": ("0;1,5\n1,5;0\n", "line 1: column 2 is not a latency"),
    "a row short": ("\n".join(ROWS[:2]), "no square matrix: 2 rows of 3"),
    "a cell short": (TEXT.replace(" 30", ""), r"line 2: has 2 entries, the rows before 3"),
    "a cell more": (TEXT.replace(" 30", " 30 1"), r"line 2: has 4 entries"),
    "triangle": ("0\n10 0\n20 30 0\n", r"line 2: has 2 entries, the rows before 1"),
    "pairs": ("0 1 5\n0 2 9\n1 2 7\n", r"may be a list of pairs"),
    "pairs of four": ("0 1 5\n0 2 9\n1 2 7\n0 3 2\n", "no square matrix: 4 rows of 3"),
    "nothing": ("", "no square matrix: 0 rows"),
    "JSON": ("[[0, 1], [1, 0]]", r"column 1 is"),
    "zeros": (TEXT.encode("utf-16-le"), "is no text|column 1"),
    "packed": (gzip.compress(TEXT.encode()), "gzip"),
    "cut": (TEXT[: len(TEXT) // 2], "no square matrix|entries"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_matrix_that_is_none_is_refused(name, tmp_path):
    content, says = REFUSED[name]
    with pytest.raises(ScenarioError, match=says) as caught:
        matrix(write(tmp_path, content))
    assert str(caught.value).startswith('[link.latency_matrix] path = "')
