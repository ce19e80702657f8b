"""Movement files of BonnMotion, ns-2 and SUMO: ways, and what is told of bad ones."""

import gzip
import math

import numpy as np
import pytest

from netsim.errors import DataError
from netsim.rng import Streams
from netsim.topology.churn import timeline
from netsim.topology.churn.sumo import Sumo as SumoChurn
from netsim.topology.mobility.bonnmotion import BonnMotion
from netsim.topology.mobility.ns2 import Ns2
from netsim.topology.mobility.sumo import Sumo
from netsim.units import to_ns

STARTS = np.array([[7.0, 7.0], [8.0, 8.0], [9.0, 9.0]])


@pytest.fixture
def file(tmp_path):
    def write(text, name="ways"):
        (tmp_path / name).write_text(text)
        return str(tmp_path / name)

    return write


def track(law):
    return law.track(STARTS, 50.0, Streams(0), None)


def places(found, node, *times_s):
    return [tuple(found.at([node], to_ns(t))[0].tolist()) for t in times_s]


def test_bonnmotion_lines_are_nodes(file):
    text = "2.0 0 0 4.0 10 0 6.0 10 0 8 10 -20\n# a comment\n0.0 1 1\n"
    found = track(BonnMotion(path=file(text)))
    assert places(found, 0, 0, 2, 3, 5, 7, 99) == [
        (0, 0), (0, 0), (5, 0), (10, 0), (10, -10), (10, -20),
    ]  # fmt: skip
    assert places(found, 1, 0, 50) == [(1, 1), (1, 1)]
    assert places(found, 2, 3) == [(9, 9)]
    assert found.fastest_m_per_s == 10.0


def test_bonnmotion_in_three_dimensions_and_packed(tmp_path):
    path = tmp_path / "ways.movements.gz"
    path.write_bytes(gzip.compress(b"0 0 0 5 10 10 20 5\n0 1 2 3\n"))
    found = track(BonnMotion(path=str(path), dimensions=3))
    assert places(found, 0, 5) == [(5, 10)]
    assert places(found, 1, 5) == [(1, 2)]


def test_a_node_that_is_put_elsewhere_at_once_is_there_from_then_on(file):
    found = track(BonnMotion(path=file("0 0 0 4 0 0 4 100 0 6 102 0\n")))
    assert places(found, 0, 3.999, 4.001, 5)[0] == (0, 0)
    assert places(found, 0, 5)[0] == pytest.approx((101, 0))
    assert found.fastest_m_per_s == 1.0


@pytest.mark.parametrize(
    ("text", "keys", "problem"),
    [
        ("0 1 2 3\n", {}, "line 1: has 4 numbers, no multiple of 3 .* set dimensions = 3"),
        ("0 1 2\n0 1 2 3 4 x\n", {}, 'line 2: number 6 is "x", not a finite number'),
        ("0 1 nan\n", {}, 'line 1: number 3 is "nan", not a finite number'),
        ("5 1 2 4 1 2\n", {}, "line 1: number 4 is the time 4 s after 5 s; times must"),
        ("# nothing\n", {}, "holds no movement"),
        ("0 0 0 0 9 9 0 0 20 0 9 0\n", {}, "line 1: .* in 3 dimensions.*set dimensions = 3"),
        ("0 1 2\n", {"dimensions": 3}, "line 1: has 3 numbers, no multiple of 4"),
    ],
)
def test_a_bad_bonnmotion_file_is_told_with_its_line(file, text, keys, problem):
    with pytest.raises(DataError, match=problem) as caught:
        track(BonnMotion(path=file(text), **keys))
    assert str(caught.value).startswith('[mobility] path = "')


NS2 = """\
# nodes: 2, max x = 100
$node_(0) set X_ 10.0
$node_(0) set Y_ 0.0
$node_(0) set Z_ 0.000000000000
$node_(1) set X_ 5
$node_(1) set Y_ 5
$god_ set-dist 0 1 2
$ns_ at 2.0 "$node_(0) setdest 30.0 0.0 5.0"
$ns_ at 8.0 "$node_(1) setdest 5 15 1"
$ns_ at 10.0 "$node_(1) setdest 5 5 1"
$ns_ at 11.0 "$node_(1) setdest 5 5 0"
$ns_ at 20.0 "$node_(0) set X_ 0.0"
$node_(9) set X_ 1
"""


def test_ns2_nodes_turn_where_they_are(file):
    found = track(Ns2(path=file(NS2)))
    assert places(found, 0, 0, 2, 4, 6, 9) == [(10, 0), (10, 0), (20, 0), (30, 0), (30, 0)]
    assert places(found, 0, 20.1) == [(0, 0)]
    assert places(found, 1, 8, 9, 10, 10.5, 11, 30) == [
        (5, 5), (5, 6), (5, 7), (5, 6.5), (5, 6), (5, 6),
    ]  # fmt: skip
    assert places(found, 2, 5) == [(9, 9)]
    assert found.fastest_m_per_s == pytest.approx(5.0)


def test_an_ns2_node_is_put_elsewhere_on_both_axes_at_once(file):
    start = "$node_(0) set X_ 1\n$node_(0) set Y_ 2\n"
    moves = ["$node_(0) set X_ 50", "$node_(0) set Y_ 60", "$node_(0) setdest 50 70 5"]
    for lines in ("; ".join(moves), '"\n$ns_ at 3.0 "'.join(moves)):
        found = track(Ns2(path=file(f'{start}$ns_ at 3.0 "{lines}"\n')))
        before, *later = places(found, 0, 3, 3.001, 4, 9)
        assert before == (1, 2)
        assert np.allclose(later, [(50, 60.005), (50, 65), (50, 70)], atol=1e-6)


def test_a_node_is_never_faster_than_light(file):
    with pytest.raises(DataError, match=r"moves node 0 by 1e\+300 m in 5 s, faster than light"):
        track(BonnMotion(path=file("0 0 0 5 1e300 0\n0 5 5\n0 6 6\n")))


AS_NS3 = """\
$node_(0) set X_ 10.0
$node_(0) set Y_ 0.0
$node_(1) set X_ 5
$node_(1) set Y_ 5
$ns_ at 2.0 "$node_(0) setdest 30.0 0.0 5.0"
$ns_ at 8.0 "$node_(1) setdest 5 15 1"
$ns_ at 10.0 "$node_(1) setdest 5 5 1"
$ns_ at 11.0 "$node_(1) setdest 5 5 0"
$ns_ at 14.0 "$node_(0) setdest 0.0 30.0 3.0"
"""


def test_ns2_ways_are_those_of_ns3(file):
    """Positions that `Ns2MobilityHelper` of ns-3 3.44 gives for this file."""
    found = track(Ns2(path=file(AS_NS3)))
    for t_s, first, second in (
        (2.22, (11.1, 0), (5, 5)),
        (4.44, (22.2, 0), (5, 5)),
        (8.88, (30, 0), (5, 5.88)),
        (11.1, (30, 0), (5, 6)),
        (15.54, (26.733166670918155, 3.2668333290818494), (5, 6)),
        (17.76, (22.023835508215743, 7.976164491784256), (5, 6)),
    ):
        assert places(found, 0, t_s)[0] == pytest.approx(first, abs=1e-8)
        assert places(found, 1, t_s)[0] == pytest.approx(second, abs=1e-8)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("$node_(0) set X_ east\n", 'line 1: the value "east" is no finite number'),
        ("\n$node_(0) go X_ 1\n", 'holds no line of a node.*; it has "\\$node_\\(i\\) go" \\(1'),
        ('$ns_ at soon "$node_(0) setdest 1 2 3"\n', 'line 1: the time "soon" is no finite number'),
        ('$ns_ at 1 "$node_(0) setdest 1 2"\n', "is neither setdest X Y SPEED nor set X_ V"),
        ('$ns_ at 1 "$node_(0) setdest 1 2 -3"\n', "line 1: the speed -3 m/s is below 0"),
        ('$ns_ at -1 "$node_(0) setdest 1 2 3"\n', "line 1: the time -1 s is before 0"),
        ("$node_(7) set X_ 1\n", "its nodes are 7 to 7, and the scenario's 0 to 2"),
        ("set opt(x) 5\n", "holds no line of a node"),
    ],
)
def test_a_bad_ns2_file_is_told_with_its_line(file, text, problem):
    with pytest.raises(DataError, match=problem):
        track(Ns2(path=file(text)))


FCD = """\
<?xml version="1.0" encoding="UTF-8"?>
<fcd-export xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">
    <timestep time="10.00">
        <vehicle id="b" x="0.0" y="0.0" angle="90" type="car" speed="5" pos="1" lane="e_0"/>
    </timestep>
    <timestep time="11.00">
        <vehicle id="b" x="5.0" y="0.0"/>
        <person id="a" x="1.0" y="1.0" speed="1"/>
    </timestep>
    <timestep time="12.00">
        <person id="a" x="1.0" y="2.0"/>
        <vehicle id="z" x="3.0" y="3.0"/>
        <vehicle id="late" x="3.0" y="3.0"/>
    </timestep>
    <timestep time="13.00"/>
    <timestep time="14.00">
        <vehicle id="b" x="20.0" y="0.0"/>
    </timestep>
</fcd-export>
"""


def test_sumo_vehicles_are_nodes_in_order_of_appearance(file):
    path = file(FCD)
    found = track(Sumo(path=path, start_s=10.0))
    assert places(found, 0, 0, 0.5, 1, 2.5, 4, 9) == [
        (0, 0), (2.5, 0), (5, 0), (12.5, 0), (20, 0), (20, 0),
    ]  # fmt: skip
    assert places(found, 1, 0, 1.5, 9) == [(1, 1), (1, 1.5), (1, 2)]
    assert places(found, 2, 0, 9) == [(3, 3), (3, 3)]
    assert found.fastest_m_per_s == 5.0


def test_sumo_churn_switches_nodes_by_their_vehicles(file):
    law = SumoChurn(path=file(FCD), start_s=10.0)
    found = timeline([law] * 5, Streams(0))
    on = [[t for t in range(7) if found.is_on(node, to_ns(t))] for node in range(5)]
    assert on == [[0, 1, 4], [1, 2], [2], [2], [0, 1, 2, 3, 4, 5, 6]]
    assert found.next_switch(0, to_ns(1)) == to_ns(2)
    assert math.isclose(found.next_switch(0, to_ns(4)) / 1e9, 5)


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ('x="5.0"', 'x="five"', 'line 7: <vehicle>: x is "five"; it must be a finite number'),
        ('y="1.0"', "", "line 8: <person>: y is missing"),
        ('time="12.00"', 'time="11.00"', "line 10: time 11 s after 11 s; time steps must ascend"),
        ('<person id="a" x="1.0" y="2.0"/>', "", None),
        ('id="a" x="1.0" y="2.0"', 'x="1.0" y="2.0"', "line 11: <person> has no id"),
        ('id="late"', 'id="z"', 'line 13: vehicle "z" stands twice in this time step'),
        ("</fcd-export>", "", "line 20: is no XML"),
        ("<fcd-export", "<!DOCTYPE a [<!ENTITY b 'c'>]><fcd-export", "line 2: has a DOCTYPE"),
    ],
)
def test_a_bad_sumo_file_is_told_with_its_line(file, old, new, problem):
    law = Sumo(path=file(FCD.replace(old, new)))
    if problem is None:
        assert track(law).fastest_m_per_s > 0
        return
    with pytest.raises(DataError, match=problem):
        track(law)


def test_a_sumo_file_without_vehicles_is_told(file):
    with pytest.raises(DataError, match="holds no vehicle, person or container at or after 99 s"):
        track(Sumo(path=file(FCD), start_s=99.0))


def test_a_packed_sumo_file_is_read(tmp_path):
    (tmp_path / "fcd.xml.gz").write_bytes(gzip.compress(FCD.encode()))
    assert places(track(Sumo(path=str(tmp_path / "fcd.xml.gz"))), 0, 1) == [(5, 0)]
