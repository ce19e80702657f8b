"""Contact traces: formats, spans, who becomes which node, and what is wrong with a file."""

import os
import re
from pathlib import Path

import pytest

from netsim.errors import ScenarioError
from netsim.rng import Streams
from netsim.topology import Site
from netsim.topology.contacts import Contacts

S = 10**9
DATA = Path(os.environ.get("NETSIM_DATA", "/nowhere")) / "traces" / "contacts"


def meetings(path, count, seed=0, **fields):
    return Contacts(path=str(path), **fields).meetings(Site(count, Streams(seed)))


@pytest.fixture
def write(tmp_path):
    def write_file(text):
        path = tmp_path / "contacts.txt"
        path.write_text(text)
        return path

    return write_file


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("20 7 8\n40 7 8\n100 7 9\n", {}),
        ("20\t8\t7\tPC\tMP\n40\t7\t8\tPC\tMP\n100\t9\t7\tPC\tMP\n", {}),
        (",contact_time,day,id1,id2\n0,20,1,7,8\n1,40,1,7,8\n2,100,1,7,9\n", {}),
        ("7 8 0 40\n7 9 80 100\n", {}),
        ("0,40,7,8\n80,100,7,9\n", {"columns": ["start", "end", "i", "j"]}),
        ('"t";"i";"j"\n"20";"7";"8"\n"40";"7";"8"\n"100";"7";"9"\n', {}),
        ("t [ms];i;j\n20000;7;8\n40000;7;8\n100000;7;9\n", {}),
        (
            "a,b,when_ms\n7,8,20000\n7,8,40000\n7,9,100000\n",
            {"columns": ["i", "j", "t"]},
        ),
        (
            "from_ms,to_s,a,b\n0,40,7,8\n80000,100,7,9\n",
            {"columns": ["start", "end", "i", "j"]},
        ),
        ("0 CONN 7 8 up\n40 CONN 8 7 down\n80 CONN 7 9 up\n100 CONN 7 9 down\n", {}),
    ],
)
def test_every_format_tells_the_same_contacts(write, text, fields):
    found = meetings(write(text), 3, people=["7", "8", "9"], **fields)
    assert found.neighbours() == [(1, 2), (0,), (0,)]
    for time_s, peers in [(0, (1,)), (39, (1,)), (40, ()), (79, ()), (80, (2,)), (100, ())]:
        assert found.peers(0, time_s * S) == peers
    assert found.left_ns(1, 0, 15 * S) == 25 * S
    assert found.left_ns(0, 1, 40 * S) == 0
    assert found.left_ns(0, 2, 0) == 0
    assert found.left_ns(1, 2, 0) == 0


@pytest.mark.parametrize(
    "text",
    [
        "{0} 12:00:20,a b,c\n{0} 12:00:40,a b,d\n",
        "{0} 12:00:20\ta b\tc\n{0} 12:00:40\ta b\td\n",
        '{0} 12:00:20 "a b" c\n{0} 12:00:40 "a b" d\n',
        '{0}T12:00:20, "a b", "c"\n{0}T12:00:40Z, "a b", "d"\n',
        "i;j;start;end\na b;c;{0} 12:00:00;{0} 12:00:20\na b;d;{0} 12:00:20;{0} 12:00:40\n",
    ],
)
def test_dates_and_names_with_blanks_are_one_column_each(write, text):
    found = meetings(write(text.format("2024-05-01")), 3, people=["a b", "c", "d"])
    assert [found.peers(0, time_s * S) for time_s in (0, 19, 20, 39, 40)] == [
        (1,), (1,), (2,), (2,), (),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("0 10 1 2\n5 15 1 3\n20 30 2 3\n", ["start", "end", "i", "j"]),
        ("1 3 121 221 1 0\n1 4 236 347 1 0\n1 3 999 1100 2 9\n", ["i", "j", "start", "end"]),
    ],
)
def test_the_columns_that_an_error_proposes_are_those_of_the_file(write, text, columns):
    with pytest.raises(ScenarioError, match=re.escape(str(columns).replace("'", '"'))):
        meetings(write(text), 3)
    assert any(meetings(write(text), 3, columns=columns).neighbours())


def test_the_run_starts_where_told_and_the_trace_may_run_faster(write):
    path = write("7 8 100 140\n7 8 180 200\n")
    assert meetings(path, 2).left_ns(0, 1, 0) == 40 * S  # by default at the first contact
    later = meetings(path, 2, start_s=120.0, speedup=10.0)
    assert later.left_ns(0, 1, 0) == 2 * S
    assert later.peers(0, 6 * S) == (1,)
    assert later.left_ns(0, 1, 6 * S) == 2 * S
    assert meetings(path, 2, start_s=90.0).peers(0, 9 * S) == ()


def test_who_becomes_a_node(write):
    path = write("1 2 0 10\n3 4 0 100\n3 5 0 50\n")
    # 3: 150 s, 4: 100 s, 5: 50 s, 1 and 2: 10 s each
    assert meetings(path, 3).neighbours() == [(1, 2), (0,), (0,)]
    assert meetings(path, 2, people=["5", "3"]).left_ns(0, 1, 0) == 50 * S
    drawn = {str(meetings(path, 4, seed, assign="permutation").neighbours()) for seed in range(20)}
    assert len(drawn) > 3


def test_servers_are_in_contact_with_everybody_at_all_times(write):
    path = write("7 8 0 40\n")
    topology = Contacts(path=str(path), people=["7", "8"])
    found = topology.meetings(Site(3, Streams(0), servers=frozenset({1})))
    assert found.peers(0, 0) == (1, 2)
    assert found.peers(0, 50 * S) == (1,)
    assert found.peers(1, 10**9 * S) == (0, 2)
    assert found.left_ns(1, 2, 50 * S) > 10**9 * S


@pytest.mark.parametrize("first_s", [0, 1353303380])
def test_contacts_that_touch_but_for_rounding_are_one(write, first_s):
    lines = [f"{first_s + k // 10}.{k % 10} 1 2\n" for k in range(1, 41)]
    found = meetings(write("".join(lines)), 2, columns=["t", "i", "j"], sample_s=0.1)
    assert found.left_ns(0, 1, 0) == pytest.approx(4 * S, abs=1000)


@pytest.mark.parametrize(
    ("text", "fields", "says"),
    [
        ("20 1 2\nx 1 2\n", {}, 'line 2: column 1 is "x", not a time in seconds'),
        ("20 1 2\n40 1\n", {}, "line 2: has 2 columns, t i j needs 3"),
        ("20 1 2\n40 3 3\n", {}, "line 2: .3. is in contact with itself"),
        ("1 2 50 40\n", {}, "line 1: the contact ends at 40, before it starts at 50"),
        ("1 2 0 nan\n", {}, 'column 4 is "nan"'),
        ("0 CONN 1 2 up\n1 CONN 1 2 gone\n", {}, 'line 2: is not "time CONN i j up"'),
        ("0 C M1 1 2\n0 CONN 1 2 up\n9 CONN 1 2 down\n", {}, 'line 1: is not "time CONN i j up"'),
        ("20 0 1\n20 0 -1\n", {}, 'line 2: "-1" is the id of a person, and may mean that nobody'),
        ("% bip unweighted\n1 2 1 20\n2 3 1 40\n", {}, "is Konect's bipartite graph"),
        ("# nothing\n", {}, "holds no contact"),
        ("20 1 2\n", {"people": ["1", "3"]}, "people: nobody in it has the id 3"),
        ("20 1 2\n", {"people": ["1"]}, "people: must be 2 different ids, one a node"),
        ("20 1 2\n", {"count": 3}, r"has 2 people, \[nodes\] count = 3"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(write, text, fields, says):
    count = fields.pop("count", 2)
    with pytest.raises(ScenarioError, match=says) as caught:
        meetings(write(text), count, **fields)
    assert str(caught.value).startswith('[topology] path = "')


def test_columns_must_say_who_and_when():
    with pytest.raises(ValueError, match="columns must name t, i, j, or i, j, start, end"):
        Contacts(path="x", columns=["t", "i"])


@pytest.mark.slow
@pytest.mark.data
@pytest.mark.skipif(not DATA.is_dir(), reason="NETSIM_DATA holds no contact traces")
@pytest.mark.parametrize(
    ("name", "people"),
    [
        ("sociopatterns_cc0/workplace_InVS_tij.dat.zip", 92),
        ("sociopatterns_by-nc-sa/primaryschool.csv.gz", 242),
        ("sociopatterns_by-nc-sa/tnet_malawi_pilot.csv.gz", 86),
        ("haggle/haggle_intel.tsv.gz", 9),
    ],
)
def test_real_traces(name, people):
    found = meetings(DATA / name, people)
    neighbours = found.neighbours()
    assert all(peers for peers in neighbours)
    with pytest.raises(ScenarioError, match=f"has {people} people"):
        meetings(DATA / name, people + 1)
