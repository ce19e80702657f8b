"""Bandwidth traces, latency matrices and backbones from files, and what is wrong with them."""

import gzip
import os
from pathlib import Path

import numpy as np
import pytest

from netsim.errors import ScenarioError
from netsim.links.wired.backbone import Backbone
from netsim.links.wired.bandwidth import BandwidthTrace
from netsim.links.wired.capacity import ConstantCapacity, PiecewiseCapacity
from netsim.links.wired.latencies import LatencyMatrix
from netsim.rng import Streams
from netsim.traces.remarks import collect_remarks
from netsim.units import FOREVER_NS

S, MS = 10**9, 10**6
DATA = Path(os.environ.get("NETSIM_DATA", "/nowhere"))
HEAD = "trace,time_s,mbps\n"
TWO = HEAD + "a,0,1\na,1,0\na,2,3\nb,5.5,2\nb,6.5,4\n"


@pytest.fixture
def write(tmp_path):
    def write_file(text, name="t.csv"):
        path = tmp_path / name
        path.write_text(text)
        return str(path)

    return write_file


def uplinks(path, nodes=2, seed=0, **fields):
    fields = {"assign": "order"} | fields
    return BandwidthTrace(uplink=path, **fields).read("uplink", nodes, Streams(seed), None)


# -- capacities ----------------------------------------------------------------------------------


def test_a_capacity_changes_when_its_trace_says():
    c = PiecewiseCapacity([0, 2 * S], [5.0, 1.0], 3 * S)
    assert c.at(0) == (5.0, 2 * S)
    assert c.at(2 * S) == (1.0, 3 * S)
    assert c.at(7 * S) == (5.0, 8 * S)
    held = PiecewiseCapacity([0, 2 * S], [5.0, 1.0], None, offset_ns=S)
    assert held.at(0) == (5.0, S)
    assert held.at(S) == (1.0, None)
    assert ConstantCapacity(3.0).at(7) == (3.0, None)


@pytest.mark.parametrize("period", [None, 4 * S])
@pytest.mark.parametrize("bits", [0.5, 3.0, 10.0, 1234.5])
@pytest.mark.parametrize("start_ns", [0, S // 3, 17 * S])
def test_a_message_is_through_when_the_integral_of_the_capacity_reaches_its_size(
    period, bits, start_ns
):
    c = PiecewiseCapacity([0, S, 2 * S, 3 * S], [3.0, 0.0, 1.0, 7.0], period)
    end_ns = c.finish_ns(start_ns, bits)
    grid = np.linspace(start_ns, end_ns, 200_001)
    middles = ((grid[1:] + grid[:-1]) / 2).astype(int)
    sampled = middles[::200]
    rates = [c.at(int(t))[0] for t in sampled]
    # 1,000 samples of a function with jumps of at most 7: each jump costs at most one cell
    jumps = 2 + (end_ns - start_ns) // S
    cell_s = (end_ns - start_ns) / S / 1000
    assert np.mean(rates) * (end_ns - start_ns) / S == pytest.approx(bits, abs=7 * cell_s * jumps)


def test_nodes_get_traces_that_start_at_their_first_row(write):
    a, b, again = uplinks(write(TWO), nodes=3)
    assert [a.at(t * S)[0] for t in range(4)] == [1e6, 0.0, 3e6, 1e6]
    assert [b.at(t * S)[0] for t in range(3)] == [2e6, 4e6, 2e6]
    assert again.at(2 * S)[0] == 3e6
    held = uplinks(write(TWO), after="hold")
    assert held[0].at(100 * S) == (3e6, None)
    assert uplinks(write(TWO), names=["b"], scale=0.5)[1].at(0)[0] == 1e6
    drawn = [uplinks(write(TWO), seed=s, assign="permutation")[0].at(0)[0] for s in range(20)]
    assert set(drawn) == {1e6, 2e6}
    random = uplinks(write(TWO), nodes=40, start="random", names=["a"])
    assert {c.at(0)[0] for c in random} == {0.0, 1e6, 3e6}


def test_packet_opportunities_are_what_the_ms_before_them_carries(write):
    [c] = uplinks(write("0\n10\n10\n150\n"), nodes=1)
    assert c.at(0) == (0.0, 9 * MS)
    assert c.at(9 * MS) == (24e6, 10 * MS)
    assert c.at(10 * MS) == (0.0, 149 * MS)
    assert c.at(149 * MS) == (24e6, 150 * MS)  # the one at 150 ms, and that at 0 of the next round
    assert c.at(150 * MS) == (0.0, 159 * MS)


def opportunities(times_ms, bits, start_ms=0.0):
    """Return the times [ms] at which opportunities of a looping file have carried so many bits."""
    period, carried, round_ms = times_ms[-1], 0.0, 0
    while True:
        for ms in times_ms:
            if round_ms + ms > start_ms:
                carried += 12_000.0
            if carried >= bits:
                return round_ms + ms
        round_ms += period


CONSTANT = [([1], 12e6), (list(range(1, 151)), 12e6), ([1, 1, 1], 36e6), ([0, 1], 24e6)]
PERIODIC = [[2], [12], [5, 5, 5, 10], [1, 2, 3, 40], [7, 1000], [0, 3, 3, 9]]


@pytest.mark.parametrize("bin_s", [None, 1.0, 0.1, 0.03, 0.01, 1e-3, 4e-4])
@pytest.mark.parametrize(("times_ms", "bps"), CONSTANT)
@pytest.mark.parametrize("after", ["loop", "hold"])
def test_a_constant_file_of_opportunities_is_a_constant_rate_however_it_is_averaged(
    write, times_ms, bps, bin_s, after
):
    text = "".join(f"{ms}\n" for ms in times_ms)
    given = {} if bin_s is None else {"bin_s": bin_s}
    [c] = uplinks(write(text), nodes=1, after=after, **given)
    for bits in (100.0, 38_752.0, 12e6):
        if after == "loop" or times_ms[0]:  # what is at 0 is carried once in a file that holds
            assert c.finish_ns(0, bits) == pytest.approx(bits / bps * 1e9, abs=2)


@pytest.mark.parametrize("times_ms", PERIODIC)
@pytest.mark.parametrize("start_ms", [0, 1, 6, 11])
@pytest.mark.parametrize("bits", [12_000.0, 38_752.0, 1e6])
def test_messages_end_within_a_ms_before_the_opportunity_that_carries_their_last_bit(
    write, times_ms, start_ms, bits
):
    [c] = uplinks(write("".join(f"{ms}\n" for ms in times_ms)), nodes=1)
    ended_ms = c.finish_ns(start_ms * MS, bits) / MS
    exact_ms = opportunities(times_ms, bits, start_ms)
    assert exact_ms - 1.0 <= ended_ms <= exact_ms


@pytest.mark.parametrize("bin_s", [None, 0.1, 0.007, 5.0])
@pytest.mark.parametrize("times_ms", PERIODIC)
def test_every_period_carries_a_packet_a_line(write, times_ms, bin_s):
    given = {} if bin_s is None else {"bin_s": bin_s}
    [c] = uplinks(write("".join(f"{ms}\n" for ms in times_ms)), nodes=1, **given)
    bits = 12_000.0 * len(times_ms)
    for rounds in (1, 7):
        assert c.finish_ns(0, rounds * bits) == pytest.approx(rounds * times_ms[-1] * MS, abs=2)


def test_pensieves_rates_hold_until_their_times(write):
    """As its simulator plays them: the first row only says when the trace begins."""
    [c] = uplinks(write("10.0 9\n10.5 2\n12.0 4\n"), nodes=1)
    assert c.at(0) == (2e6, S // 2)
    assert c.at(S) == (4e6, 2 * S)
    assert c.at(2 * S) == (2e6, 2 * S + S // 2)


def test_sabres_periods_follow_each_other(write):
    text = '[{"duration_ms": 500, "bandwidth_kbps": 2000, "latency_ms": 20},\n'
    text += ' {"duration_ms": 1500, "bandwidth_kbps": 4000}]'
    with collect_remarks() as notes:
        [c] = uplinks(write(text, "net.json"), nodes=1)
    assert c.at(0) == (2e6, S // 2)
    assert c.at(S) == (4e6, 2 * S)
    assert c.at(2 * S)[0] == 2e6
    assert 'left aside of its periods: "latency_ms"' in notes.remarks(9.0)[0]


@pytest.mark.parametrize(
    "head",
    ["time_s,mbps", "time_ms;kbps", "t [us]\tbandwidth (bps)", "timestamp_s throughput_gbps"],
)
def test_a_table_says_what_its_columns_count_in(write, head):
    separator = next((s for s in ";\t," if s in head), " ")
    times = {"time_s": 1, "time_ms": 1e3, "t [us]": 1e6, "timestamp_s": 1}
    rates = {"mbps": 1, "kbps": 1e3, "bandwidth (bps)": 1e6, "throughput_gbps": 1e-3}
    time, rate = head.split(separator)
    rows = [
        f"{(5 + t) * times[time]:.9g}{separator}{r * rates[rate]:.9g}" for t, r in enumerate((3, 8))
    ]
    [c] = uplinks(write("\n".join([head, *rows])), nodes=1)
    assert [c.at(0)[0], c.at(S)[0]] == pytest.approx([3e6, 8e6])


def test_a_trace_starts_where_start_s_says(write):
    [c] = uplinks(write("time_s,mbps\n5,1\n6,2\n8,4\n"), nodes=1, start_s=6.5)
    assert c.at(0) == (2e6, 3 * S // 2)
    with pytest.raises(ScenarioError, match="start_s = 4 is before its first row, at 5 s"):
        uplinks(write("time_s,mbps\n5,1\n6,2\n8,4\n"), nodes=1, start_s=4.0)
    with pytest.raises(ValueError, match="start_s is not read with start"):
        BandwidthTrace(uplink="x", start="random", start_s=4.0)


def test_a_message_waits_while_the_capacity_is_zero(wires, write):
    w = wires(2, {"trace": {"uplink": write(HEAD + "a,0,1\na,1,0\na,2,2\n"), "assign": "order"}})
    w.send(0.5, 0, 1, 1_500_000)
    # half a megabit by 1 s, nothing until 2 s, then two a second
    assert w.run() == [(2.5, 0, 1, "delivered")]


def test_a_group_of_its_own_rate_and_servers_have_no_trace(write):
    from netsim.links.wired import plan
    from netsim.links.wired.wire import Wire

    wire = Wire(trace={"uplink": write(TWO)}, uplink_bps=7.0)
    made = plan.read_wiring(
        wire, [None, 5.0, None], [None] * 3, [True, True, False], Streams(0), None
    )
    assert isinstance(made.capacity["up", 0], PiecewiseCapacity)
    assert made.capacity["up", 1] == ConstantCapacity(5.0)
    assert made.capacity["up", 2] == ConstantCapacity(7.0)
    assert not made.is_plain


@pytest.mark.parametrize(
    ("text", "fields", "says"),
    [
        (HEAD + "a,0,-1\n", {}, 'line 2: mbps, a capacity, must be a number of at least 0,'),
        (HEAD + "a,0,1\na,1,nan\n", {}, 'line 3: mbps must be a finite number, and is "nan"'),
        (HEAD + "a,0,inf\n", {}, 'line 2: mbps must be a finite number, and is "inf"'),
        (HEAD + "a,x,1\n", {}, 'line 2: time_s must be a number .*, and is "x"'),
        (HEAD + "a,1,1\nb,0,1\na,1,2\n", {}, "line 4: column time_s is 1 s, after 1 s; sort the"),
        (HEAD + "a,0\n", {}, "line 2: has 2 columns, the header 3"),
        ("trace,time,mbps\na,0,1\n", {}, "no column time_s; column time does not say what"),
        (HEAD, {}, "has no rows"),
        ("", {}, "holds no trace"),
        (HEAD + "a,0,0\na,1,0\n", {}, "trace a has capacity 0 throughout"),
        (HEAD + "a,0,1\na,1,0\n", {"after": "hold"}, 'trace a ends with capacity 0, and'),
        (TWO, {"names": ["c"]}, "names: it holds no trace c"),
        ("0\n5\n3\n", {}, "line 3: 3 ms comes after 5 ms; times must not fall"),
        ("0\n5\n-3\n", {}, 'line 3: column 1 is "-3", not a time in ms'),
        (HEAD + "a,0,1\na,1e-10,2\n", {}, "line 3: column time_s is 1e-10 s, after 0 s; sort"),
        (HEAD + "a,0,1\na,1e300,0\na,2e300,0\n", {}, "line 3: time_s is too late for a time in s"),
        ("0\n5000\n", {"bin_s": 1e-8}, "needs 5e[+]08 bins of bin_s = 1e-08, at most 1e[+]07"),
        ("0\n1e300\n", {}, 'line 2: column 1 is "1e300", not a time in ms: a whole number'),
        ("1\n2.5\n", {}, 'line 2: column 1 is "2.5", not a time in ms: a whole number'),
        ("0\n0\n", {}, "its last time is 0 ms"),
        ("1 2 3\n", {}, "line 1: has 3 columns without a header"),
        ("1 2\n3\n", {}, "line 2: has 1 columns, the first line 2"),
        ("1 2\n", {}, "holds one row of a time and a rate"),
        ("1 2\n1 2\n", {}, "line 2: column 1 is 1 s, after 1 s"),
        ("[]", {}, "is JSON, and no list of periods"),
        ('[{"duration_ms": 0, "bandwidth_kbps": 1}]', {}, "period 1: duration_ms is 0, less than"),
        ('[{"duration_ms": 5}]', {}, "period 1: bandwidth_kbps is missing"),
        ("time_s,MBps\n0,1\n", {}, "column MBps counts bytes, or may; write bits"),
        ("time_s,rate (KB/s)\n0,1\n", {}, r"column rate \(KB/s\) counts bytes, or may"),
        ("time_s,Rate [bytes/s]\n0,1\n", {}, r"column Rate \[bytes/s\] counts bytes, or may"),
        (f'[{{"duration_ms": {"9" * 400}, "bandwidth_kbps": 1}}]', {}, "period 1: duration_ms is"),
        ("time_s,mbps\n1.5e12,1\n", {}, "line 2: time_s is too late .* and is .1.5e12"),
        ("time_s;mbps\n0;1,5\n", {}, "line 2: mbps must be a number, and is .1,5.; write decimals"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_trace_is_said_with_line_column_and_value(write, text, fields, says):
    with pytest.raises(ScenarioError, match=says) as caught:
        uplinks(write(text), **fields)
    assert str(caught.value).startswith('[link.trace] uplink = "')


def test_a_capacity_next_to_nothing_takes_for_ever(write):
    [capacity, _] = uplinks(write(HEAD + "a,0,1e-300\na,5,0\n"))
    assert capacity.finish_ns(7, 1e6) == FOREVER_NS
    assert ConstantCapacity(1e-300).finish_ns(7, 1e6) >= FOREVER_NS


@pytest.mark.parametrize("sharing", ["max_min", "fifo"])
def test_what_takes_for_ever_is_still_under_way_at_the_end(wires, sharing):
    w = wires(2, {"uplink_bps": 1e-30, "latency_s": 1e30, "sharing": sharing})
    w.send(0.0, 0, 1, 8)
    w.env.run(until=10**18)
    assert w.ends == []


def test_a_trace_names_a_file():
    with pytest.raises(ValueError, match="needs uplink or downlink, the files"):
        BandwidthTrace()


# -- latencies -----------------------------------------------------------------------------------


def test_a_latency_matrix_halves_round_trips(wires, write):
    path = write("0 10 20\n30 0 40\n50 60 0\n")
    matrix = {"path": path, "unit": "ms", "assign": "order"}
    w = wires(3, {"latency_matrix": matrix, "latency_s": 0.1})
    w.send(0.0, 0, 1, 8)
    w.send(0.0, 2, 1, 8)
    w.send(0.0, 1, 0, 8)
    assert w.run() == [
        (0.105, 0, 1, "delivered"),
        (0.115, 1, 0, "delivered"),
        (0.13, 2, 1, "delivered"),
    ]
    one_way = LatencyMatrix(**matrix | {"unit": "s", "round_trip": False})
    assert one_way.read_ns(2, Streams(0), None).tolist() == [[0, 10 * S], [30 * S, 0]]
    drawn = LatencyMatrix(path=path, unit="ms")
    assert len({str(drawn.read_ns(3, Streams(s), None)) for s in range(20)}) > 3
    huge = LatencyMatrix(path=write("0 1e300\n1e15 0\n"), unit="s", assign="order")
    assert huge.read_ns(2, Streams(0), None).tolist() == [[0, FOREVER_NS], [FOREVER_NS, 0]]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("0 1\n1 -2\n", 'line 2: column 2 is "-2", not a latency; it must be'),
        ("0 1\nx 0\n", 'line 2: column 1 is "x"'),
        ("0 1\n1\n", "line 2: has 1 entries, the rows before 2"),
        ("0 1\n", "is no square matrix: 1 rows of 2 entries"),
        ("0 1\n1 0\n", r"has 2 hosts, \[nodes\] count = 3"),
        ("0 1 2\n0 0 3\n0 0 0\n", "holds 0 from each host to all earlier ones: it is half"),
        ("0 0 0\n1 0 0\n2 3 0\n", "holds 0 from each host to all later ones: it is half"),
    ],
)
def test_what_is_wrong_with_a_matrix_is_said(write, text, says):
    with pytest.raises(ScenarioError, match=says):
        LatencyMatrix(path=write(text), unit="s").read_ns(3, Streams(0), None)


@pytest.mark.parametrize(
    ("text", "zeros"),
    [("0 1 2\n1 0 3\n2 3 0\n", 0), ("5 1 2\n1 0 0\n2 3 0\n", 1), ("0 0 0\n0 0 0\n0 0 0\n", 0)],
)
def test_latencies_of_0_between_hosts_are_remarked_on(write, text, zeros):
    with collect_remarks() as notes:
        LatencyMatrix(path=write(text), unit="s").read_ns(3, Streams(0), None)
    told = [text for text in notes.remarks(1.0) if "different hosts are 0" in text]
    assert len(told) == (zeros > 0)
    assert all(": 1 latencies between" in text and "row 2, column 3" in text for text in told)


# -- backbones -----------------------------------------------------------------------------------


def routes(path, nodes=2, seed=0, **fields):
    return Backbone(path=path, **fields).read(nodes, Streams(seed), None)


def test_messages_take_the_way_of_least_latency(write):
    path = write("a b 1 10\nb c 1 10\na c 5 99\n")
    fields = {"latency_attribute": "3", "rate_attribute": "4", "rate_unit_bps": 1e6}
    found = routes(path, routers=["a", "c"], **fields)
    assert [(x.a, x.b, x.rate_bps, x.latency_ns) for x in found.route_lines(0, 1)] == [
        ("a", "b", 1e7, 10**6),
        ("b", "c", 1e7, 10**6),
    ]
    assert [(x.a, x.b) for x in found.route_lines(1, 0)] == [("c", "b"), ("b", "a")]


def test_lines_of_which_the_file_says_nothing_have_the_defaults(write):
    [line] = routes(write("a b\n"), routers=["a", "b"], latency_s=0.25).route_lines(0, 1)
    assert (line.rate_bps, line.latency_ns) == (None, S // 4)


def test_places_tell_the_latency(write):
    graphml = """<graphml><key id="k" attr.name="Latitude" for="node"/>
    <key id="l" attr.name="Longitude" for="node"/><key id="n" attr.name="label" for="node"/><graph>
    <node id="0"><data key="k">0</data><data key="l">0</data><data key="n">West</data></node>
    <node id="1"><data key="k">0</data><data key="l">90</data><data key="n">East</data></node>
    <edge source="0" target="1"/></graph></graphml>"""
    [line] = routes(write(graphml), routers=["East", "0"]).route_lines(0, 1)
    # a quarter of the circumference at 200,000 km/s
    assert line.latency_ns == pytest.approx(np.pi / 2 * 6_371_000 / 2e8 * 1e9, abs=1)


def test_nodes_are_spread_over_the_routers(write):
    path = write("a b\nb c\nc d\n")
    found = routes(path, nodes=6)
    assert set(found.router[:4]) == set("abcd")
    assert found.router[4:] == found.router[:2]
    assert len({routes(path, 4, seed).router for seed in range(20)}) > 3


@pytest.mark.parametrize(
    ("text", "fields", "says"),
    [
        (
            "a b x\n",
            {"latency_attribute": "3"},
            'line 1: the line "a" - "b" has 3 = "x", not a number',
        ),
        ("a b -1\n", {"rate_attribute": "3"}, 'line 1: the line "a" - "b" has 3 = "-1"'),
        (
            "a b 0\n",
            {"rate_attribute": "3"},
            'the line "a" - "b" has 3 = 0: nothing would ever',
        ),
        (
            "a b 1\n",
            {"rate_attribute": "4"},
            'no line has the rate_attribute "4"; what they ha',
        ),
        ("a b 1\n", {"latency_attribute": "lat"}, 'no line has the latency_attribute "lat"'),
        ("a b\nc d\n", {"routers": ["a", "d"]}, 'are not connected; set component = "largest"'),
        (
            "a b\nb c\nd e\n",
            {"routers": ["a", "d"], "component": "largest"},
            "0 routers are called",
        ),
        ("a b\n", {"routers": ["a"]}, "routers: 1 are listed for 2 nodes"),
    ],
)
def test_what_is_wrong_with_a_backbone_is_said(write, text, fields, says):
    with pytest.raises(ScenarioError, match=says) as caught:
        routes(write(text), **fields)
    assert str(caught.value).startswith('[link.backbone] path = "')


# -- real files ----------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.data
@pytest.mark.skipif(not (DATA / "traces").is_dir(), reason="NETSIM_DATA holds no traces")
def test_real_traces(wires):
    streams = Streams(0)
    for name in ("hsdpa_norway", "fcc_broadband", "oboe", "puffer_2022-02-18"):
        trace = BandwidthTrace(uplink=f"traces/bandwidth/{name}.csv.gz")
        assert len(trace.read("uplink", 10, streams, DATA)) == 10
    [att] = BandwidthTrace(uplink="traces/mahimahi/ATT-LTE-driving.down.gz").read(
        "uplink", 1, streams, DATA
    )
    lines = gzip.decompress((DATA / "traces/mahimahi/ATT-LTE-driving.down.gz").read_bytes())
    packets, last_ms = lines.count(b"\n"), int(lines.split()[-1])
    # as many bits as packets go through in its length, to a bin of 100 ms
    end_ns = att.finish_ns(0, packets * 12_000)
    assert end_ns / 1e6 == pytest.approx(last_ms, abs=100)
    for path, unit, median_s in (
        ("planetlab_rtt_490/PlanetLabData_1.txt.gz", "ms", 0.135),
        ("seattle_rtt_99/SeattleData_001.txt.gz", "s", 0.21),
    ):
        matrix = LatencyMatrix(path=f"traces/latency/{path}", unit=unit, round_trip=False)
        found = matrix.read_ns(99, streams, DATA) / 1e9
        assert np.median(found[found > 0]) == pytest.approx(median_s, rel=0.2)


@pytest.mark.data
@pytest.mark.skipif(not (DATA / "topologies").is_dir(), reason="NETSIM_DATA holds no topologies")
def test_real_backbones():
    telstra = Backbone(
        path="topologies/rocketfuel/1221.latencies.intra.gz",
        latency_attribute="3",
        component="largest",
    ).read(20, Streams(0), DATA)
    lines = telstra.route_lines(0, 1)
    assert all(line.latency_ns >= 10**6 for line in lines)
    abilene = Backbone(
        path="topologies/topology_zoo_graphml.zip",
        member="Abilene.graphml",
        routers=("New York", "Los Angeles"),
    ).read(2, Streams(0), DATA)
    # 3,940 km as the crow flies, 19.7 ms; along the lines more
    assert 0.0197 < sum(x.latency_ns for x in abilene.route_lines(0, 1)) / 1e9 < 0.04
