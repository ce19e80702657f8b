"""Edge lists and GraphML: what they become, and what is wrong with them."""

import gzip
import io
import os
import zipfile
from pathlib import Path

import networkx as nx
import pytest

from netsim.errors import ScenarioError
from netsim.rng import Streams
from netsim.topology import Site, component_sizes
from netsim.topology.file import GraphFile
from netsim.traces.files import read_text
from netsim.traces.graphs.reading import read_graph
from netsim.traces.remarks import collect_remarks

GRAPHML = """<?xml version="1.0" encoding="utf-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
  <graph edgedefault="undirected">
    <node id="x" /><node id="y" /><node id="z" />
    <edge source="x" target="y" /><edge source="z" target="y" /><edge source="y" target="z" />
  </graph>
</graphml>
"""
DATA = Path(os.environ.get("NETSIM_DATA", "/nowhere"))
ZOO = DATA / "topologies" / "topology_zoo_graphml.zip"


def neighbours(path, count, **fields):
    return GraphFile(path=str(path), **fields).neighbours(Site(count, Streams(0)))


@pytest.fixture
def write(tmp_path):
    def write_file(text, name="graph.txt"):
        path = tmp_path / name
        path.write_text(text)
        return path

    return write_file


@pytest.mark.parametrize(
    "text",
    [
        "0 1\n1 2\n",
        "0,1\n1,2\n",
        "0, 1\n1 ,2\n",
        "# a comment\n\n1\t0 7.5\n2\t1\n",
        "source,target\n0,1\n1,2",
    ],
)
def test_an_edge_list_by_white_space_or_commas(write, text):
    assert neighbours(write(text), 3) == [(1,), (0, 2), (1,)]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("0 1 7.5\n1 2 8\n", "column 3"),
        ("source,target,delay_ms\n0,1,5\n1,2,6\n", '"delay_ms"'),
        (
            GRAPHML.replace('target="z" />', 'target="z"><data key="k">1</data></edge>').replace(
                "<graph ", '<key id="k" for="edge" attr.name="rate" attr.type="int" /><graph '
            ),
            '"rate"',
        ),
    ],
)
def test_values_of_links_that_are_left_aside_are_named(write, text, names):
    with collect_remarks() as notes:
        neighbours(write(text), 3)
    (said,) = notes.remarks(1.0)
    assert f"takes no values of links ({names})" in said


def test_no_values_no_remark(write):
    with collect_remarks() as notes:
        neighbours(write("0 1\n1 2\n"), 3)
    assert notes.remarks(1.0) == []


def test_numbers_that_are_node_numbers_stay_as_they_are_and_others_keep_their_order(write):
    assert neighbours(write("0 2\n"), 4) == [(2,), (), (0,), ()]
    assert neighbours(write("30 4\n4 100\n"), 3) == [(1, 2), (0,), (0,)]
    assert neighbours(write("Ulm,+D Rome,+I\nBonn,+D Rome,+I\n"), 3) == [(1,), (0, 2), (1,)]


def test_ids_longer_than_any_number_are_names(write):
    long = "9" * 5000
    assert neighbours(write(f"0 {long}\n{long} 1\n"), 3) == [(1,), (0, 2), (1,)]


def test_graphml_plain_gzipped_and_zipped(write, tmp_path):
    expected = [(1,), (0, 2), (1,)]
    assert neighbours(write(GRAPHML, "g.graphml"), 3) == expected
    (tmp_path / "g.gz").write_bytes(gzip.compress(GRAPHML.encode()))
    assert neighbours(tmp_path / "g.gz", 3) == expected
    with zipfile.ZipFile(tmp_path / "g.zip", "w") as packed:
        packed.writestr("deep/g.graphml", GRAPHML)
    assert neighbours(tmp_path / "g.zip", 3) == expected
    assert neighbours(tmp_path / "g.zip", 3, member="g.graphml") == expected
    with zipfile.ZipFile(tmp_path / "g.zip", "a") as packed:
        packed.writestr("deep/h.graphml", GRAPHML)
    with pytest.raises(ScenarioError, match="holds 2 files; say which with member"):
        neighbours(tmp_path / "g.zip", 3)
    with pytest.raises(ScenarioError, match=r'member = "i.graphml": 0 of the 2 .* did you mean'):
        neighbours(tmp_path / "g.zip", 3, member="i.graphml")


def test_a_part_of_a_larger_graph(write):
    path = write("0 1\n2 3\n3 4\n4 5\n3 6\n")
    assert neighbours(path, 3, nodes="first") == [(1,), (0,), ()]
    # from node 3 with its three links outwards
    found = neighbours(path, 4, nodes="largest_component")
    assert component_sizes(found) == [4]
    assert len(found[0]) == 3
    with pytest.raises(ScenarioError, match=r"its largest component has 5 nodes, .* count = 6"):
        neighbours(path, 6, nodes="largest_component")


@pytest.mark.parametrize(
    ("text", "nodes", "says"),
    [
        ("0 1\n1 1\n", 2, r'line 2: node "1" is linked to itself \(1 such edges\); .* drop_'),
        ("0 1\n2\n", 2, r'line 2: "2" is not two node ids'),
        ("# nothing\n", 2, r"holds no edge"),
        ("0 1\n1 2\n", 2, r'has 3 nodes, .nodes. count = 2; set the count to 3, or take a part'),
        ("0 1\n1 9\n", 5, r"line 2: node 9 is unknown: .nodes. count = 5"),
        ("a b\n", 5, r"has 2 nodes, .nodes. count = 5"),
        ("<graphml><graph>", 2, r"line 1: is not valid XML at column"),
        ("<html></html>", 2, r"is a web page, which is not read as a graph"),
        ("<graphml></graphml>", 2, r"holds no <graph>"),
        (GRAPHML.replace('<node id="z" />', ""), 3, r'the edge "z" - "y" names node "z", which is'),
        (GRAPHML.replace('id="z"', 'id="y"'), 3, r'two nodes have the id "y"'),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_with_its_place(write, text, nodes, says):
    with pytest.raises(ScenarioError, match=says) as caught:
        neighbours(write(text), nodes)
    assert str(caught.value).startswith('[topology] path = "')


def test_self_loops_can_be_dropped(write):
    assert neighbours(write("0 1\n1 1\n"), 2, drop_self_loops=True) == [(1,), (0,)]


def test_a_file_that_is_not_there_or_not_text(tmp_path):
    with pytest.raises(ScenarioError, match=r"no such file; looked for nowhere.txt; point to its"):
        neighbours("nowhere.txt", 3)
    (tmp_path / "b.gz").write_bytes(b"not gzip")
    with pytest.raises(ScenarioError, match=r"can't be read"):
        neighbours(tmp_path / "b.gz", 3)
    (tmp_path / "b").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ScenarioError, match="is not text in UTF-8"):
        neighbours(tmp_path / "b", 3)
    with pytest.raises(ScenarioError, match=r'member = "x": .* is not a .zip; leave it out'):
        neighbours(tmp_path / "b", 3, member="x")


@pytest.mark.slow
@pytest.mark.data
@pytest.mark.skipif(not ZOO.is_file(), reason="NETSIM_DATA holds no topology zoo")
def test_real_graphs():
    abilene = neighbours(ZOO, 11, member="Abilene.graphml")
    assert sum(map(len, abilene)) == 2 * 14
    assert component_sizes(abilene) == [11]
    telstra = DATA / "topologies/rocketfuel/1221.latencies.intra.gz"
    assert component_sizes(neighbours(telstra, 50, nodes="largest_component")) == [50]
    snap = DATA / "topologies/snap_as20000102.txt.gz"
    with pytest.raises(ScenarioError, match=r"linked to itself \(1323 such edges\)"):
        neighbours(snap, 6474)
    found = neighbours(snap, 6474, drop_self_loops=True)
    assert sum(map(len, found)) == 2 * (13_895 - 1_323)


@pytest.mark.slow
@pytest.mark.data
@pytest.mark.skipif(not ZOO.is_file(), reason="NETSIM_DATA holds no topology zoo")
def test_every_graph_of_the_zoo_is_the_one_that_networkx_reads():
    with zipfile.ZipFile(ZOO) as packed:
        names = [name for name in packed.namelist() if name.endswith(".graphml")]
        for name in names:
            other = nx.read_graphml(io.BytesIO(packed.read(name)))
            text = read_text(str(ZOO), None, "topology", member=name)
            if other.number_of_edges() == 0:
                continue
            found = read_graph(text, drop_self_loops=True)
            labels = {node: (label or "").strip() for node, label in other.nodes(data="label")}
            assert labels == {n: values.get("label", "") for n, values in found.nodes.items()}
            assert sorted(sorted((e.a, e.b)) for e in found.edges) == sorted(
                sorted(edge) for edge in other.edges() if edge[0] != edge[1]
            )
            speeds = sorted(
                float(v) for a, b, v in other.edges(data="LinkSpeedRaw") if v and a != b
            )
            assert speeds == sorted(
                float(e.values["LinkSpeedRaw"]) for e in found.edges if e.values.get("LinkSpeedRaw")
            )
    assert len(names) > 250


def test_what_a_file_calls_the_nodes_is_noted_where_it_is_another_name(write):
    """Data, places and groups go by number, and a component has an order of its own."""
    path = write("10 11\n11 12\n12 13\n11 13\n5 6\n")
    with collect_remarks() as notes:
        found = neighbours(path, 4, nodes="largest_component")
    names = notes.ids["topology"]
    assert sorted(names) == ["10", "11", "12", "13"]
    middle = names.index("11")
    assert sorted(names[peer] for peer in found[middle]) == ["10", "12", "13"]
    with collect_remarks() as notes:
        neighbours(write("1 0\n2 1\n"), 3)
    assert not notes.ids
