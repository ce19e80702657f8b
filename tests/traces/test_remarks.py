"""Start times of runs in a file, and remarks on how far the file reaches."""

from pathlib import Path

import numpy as np
import pytest

from netsim.devices.energy.harvest.trace import Trace as HarvestTrace
from netsim.devices.speed.devices import Devices
from netsim.errors import DataError
from netsim.links.wired.bandwidth import BandwidthTrace
from netsim.links.wired.latencies import LatencyMatrix
from netsim.rng import Streams
from netsim.topology import Site
from netsim.topology.churn.trace import Trace as ChurnTrace
from netsim.topology.contacts import Contacts
from netsim.topology.file import GraphFile
from netsim.topology.mobility.trace import Trace as MobilityTrace
from netsim.traces.bandwidth import read_bandwidth
from netsim.traces.files import Text
from netsim.traces.moments import file_time_of_start, is_time_of_day, parse_moment, require_seconds
from netsim.traces.packet_errors import read_curves
from netsim.traces.remarks import collect_remarks

WHERE = '[mobility] path = "x"'


@pytest.mark.parametrize(
    ("word", "seconds"),
    [
        ("12.5", 12.5),
        ("-3", -3.0),
        ("1e3", 1000.0),
        ("1:02:03", 3723.0),
        ("01:02:03.25", 3723.25),
        ("2:01:02:03", 2 * 86400 + 3723.0),
        ("1970-01-01", 0.0),
        ("1970-01-02T00:00:01", 86401.0),
        ("2008-06-10 07:58:07", 1213084687.0),
        ("2008-06-10T07:58:07Z", 1213084687.0),
        ("2008-06-10T09:58:07.5+02:00", 1213084687.5),
    ],
)
def test_times_are_seconds_times_of_day_and_dates(word, seconds):
    assert parse_moment(word) == seconds
    assert is_time_of_day(word) == (":" in word and "-" not in word)


@pytest.mark.parametrize(
    "word",
    ["", "x", "nan", "inf", "1_0", "12:30", "1:60:00", "1:00:61", "10/06/2008", "2008-13-01", "1,5",
     "10.06.2008 07:58", "07:58 PM"],
)  # fmt: skip
def test_what_is_no_certain_time_is_none(word):
    assert parse_moment(word) is None
    with pytest.raises(DataError, match=r"line 3: column 1 is .*, not a time in seconds"):
        require_seconds(Text(WHERE, ""), word, 3, "column 1")


def told(first_s, last_s, start_s=None, horizon_s=100.0, **more):
    with collect_remarks() as notes:
        assert file_time_of_start(WHERE, first_s, last_s, start_s, "nodes stand still", **more) == (
            first_s if start_s is None else start_s
        )
    return notes.remarks(horizon_s)


@pytest.mark.parametrize("first_s", [0.0, 1213084687.0])
def test_a_run_that_a_file_covers_is_not_remarked_on(first_s):
    for last_s in (10.0, 50.0, 100.0, 1e6):
        assert told(first_s, first_s + last_s) == []
    assert told(first_s, first_s) == []  # one instant
    assert told(first_s, first_s + 1.0, repeats=True) == []


@pytest.mark.parametrize(
    ("first_s", "last_s", "start_s", "more", "share"),
    [
        (0.0, 9.0, None, {}, "has rows for 9 s of the run's 100 s"),
        (1e9, 1e9 + 9.0, None, {}, "has rows for 9 s of the run's 100 s"),
        (1e9, 1e9 + 500.0, 0.0, {}, "has no row for 0 s of the run's 100 s"),
        (0.0, 50.0, 45.0, {}, "has rows for 5 s"),
        (0.0, 50.0, 60.0, {}, "has no row for 0 s"),
        (50.0, 50.0, 60.0, {}, "has no row for 0 s"),
        (0.0, 500.0, None, {"speedup": 100.0}, "has rows for 5 s"),
        (200.0, 300.0, 0.0, {"repeats": True}, "has no row for 0 s"),
    ],
)
def test_less_than_a_tenth_of_the_run_is_remarked_on(first_s, last_s, start_s, more, share):
    [remark] = told(first_s, last_s, start_s, **more)
    assert remark.startswith(WHERE)
    assert share in remark
    assert remark.endswith("beyond its rows nodes stand still")


def test_a_first_row_within_the_run_may_count_from_its_start():
    [remark] = told(5.0, 90.0)
    assert "its first row, at 5 s, is played when the run begins" in remark
    assert "set start_s = 0" in remark
    assert told(5.0, 90.0, 0.0) == []
    assert told(5.0, 90.0, clear=True) == []


def test_files_of_one_clock_that_begin_at_other_times_are_remarked_on():
    def both(first_s, other_s, **more):
        with collect_remarks() as notes:
            file_time_of_start(WHERE, first_s, first_s + 900.0, None, "nodes stand still")
            file_time_of_start(
                '[churn] path = "y"', other_s, other_s + 900.0, None, "nodes are off", **more
            )
        return notes.remarks(1000.0)

    [remark] = both(1213084687.0, 1213084700.0, clear=True)
    assert "from 1213084687 s on, its first row, and [churn]" in remark
    assert "set start_s of both" in remark
    assert both(1213084687.0, 1213084687.0) == []
    assert both(1213084687.0, 1313084687.0) == []  # years apart: they can't be of one time
    assert both(0.0, 0.0) == []


def test_times_before_0_need_a_start():
    with pytest.raises(DataError, match=r"the time -5 s is before 0; .* unless start_s says"):
        told(-5.0, 90.0)
    assert told(-5.0, 90.0, -5.0) == []


def unread(read):
    """Remarks after reading, and nothing else of them."""
    with collect_remarks() as notes:
        read()
    return [text for text in notes.remarks(1.0) if "left aside" in text]


TABLES = {
    "harvest": ("node,t_s,power_w,irradiance\n0,0,1,7\n1,0,2,7\n", "irradiance"),
    "churn": ("node,on_s,off_s,reason\n0,0,5,x\n1,0,,x\n", "reason"),
    "mobility": (
        "id,t_s,x_m,y_m,z_m,\n0,0,1,2,90,1\n1,0,3,4,90,2\n",
        "z_m, the one without a name",
    ),
    "speed": ("model,step_s\na,1\nb,2\n", "model"),
    "bandwidth": ("time_s,mbps,node\n0,1,0\n1,2,1\n", "node"),
    "errors": ("rate,bytes,snr_db,per,n\n1e6,100,0,1,5\n1e6,100,9,0,5\n", "n"),
}


@pytest.mark.parametrize("kind", TABLES)
def test_columns_that_nothing_reads_are_remarked_on(tmp_path, kind):
    content, left = TABLES[kind]
    path = tmp_path / "t.csv"
    path.write_text(content)
    streams, start_m = Streams(0), np.zeros((2, 2))
    read = {
        "harvest": lambda: HarvestTrace(path=str(path)).pieces(range(2), streams, None),
        "churn": lambda: ChurnTrace(path=str(path)).periods(range(2), streams, None),
        "mobility": lambda: MobilityTrace(path=str(path)).track(start_m, 1.0, streams, None),
        "speed": lambda: Devices(path=str(path)).relative([1.0, 1.0], streams, None),
        "bandwidth": lambda: BandwidthTrace(uplink=str(path)).read("uplink", 2, streams, None),
        "errors": lambda: read_curves("radio.packet_error", str(path), None),
    }[kind]
    (text,) = unread(read)
    assert f": left aside are its columns {left}; read are " in text
    assert str(path) in text
    names = content.splitlines()[0].split(",")
    kept = [n for n in names if n and n not in left.split(", ")]
    path.write_text(
        "\n".join(
            ",".join(line.split(",")[names.index(n)] for n in kept) for line in content.splitlines()
        )
    )
    if kind != "bandwidth":  # whose rows are those of one trace then
        assert unread(read) == []


@pytest.mark.parametrize("name", ["node", "node_id", "id"])
def test_each_node_harvests_by_its_own_rows(tmp_path, name):
    (tmp_path / "t.csv").write_text(f"{name},t_s,power_w\n0,0,1\n1,0.5,2\n0,1,3\n")
    law = HarvestTrace(path=str(tmp_path / "t.csv"))
    found = law.pieces(range(2), Streams(0), None)
    assert [[piece.watt for piece in mine] for mine in found] == [[1.0, 3.0], [0.0, 2.0]]


@pytest.mark.parametrize("step_s", [1.0, 20.0, 300.0])
def test_contacts_sampled_otherwise_than_a_line_lasts_are_remarked_on(tmp_path, step_s):
    """Two are in contact in every sample: all the time, in a fifteenth of it, or longer than so."""
    path = tmp_path / "c.txt"
    path.write_text("".join(f"{step_s * k:g} 1 2\n" for k in range(1, 100)))
    site = Site(nodes=2, positions_m=None, servers=(), streams=Streams(0), folder=None)

    def together(**keys):
        with collect_remarks() as notes:
            meetings = Contacts(path=str(path), columns=("t", "i", "j"), **keys).meetings(site)
        times = np.arange(0, round(step_s * 99e9), round(step_s * 1e8))
        met = [bool(meetings.left_ns(0, 1, int(t))) for t in times]
        return np.mean(met), [t for t in notes.remarks(step_s) if "sample_s" in t]

    share, remarks = together()
    assert share == pytest.approx(1.0 if step_s <= 20.0 else 20.0 / step_s, abs=0.04)
    assert len(remarks) == (step_s != 20.0)
    assert together(sample_s=step_s) == (1.0, [])
    if remarks:
        assert f"set sample_s = {step_s:g}" in remarks[0]


def left_out(read):
    """Remarks on what a file has more of than there are nodes."""
    with collect_remarks() as notes:
        read()
    return [text for text in notes.remarks(1.0) if "left out" in text]


CROWDS = {
    "contacts": "0 1 0 9\n1 2 0 9\n2 3 0 5\n3 4 0 1\n",
    "topology": "a b\nb c\nc d\nd e\n",
    "latencies": "\n".join(" ".join(str(abs(i - j)) for j in range(5)) for i in range(5)),
    "bandwidth": "trace,time_s,mbps\n" + "".join(f"{k},{t},1\n" for k in "abcde" for t in (0, 1)),
}


@pytest.mark.parametrize("kind", CROWDS)
@pytest.mark.parametrize("nodes", [3, 5])
def test_what_a_file_has_more_of_than_nodes_is_counted_aloud(tmp_path, kind, nodes):
    path = str(tmp_path / "t.txt")
    (tmp_path / "t.txt").write_text(CROWDS[kind])
    site = Site(nodes=nodes, positions_m=None, servers=(), streams=Streams(0), folder=None)
    columns = ("i", "j", "start", "end")
    found = left_out({
        "contacts": lambda: Contacts(path=path, columns=columns).meetings(site),
        "topology": lambda: GraphFile(path=path, nodes="first").neighbours(site),
        "latencies": lambda: LatencyMatrix(path=path, unit="ms").read_ns(nodes, Streams(0), None),
        "bandwidth": lambda: BandwidthTrace(uplink=path).read("uplink", nodes, Streams(0), None),
    }[kind])  # fmt: skip
    assert len(found) == (nodes < 5)
    assert all(f"{nodes} of its 5 " in text and "the other 2" in text for text in found)


def test_people_and_traces_that_are_named_are_not(tmp_path):
    (tmp_path / "c.txt").write_text(CROWDS["contacts"])
    site = Site(nodes=2, positions_m=None, servers=(), streams=Streams(0), folder=None)
    keys = {"columns": ("i", "j", "start", "end"), "people": ("0", "1")}
    assert not left_out(lambda: Contacts(path=str(tmp_path / "c.txt"), **keys).meetings(site))


def test_devices_of_nodes_that_there_are_not_are_told(tmp_path):
    (tmp_path / "d.csv").write_text("node,step_s\n0,1\n1,2\n2,3\n7,9\n")
    law = Devices(path=str(tmp_path / "d.csv"))
    (text,) = unread(lambda: law.relative([1.0, 1.0], Streams(0), None))
    assert 'left aside are the nodes "2", "7"' in text


FORMS = {
    "table": "t_s,power_w\n0,1\n{}1,2\n2,3\n{}3,4\n",
    "contacts": "0 0 1\n{}20 1 0\n40 1 2\n",
    "links": "0 1\n{}1 2\n",
    "bandwidth": "0 1.5\n{}1 2.5\n2 1.5\n",
}


def read_form(form, path):
    site = Site(nodes=3, positions_m=None, servers=(), streams=Streams(0), folder=None)
    return {
        "table": lambda: HarvestTrace(path=path).pieces([0], Streams(0), None),
        "contacts": lambda: Contacts(path=path, columns=("t", "i", "j")).meetings(site),
        "links": lambda: GraphFile(path=path, nodes="all").neighbours(site),
        "bandwidth": lambda: read_bandwidth(Text(WHERE, Path(path).read_text()), None),
    }[form]()


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("sign", ["#", "# ", "%"])
def test_rows_that_are_comments_by_their_first_sign_are_told(form, sign, tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text(FORMS[form].format(sign, sign))
    with collect_remarks() as notes:
        read_form(form, str(path))
    line = FORMS[form].split("{}")[0].count("\n") + 1
    found = [text for text in notes.remarks(1.0) if "begins as a comment" in text]
    assert len(found) == 1
    assert f"line {line} begins as a comment" in found[0]


@pytest.mark.parametrize("form", FORMS)
def test_comments_in_words_and_before_the_rows_are_not_told(form, tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("# 3 4 5\n# 2,1\n" + FORMS[form].format("# of 2 nodes\n", "#\n"))
    with collect_remarks() as notes:
        read_form(form, str(path))
    assert not [text for text in notes.remarks(1.0) if "begins as a comment" in text]


@pytest.mark.parametrize(
    ("name", "watt"),
    [("power_mw", 1e-3), ("power_mW", 1e-3), ("Power [kW]", 1e3), ("power_W", 1.0)],
)
def test_units_are_told_by_their_signs(name, watt, tmp_path):
    path = tmp_path / "power.csv"
    path.write_text(f"t_s,{name}\n0,2\n1,2\n")
    (pieces,) = HarvestTrace(path=str(path)).pieces([0], Streams(0), None)
    assert [piece.watt for piece in pieces] == [2 * watt, 2 * watt]


@pytest.mark.parametrize("name", ["power_MW", "Power (MW)"])
def test_a_unit_that_may_be_a_thousandth_or_a_million_is_refused(name, tmp_path):
    path = tmp_path / "power.csv"
    path.write_text(f"t_s,{name}\n0,2\n1,2\n")
    with pytest.raises(DataError, match="MW may be a thousandth or a million w; name it by mw"):
        HarvestTrace(path=str(path)).pieces([0], Streams(0), None)


@pytest.mark.parametrize(
    ("law", "head", "row", "instead"),
    [
        (MobilityTrace, "node,t_s,x_m,y_m", "0,5,5", "stay where they are placed"),
        (ChurnTrace, "node,on_s,off_s", "0,9", "are on throughout"),
        (HarvestTrace, "node,t_s,power_w", "0,1", "harvest nothing"),
    ],
)
@pytest.mark.parametrize("there", [(0, 1, 2), (1, 2), (0,)])
def test_nodes_of_which_a_file_says_nothing_are_told(tmp_path, law, head, row, instead, there):
    file = tmp_path / "x.csv"
    file.write_text("\n".join([head, *(f"{node},{row}" for node in there)]) + "\n")
    with collect_remarks() as notes:
        if law is MobilityTrace:
            law(path=str(file)).track(np.zeros((3, 2)), 10.0, Streams(0), None)
        elif law is ChurnTrace:
            law(path=str(file)).periods([0, 1, 2], Streams(0), None)
        else:
            law(path=str(file)).pieces([0, 1, 2], Streams(0), None)
    absent = [node for node in range(3) if node not in there]
    told = [text for text in notes.said if "says of" in text]
    assert len(told) == bool(absent)
    names = ", ".join(map(str, absent))
    assert all(f"{len(absent)} of 3 nodes ({names}) nothing; they {instead}" in t for t in told)
